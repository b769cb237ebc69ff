package browser_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shown is one number on the page.
type shown struct{ Panel, Series, Value, Time string }

const numbersShown = `JSON.stringify([
	...[...document.querySelectorAll(".stat .value[data-value]")].map(v => ({Panel: v.closest(".panel").dataset.title, Series: "", Value: v.dataset.value, Time: v.dataset.time})),
	...[...document.querySelectorAll(".legend [data-value]")].filter(b => b.dataset.value !== "").map(b => ({Panel: b.closest(".panel").dataset.title, Series: b.dataset.name, Value: b.dataset.value, Time: b.dataset.time})),
])`

// sameNumbers compares every number on the page with Prometheus's answer for
// the same time. The page shows no time that is not settled, so that it does
// not matter when Prometheus is asked.
func (p *page) sameNumbers() {
	p.t.Helper()
	var numbers []shown
	p.do(json.Unmarshal([]byte(p.eval(numbersShown)), &numbers))
	if len(numbers) < 12 {
		p.t.Fatalf("only %d numbers are on the page", len(numbers))
	}
	wrong := p.compare(numbers)
	p.t.Logf("%s: %d of %d numbers are the same", p.eval(`location.pathname`), len(numbers)-len(wrong), len(numbers))
	if len(wrong) > 0 {
		p.t.Error(strings.Join(wrong, "\n"))
	}
}

var variable = regexp.MustCompile(`\$(job|client|origin)\b`)

func (p *page) compare(numbers []shown) (wrong []string) {
	p.t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	p.get("/api/dashboards/"+p.eval(`location.pathname.split("/")[2]`), nil, &board)
	values := map[string]string{}
	p.do(p.Eval(`Object.fromEntries([...new URLSearchParams(location.search)].filter(([k]) => k.startsWith("var-")).map(([k, v]) => [k.slice(4), v]))`, &values))
	for _, n := range numbers {
		found := false
		for _, panel := range board.Panels {
			if panel.Title != n.Panel {
				continue
			}
			for _, target := range panel.Targets {
				expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "4s")
				expr = variable.ReplaceAllStringFunc(expr, func(name string) string {
					return cmp.Or(values[name[1:]], ".*")
				})
				var answer struct {
					Data struct {
						Result []struct {
							Metric map[string]string
							Value  [2]any
						}
					}
				}
				p.get("/api/v1/query", url.Values{"query": {expr}, "time": {n.Time}}, &answer)
				for _, r := range answer.Data.Result {
					if n.Series != "" && legend(target.LegendFormat, r.Metric) != n.Series {
						continue
					}
					found = true
					want, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
					p.do(err)
					got, err := strconv.ParseFloat(n.Value, 64)
					p.do(err)
					if got != want {
						wrong = append(wrong, fmt.Sprintf("%s %q at %s: the page shows %v, Prometheus says %v", n.Panel, n.Series, n.Time, got, want))
					}
				}
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("%s %q at %s: Prometheus knows nothing of it", n.Panel, n.Series, n.Time))
		}
	}
	return wrong
}

func legend(format string, metric map[string]string) string {
	text := regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(format, func(m string) string { return metric[strings.Trim(m, "{}")] })
	return strings.Join(strings.Fields(text), " ")
}

func (p *page) get(path string, query url.Values, into any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path+"?"+query.Encode(), nil)
	p.do(err)
	resp, err := http.DefaultClient.Do(req)
	p.do(err)
	defer resp.Body.Close()
	p.do(json.NewDecoder(resp.Body).Decode(into))
}

// The other tests trust that nothing is reported where nothing is wrong.
func TestWhatIsWrongOnAPageIsSeen(t *testing.T) {
	p := openStill(t, time.Second*10)
	p.do(p.Eval(`console.error("on purpose")`, nil))
	p.do(p.Eval(`setTimeout(() => { throw new Error("thrown") })`, nil))
	p.do(p.Eval(`fetch("http://127.0.0.1:1/elsewhere").catch(() => 0)`, nil)) // the policy forbids it
	p.do(p.Eval(`document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = true" }))`, nil))
	p.until(`!window.ran`)
	for _, want := range []string{"on purpose", "thrown", "connect-src", "script-src"} {
		found := false
		for range 200 {
			if found = strings.Contains(strings.Join(p.Problems(), "\n"), want); found {
				break
			}
			p.eval(`new Promise(done => setTimeout(done, 25))`)
		}
		if !found {
			t.Errorf("%q is missing in %q", want, p.Problems())
		}
	}
}

