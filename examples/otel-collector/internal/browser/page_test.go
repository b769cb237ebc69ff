package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/browser"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/demo"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/show"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/web"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

// limit is how long the test waits for anything: the machine may be busy.
const limit = 2 * time.Minute

// page is a demonstration and a browser that looks at it.
type page struct {
	*browser.Tab
	t   *testing.T
	s   *show.Show
	url string
}

// start starts a demonstration without a past.
func start(t *testing.T) (*show.Show, string) {
	t.Helper()
	chromium := require.Tool(t, browser.Names...)
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := show.Start(t.Context(), l, demo.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, chromium
}

// open shows a demonstration in which time passes by itself.
func open(t *testing.T) *page {
	t.Helper()
	begin := time.Now()
	s, chromium := start(t)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		over <- s.Run(ctx, 3*time.Minute, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	p := look(t, s, chromium)
	t.Logf("first plotted data %v after the start, the browser's own start included", time.Since(begin).Round(time.Millisecond))
	p.until(`!document.querySelector('[data-trouble="kill"]').disabled`) // the past is made
	return p
}

// openStill shows a demonstration in which time passes by [page.step] alone:
// what the test sees does not depend on how busy the machine is.
func openStill(t *testing.T, past time.Duration) *page {
	t.Helper()
	s, chromium := start(t)
	begin := time.Now().Add(-30 * time.Minute) // there is time for many steps
	if err := s.Backfill(t.Context(), begin, begin.Add(past), nil); err != nil {
		t.Fatal(err)
	}
	s.Page.Ready()
	return look(t, s, chromium)
}

func look(t *testing.T, s *show.Show, chromium string) *page {
	t.Helper()
	tab, err := browser.Open(t.Context(), chromium)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.Close)
	p := &page{tab, t, s, s.Page.URL}
	p.do(tab.Look(1280, 900, 1, "light"))
	p.do(tab.Go(p.url))
	p.until(`document.querySelector('.panel[data-state="ok"]')`)
	return p
}

// step lets a second pass and returns when the page shows it.
func (p *page) step() {
	p.t.Helper()
	p.do(p.s.Step(p.t.Context()))
	p.do(p.Show(p.s.Now(), limit))
}

// steps lets seconds pass until a script is true, n at most.
func (p *page) steps(n int, script string) {
	p.t.Helper()
	for range n {
		if p.step(); p.eval(script) == "true" {
			return
		}
	}
	p.t.Fatalf("not within %d seconds: %s", n, script)
}

// press clicks on a trouble and waits until it is there.
func (p *page) press(trouble string) {
	p.t.Helper()
	p.do(p.Click(`[data-trouble="` + trouble + `"]`))
	p.until(`document.querySelector('[data-trouble="` + trouble + `"]').getAttribute("aria-pressed") === "true"`)
}

// account clicks on the switch between the accountings.
func (p *page) account(legacy bool) {
	p.t.Helper()
	p.do(p.Click("#accounting"))
	p.until(fmt.Sprintf(`document.querySelector("#accounting").getAttribute("aria-checked") === "%t"`, legacy))
}

func (p *page) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) until(script string) {
	p.t.Helper()
	p.do(p.Until(script, limit))
}

func (p *page) eval(script string) string {
	p.t.Helper()
	var out any
	p.do(p.Eval(script, &out))
	return fmt.Sprint(out)
}

func (p *page) number(script string) float64 {
	p.t.Helper()
	f, err := strconv.ParseFloat(p.eval("String("+script+")"), 64)
	p.do(err)
	return f
}

