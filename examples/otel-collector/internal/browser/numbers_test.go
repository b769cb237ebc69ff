package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// shown is one number on the page.
type shown struct{ Panel, Series, Value, Time string }

const numbersShown = `JSON.stringify([
	...[...document.querySelectorAll(".stat .value[data-value]")].map(v => ({Panel: v.closest(".panel").dataset.title, Series: "", Value: v.dataset.value, Time: v.dataset.time})),
	...[...document.querySelectorAll(".timeseries .legend button[data-value]")].filter(b => b.dataset.value !== "").map(b => ({Panel: b.closest(".panel").dataset.title, Series: b.dataset.name, Value: b.dataset.value, Time: b.dataset.time})),
])`

// sameNumbers compares every number on the page with Prometheus's answer for
// the same time. A scrape that was under way when the page asked may change the
// last answer, so all must agree in one of several looks.
func (p *page) sameNumbers() {
	p.t.Helper()
	var wrong []string
	for range 10 {
		var numbers []shown
		p.do(json.Unmarshal([]byte(p.eval(numbersShown)), &numbers))
		if len(numbers) < 12 {
			p.t.Fatalf("only %d numbers are on the page", len(numbers))
		}
		if wrong = p.compare(numbers); len(wrong) == 0 {
			p.t.Logf("%d numbers are the same", len(numbers))
			return
		}
		drawn := p.eval(`document.documentElement.dataset.drawn`)
		p.until(`document.documentElement.dataset.drawn !== "` + drawn + `"`)
	}
	p.t.Error(strings.Join(wrong, "\n"))
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
	p.get("/api/dashboards/plimsoll-retry-budget", nil, &board)
	for _, n := range numbers {
		found := false
		for _, panel := range board.Panels {
			if panel.Title != n.Panel {
				continue
			}
			for _, target := range panel.Targets {
				expr := strings.ReplaceAll(variable.ReplaceAllString(target.Expr, ".*"), "$__rate_interval", "4s")
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

func TestUnitsAreShownAsInGrafana(t *testing.T) {
	p := open(t)
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
	p.quiet()
}

// No generated dashboard has a folded row today; one that has is drawn folded.
func TestARowThatIsFoldedAsksForNothingUntilItIsOpened(t *testing.T) {
	p := open(t)
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