func TestUnitsValuesAndNamesAreShownAsTheyAre(t *testing.T) {
	p := openStill(t, 10*time.Second)
	for _, row := range []struct{ value, unit, want string }{
		{"500", "suffix: tokens", "500 tokens"},
		{"3.26", "suffix: tokens", "3.3 tokens"},
		{"0.236", "percentunit", "23.6%"},
		{"1", "percentunit", "100%"},
		{"0.0123", "s", "12.3 ms"},
		{"0.00005", "s", "50 µs"},
		{"90", "s", "90 s"},
		{"0", "s", "0 s"},
		{"1440", "m", "1 d"},
		{"0.5", "m", "30 s"},
		{"5.25", "reqps", "5.25 req/s"},
		{"1234", "ops", "1.23k/s"},
		{"2000000", "Bps", "2 MB/s"},
		{"12345", "short", "12.3k"},
		{"-2", "suffix: tokens/min", "-2 tokens/min"},
		{"Infinity", "short", "∞"},
		{"null", "short", "–"},
	} {
		if got := p.eval(`import("/page/units.js").then(u => u.format(` + row.value + `, "` + row.unit + `"))`); got != row.want {
			t.Errorf("%s of %q: %q, want %q", row.value, row.unit, got, row.want)
		}
	}
	// Values go into queries as they are, whatever they hold.
	const filled = `import("/page/variables.js").then(({ Variables }) => new Variables(
		[{ type: "query", name: "x", current: { value: ["a\"b", "c.d|e\\f", "g"] } }], () => 0).fill('up{a=~"$x",b!~"${x}"}', 1, 1))`
	if got, want := p.eval(filled), `up{a=~"(a\"b|c\\.d\\|e\\\\f|g)",b!~"(a\"b|c\\.d\\|e\\\\f|g)"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := p.eval(filled + `.then(q => fetch("/api/v1/query?query=" + encodeURIComponent(q))).then(r => r.status)`); got != "200" {
		t.Errorf("Prometheus says %s", got)
	}

	// What comes from elsewhere is text.
	const evil = `<img src=x onerror="window.taken=1">`
	p.do(p.Eval(`import("/page/traces.js").then(({ drawTraces }) => {
		const into = document.body.appendChild(document.createElement("div"));
		into.id = "evil";
		const text = '`+evil+`';
		drawTraces(into, [{ id: text, start: new Date().toISOString(), duration: 1, spans: [{ id: "1", name: text, kind: text, error: text, offset: 0, duration: 1,
			attributes: { [text]: text, "server.address": text, "plimsoll.outcome": text }, events: [{ name: text, offset: 0, attributes: { [text]: text } }] }] }]);
		into.querySelector("details").open = true;
	})`, nil))
	p.until(`document.querySelectorAll("#evil .waterfall li").length >= 4`)
	if got := p.eval(`document.querySelectorAll("#evil img").length + " " + window.taken + " " + document.querySelector("#evil").textContent.includes('` + evil + `')`); got != "0 undefined true" {
		t.Errorf("a trace's name: %s", got)
	}
	p.quiet()
}

// No generated dashboard has a folded row today; one that has is drawn folded.
func TestARowThatIsFoldedAsksForNothingUntilItIsOpened(t *testing.T) {
	p := openStill(t, 10*time.Second)
	p.do(p.Eval(`import("/page/board.js").then(({ Board }) => {
		const into = document.body.appendChild(document.createElement("div"));
		into.id = "folded";
		document.getElementById("panels").hidden = true;
		const panel = { type: "stat", id: 902, title: "Inside", description: "A number.", gridPos: { h: 4, w: 4, x: 0, y: 1 },
			targets: [{ expr: "vector(7)", legendFormat: "seven" }], options: { graphMode: "area" }, fieldConfig: { defaults: { unit: "short" } } };
		const odd = { ...panel, id: 903, title: "Odd", type: "piechart" };
		const board = new Board({ panels: [{ type: "row", id: 901, title: "Folded", collapsed: true, panels: [panel, odd] }] }, into);
		const win = { start: 1000, end: 1010, step: 1 };
		const variables = { fill: (query) => query };
		board.onseen = () => board.load(win, variables, 1, []);
	})`, nil))
	const row = `document.querySelector('#folded .row')`
	p.until(row + `.querySelector("button").getAttribute("aria-expanded") === "false" && ` + row + `.querySelector(".grid").hidden`)
	if state := p.eval(row + `.querySelector('[data-title="Inside"]').dataset.state`); state != "waiting" {
		t.Errorf("a folded panel is %s", state)
	}
	p.do(p.Eval(row+`.querySelector("button").click()`, nil))
	p.until(row + `.querySelector('[data-title="Inside"] .value')?.dataset.value === "7"`)
	if text := p.eval(row + `.querySelector('[data-title="Odd"]').textContent`); !strings.Contains(text, "piechart are not drawn here") {
		t.Errorf("a panel of another type says %q", text)
	}
	p.quiet()
}