// shot checks that there is a picture, and keeps it where the environment says.
func (p *page) shot(name string) {
	p.t.Helper()
	png, err := p.Shot()
	p.do(err)
	if len(png) < 20_000 {
		p.t.Errorf("%s: a picture of %d bytes", name, len(png))
	}
	if dir := os.Getenv("PLIMSOLL_SHOTS"); dir != "" {
		p.do(os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

// quiet reports what the console holds.
func (p *page) quiet() {
	p.t.Helper()
	for _, problem := range p.Problems() {
		p.t.Error(problem)
	}
	if text := p.eval(`document.getElementById("problem").hidden || document.getElementById("problem").textContent`); text != "true" {
		p.t.Error(text)
	}
}

// fits checks that nothing is wider than the window and no text is cut.
func (p *page) fits(width float64) {
	p.t.Helper()
	if got := p.number(`document.documentElement.scrollWidth`); got > width {
		p.t.Errorf("the page is %v px wide in a window of %v: %s", got, width,
			p.eval(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + "." + e.className).join(", ")`))
	}
	if cut := p.eval(`[...document.querySelectorAll(".panel h3 button, .stat .value, .buttons button, .alert b, .alert .state, .row h2 button, .trace .what")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent).join(", ")`); cut != "" {
		p.t.Errorf("in a window of %v px this is cut: %s", width, cut)
	}
	// Half a line of a legend says nothing.
	if cut := p.eval(`[...document.querySelectorAll(".legend")].filter(e => e.clientHeight % 18 !== 0).map(e => e.closest(".panel").dataset.title).join(", ")`); cut != "" {
		p.t.Errorf("in a window of %v px these legends end within a line: %s", width, cut)
	}
}

// In real time: the page follows, and shows no second that is not settled.
func TestThePageFollowsByItself(t *testing.T) {
	p := open(t)
	p.until(`Number(document.documentElement.dataset.drawn) * 1000 > Date.now() - 60_000`)
	drawn := p.number(`document.documentElement.dataset.drawn`)
	p.until(fmt.Sprintf(`Number(document.documentElement.dataset.drawn) > %v + 2`, drawn))
	p.sameNumbers()
	p.quiet()
}

func TestThePageIsUsedByPointerAndByKeyboard(t *testing.T) {
	p := openStill(t, 3*time.Minute)
	const tokens = `document.querySelector('.panel[data-title="Tokens and capacity"]')`
	// All plots that will be drawn without scrolling are there: one that came
	// after the pointer would have no cursor.
	p.until(`document.documentElement.dataset.drawn && ![...document.querySelectorAll(".panel")].some(n => n.dataset.state === "waiting" && n.getBoundingClientRect().top < innerHeight + 200)`)
	x := p.number(tokens + `.querySelector(".u-over").getBoundingClientRect().left + 300`)
	y := p.number(tokens + `.querySelector(".u-over").getBoundingClientRect().top + 40`)
	p.do(p.Hover(x, y))
	p.until(`!` + tokens + `.querySelector(".tip").hidden && ` + tokens + `.querySelector(".tip").textContent.includes("capacity500 tokens")`)
	// Every panel's cursor is at the same second.
	p.until(`[...document.querySelectorAll(".panel.timeseries")].filter(n => n.style.getPropertyValue("--w") === "24" && n.querySelector(".u-cursor-x")).map(n => new DOMMatrix(getComputedStyle(n.querySelector(".u-cursor-x")).transform).e).filter((v, i, all) => all.indexOf(v) === i).length === 1`)
	p.do(p.Hover(5, 5))

	p.do(p.Eval(tokens+`.querySelector(".plot").focus()`, nil))
	p.do(p.Press(kb.ArrowLeft))
	p.until(`!` + tokens + `.querySelector(".tip").hidden`)
	first := p.eval(tokens + `.querySelector(".tip time").textContent`)
	p.do(p.Press(kb.Home))
	p.until(tokens + `.querySelector(".tip time").textContent !== "` + first + `"`)
	p.do(p.Press(kb.Escape))
	p.until(tokens + `.querySelector(".tip").hidden`)

	// A row folds and unfolds, and a series can be hidden.
	const row = `document.querySelector('.row[data-title="Now"]')`
	p.do(p.Eval(row+`.querySelector("button").focus()`, nil))
	p.do(p.Press(kb.Enter))
	p.until(row + `.querySelector(".grid").hidden && ` + row + `.querySelector("button").getAttribute("aria-expanded") === "false"`)
	p.do(p.Press(kb.Enter))
	p.until(`!` + row + `.querySelector(".grid").hidden`)
	p.do(p.Eval(tokens+`.querySelector(".legend button").focus()`, nil))
	p.do(p.Press(" "))
	p.until(tokens + `.querySelector(".legend button").getAttribute("aria-pressed") === "false"`)

	// Tab reaches the controls, and Space presses them.
	p.do(p.Eval(`document.getElementById("theme").focus()`, nil))
	p.do(p.Press(kb.Tab))
	if got := p.eval(`document.activeElement.dataset.trouble`); got != "kill" {
		t.Errorf("after the theme comes %s", got)
	}
	p.do(p.Press(" "))
	p.until(`document.querySelector('[data-trouble="kill"]').getAttribute("aria-pressed") === "true"`)

	p.tabs()

	// What lies over the panels goes away by Escape.
	const about = tokens + `.querySelector("h3 button")`
	p.do(p.Eval(about+`.focus()`, nil))
	p.do(p.Press(kb.Enter))
	p.until(about + `.getAttribute("aria-expanded") === "true" && !` + tokens + `.querySelector(".explains").hidden`)
	p.do(p.Press(kb.Escape))
	p.until(tokens + `.querySelector(".explains").hidden`)

	// Several values of a variable, and All again.
	p.until(`document.querySelectorAll("#var-origin input").length >= 3`)
	p.do(p.Eval(`document.querySelector("#var-origin summary").focus()`, nil))
	p.do(p.Press(kb.Enter))
	p.do(p.Press(kb.Tab + kb.Tab))
	p.do(p.Press(" "))
	p.do(p.Press(kb.Tab))
	p.do(p.Press(" "))
	const names = `[...` + tokens + `.querySelectorAll(".legend button")].map(b => b.dataset.name).join()`
	p.until(`location.search.includes("var-origin=feed.shop&var-origin=orders.shop") && ` + names + `.includes("orders") && !` + names + `.includes("search")`)
	p.do(p.Press(kb.Escape))
	p.until(`!document.querySelector("#var-origin").open && document.activeElement.matches("#var-origin summary")`)
	p.do(p.Eval(`document.querySelector("#var-origin input[value='$__all']").click()`, nil))
	p.until(`!location.search.includes("var-origin") && ` + names + `.includes("search")`)

	// A variable narrows what is shown, and stays in the address.
	p.until(`document.querySelector("#var-client option[value=settled]")`)
	p.do(p.Eval(`{ const s = document.getElementById("var-client"); s.value = "settled"; s.dispatchEvent(new Event("change")); }`, nil))
	p.until(`location.search.includes("var-client=settled") && document.querySelector('.panel[data-title="Lowest level"]').dataset.state === "ok"`)
	p.sameNumbers()
	p.quiet()
}

// tabs goes through the page by Tab: what is needed comes in this order, and
// what has the focus is seen and marked.
func (p *page) tabs() {
	p.t.Helper()
	p.do(p.Eval(`document.activeElement.blur(); scrollTo(0, 0)`, nil))
	p.do(p.Eval(`document.querySelector(".skip").focus()`, nil))
	order := []string{".skip", ".brand", "#boards a", "#ranges button", "#theme", "#troubles button", "#accounting", "#alerts summary", "#var-job", ".row h2 button", ".panel h3 button", ".plot", ".legend button"}
	for range 120 {
		if p.eval(`document.activeElement.matches("`+order[0]+`")`) == "true" {
			if order = order[1:]; len(order) == 0 {
				return
			}
		}
		if seen := p.eval(`(() => {
			const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			return e.matches(":focus-visible") && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth || e.outerHTML.slice(0, 200);
		})()`); seen != "true" {
			p.t.Errorf("this has the focus, and one does not see it: %s", seen)
		}
		p.do(p.Press(kb.Tab))
	}
	p.t.Errorf("by Tab one does not come to %v", order)
}
