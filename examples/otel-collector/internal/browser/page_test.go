package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// page is a running demonstration and a browser that looks at it.
type page struct {
	*browser.Tab
	t   *testing.T
	url string
}

func open(t *testing.T) *page {
	t.Helper()
	chromium := require.Tool(t, browser.Names...)
	begin := time.Now()
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := show.Start(t.Context(), l, demo.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tab, err := browser.Open(t.Context(), chromium)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.Close)
	p := &page{tab, t, s.Page.URL}
	p.do(tab.Look(1280, 900, 1, "light"))
	p.do(tab.Go(p.url))
	p.until(`document.querySelector('.panel[data-state="ok"]')`)
	t.Logf("first plotted data %v after the start, the browser's own start included", time.Since(begin).Round(time.Millisecond))
	p.until(`fetch("/api/state").then(r => r.json()).then(s => s.ready)`)
	return p
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

const (
	level    = `Number(document.querySelector('.panel[data-title="Lowest level"] .value').dataset.value)`
	draining = `document.querySelector('#alerts [data-alert="PlimsollBudgetDraining"]').dataset.state`
)

func TestAPersonDrainsTheBudgetAndHealsIt(t *testing.T) {
	p := open(t)
	p.until(level + ` > 450`)
	if got := p.eval(draining); got != "inactive" {
		t.Errorf("at first the alert is %s", got)
	}
	p.do(p.Click("#accounting"))
	p.until(`document.querySelector("#accounting").getAttribute("aria-checked") === "true"`)
	p.do(p.Click(`[data-trouble="kill"]`))
	p.until(`document.querySelector('[data-trouble="kill"]').getAttribute("aria-pressed") === "true"`)
	p.until(draining + ` === "pending"`)
	p.until(level + ` < 450`)
	p.until(draining + ` === "firing"`)
	p.shot("draining-1280-light")
	p.sameNumbers()
	p.oneTimeAxis()
	p.until(level + ` < 250`)
	p.do(p.Click(`[data-trouble="healthy"]`))
	p.until(draining + ` === "inactive"`)
	low := p.number(level)
	p.until(fmt.Sprintf(`%s > %v`, level, low+20))
	p.traces()
	p.shot("traces-1280-light")
	p.do(p.Look(390, 844, 2, "dark"))
	p.until(`document.documentElement.dataset.theme === "dark"`)
	p.fits(390)
	p.do(p.Eval(`scrollTo(0, 0)`, nil))
	p.shot("healed-390-dark")
	p.quiet()
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

// fits checks that nothing is wider than the window.
func (p *page) fits(width float64) {
	p.t.Helper()
	if got := p.number(`document.documentElement.scrollWidth`); got > width {
		p.t.Errorf("the page is %v px wide in a window of %v: %s", got, width,
			p.eval(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + "." + e.className).join(", ")`))
	}
}

// traces opens the latest trace that something happened in.
func (p *page) traces() {
	p.t.Helper()
	p.do(p.Eval(`document.querySelector(".traces").scrollIntoView()`, nil))
	p.do(p.Click(".trace summary"))
	p.until(`document.querySelector(".trace[open] .waterfall .line .bar")`)
	for what, script := range map[string]string{
		"spans":            `document.querySelectorAll(".trace[open] .waterfall > li").length`,
		"lifecycle events": `document.querySelectorAll(".trace[open] .events li").length`,
	} {
		if n := p.number(script); n < 2 {
			p.t.Errorf("the trace shows %v %s", n, what)
		}
	}
	if name := p.eval(`document.querySelector(".trace[open] .waterfall .name").textContent`); !strings.HasPrefix(name, "plimsoll.call") {
		p.t.Errorf("the first span is %q", name)
	}
}

// oneTimeAxis checks that all panels end at the same second, and that the plots
// below each other begin and end at the same pixel.
func (p *page) oneTimeAxis() {
	p.t.Helper()
	p.until(`new Set([...document.querySelectorAll('.panel[data-end]')].filter(n => n.getBoundingClientRect().top < innerHeight).map(n => n.dataset.end)).size === 1`)
	if got := p.eval(`[...new Set([...document.querySelectorAll('.panel.timeseries .u-over')].filter(n => n.closest('.panel').style.getPropertyValue('--w') === '24').map(n => Math.round(n.getBoundingClientRect().left) + '-' + Math.round(n.getBoundingClientRect().right)))].join(' ')`); strings.Contains(got, " ") || got == "" {
		p.t.Errorf("the time axes do not line up: %q", got)
	}
}

func TestThePageIsUsedByPointerAndByKeyboard(t *testing.T) {
	p := open(t)
	const tokens = `document.querySelector('.panel[data-title="Tokens and capacity"]')`
	x := p.number(tokens + `.querySelector(".u-over").getBoundingClientRect().left + 300`)
	y := p.number(tokens + `.querySelector(".u-over").getBoundingClientRect().top + 40`)
	p.do(p.Hover(x, y))
	p.until(`!` + tokens + `.querySelector(".tip").hidden`)
	if tip := p.eval(tokens + `.querySelector(".tip").textContent`); !strings.Contains(tip, "capacity500 tokens") {
		t.Errorf("hovering shows %q", tip)
	}
	// Every panel's cursor is at the same second.
	if got := p.eval(`[...document.querySelectorAll(".panel.timeseries")].filter(n => n.style.getPropertyValue("--w") === "24" && n.querySelector(".u-cursor-x")).map(n => new DOMMatrix(getComputedStyle(n.querySelector(".u-cursor-x")).transform).e).filter((v, i, all) => all.indexOf(v) === i).length`); got != "1" {
		t.Errorf("the cursors stand at %s places", got)
	}
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

	// A variable narrows what is shown, and stays in the address.
	p.until(`document.querySelector("#var-client option[value=settled]")`)
	p.do(p.Eval(`{ const s = document.getElementById("var-client"); s.value = "settled"; s.dispatchEvent(new Event("change")); }`, nil))
	p.until(`location.search.includes("var-client=settled") && document.querySelector('.panel[data-title="Lowest level"]').dataset.state === "ok"`)
	p.do(p.Eval(`{ const s = document.getElementById("var-client"); s.value = "nobody"; }`, nil))

	// Every dashboard is drawn, in both widths and both themes, without a
	// panel that failed.
	var uids []string
	p.do(p.Eval(`fetch("/api/dashboards").then(r => r.json()).then(l => l.map(b => b.uid))`, &uids))
	if len(uids) != 5 {
		t.Fatalf("dashboards: %v", uids)
	}
	for i, uid := range uids {
		width, scheme := int64(1280), "dark"
		if i%2 == 1 {
			width, scheme = 390, "light"
		}
		p.do(p.Look(width, 900, 1, scheme))
		p.do(p.Go(p.url + "/d/" + uid))
		p.until(`document.documentElement.dataset.drawn && document.querySelector('.panel[data-state="ok"]')`)
		p.fits(float64(width))
		if bad := p.eval(`[...document.querySelectorAll('.panel[data-state="error"]')].map(n => n.textContent).join("; ")`); bad != "" {
			t.Errorf("%s: %s", uid, bad)
		}
		p.shot(uid + "-" + scheme)
	}
	p.quiet()
}
