package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	level    = `Number(document.querySelector('.panel[data-title="Lowest level"] .value').dataset.value)`
	escapes  = `Number(document.querySelector('.panel[data-title="Escapes"] .value').dataset.value)`
	draining = `document.querySelector('#alerts [data-alert="PlimsollBudgetDraining"]').dataset.state`
)

// alert is the state that the page shows of an alert.
func alert(name string) string {
	return `document.querySelector('#alerts [data-alert="` + name + `"]').dataset.state`
}

// A person presses everything that there is and watches what the page shows,
// second by second.
func TestAPersonDrainsTheBudgetAndHealsIt(t *testing.T) {
	p := openStill(t, time.Minute)
	if got := p.eval(draining); got != "inactive" {
		t.Errorf("at first the alert is %s", got)
	}
	if got := p.number(level); got != 500 {
		t.Errorf("at first there are %v tokens", got)
	}
	p.account(true)
	p.press("kill")
	p.drains()
	p.shot("draining-1280-light")
	p.sameNumbers()
	p.oneTimeAxis()

	p.steps(30, level+` < 250`)
	if got := p.number(escapes); got != 0 {
		t.Errorf("there are escapes (%v/s) with half of the tokens left", got)
	}
	p.press("healthy")
	p.steps(60, draining+` === "inactive"`)
	low := p.number(level)
	p.steps(30, fmt.Sprintf(`%s > %v`, level, low+20))
	p.traces()
	p.shot("traces-1280-light")

	// Settled accounting with recovery pays nothing for the same.
	p.account(false)
	const settled = `Number([...document.querySelectorAll('.panel[data-title="Tokens and capacity"] .legend button')].find(b => b.dataset.name.startsWith("settled orders")).dataset.value)`
	p.press("kill")
	for range 8 {
		if p.step(); p.number(settled) != 500 {
			t.Errorf("settled accounting has %v tokens while connections die", p.number(settled))
		}
	}

	// The other troubles, each until the page shows it.
	p.press("unavailable")
	const reserved = `Number([...document.querySelectorAll('.panel[data-title="Tokens moved"] .legend button')].find(b => b.dataset.name === "refunded").dataset.value)`
	p.steps(30, reserved+` > 0`)
	p.press("throttle")
	p.steps(30, alert("PlimsollThrottled")+` === "firing"`)
	p.steps(60, `fetch("/api/v1/query?time=" + document.documentElement.dataset.drawn + "&query=sum(plimsoll_throttle_wait_duration_seconds_count)>0").then(r => r.json()).then(a => a.data.result.length === 1)`)
	p.press("dead")
	p.steps(30, alert("PlimsollBreakerOpen")+` === "firing"`)
	p.press("healthy")
	p.step()
	p.everyDashboard()
	p.quiet()
}

// drains watches the tokens fall and the alert go from inactive by pending to
// firing, with tokens left.
func (p *page) drains() {
	p.t.Helper()
	var states []string
	var levels []float64
	for len(states) < 40 && (len(states) == 0 || states[len(states)-1] != "firing") {
		p.step()
		states, levels = append(states, p.eval(draining)), append(levels, p.number(level))
	}
	p.t.Logf("%v\n%v", states, levels)
	order := map[string]int{"inactive": 0, "pending": 1, "firing": 2}
	seen := map[string]bool{}
	for i, state := range states {
		seen[state] = true
		if i > 0 && (order[state] < order[states[i-1]] || levels[i] > levels[i-1]) {
			p.t.Errorf("second %d: %s after %s, %v tokens after %v", i, state, states[i-1], levels[i], levels[i-1])
		}
	}
	if len(seen) != 3 || levels[len(levels)-1] >= 450 || levels[len(levels)-1] < 100 {
		p.t.Errorf("the alert was %v at %v tokens", states, levels)
	}
}

// everyDashboard looks at all of them in both widths and both themes: each panel
// has data, all numbers are Prometheus's, nothing is cut or sticks out.
func (p *page) everyDashboard() {
	p.t.Helper()
	var uids []string
	p.do(p.Eval(`fetch("/api/dashboards").then(r => r.json()).then(l => l.map(b => b.uid))`, &uids))
	if len(uids) != 5 {
		p.t.Fatalf("dashboards: %v", uids)
	}
	for _, uid := range uids {
		for _, look := range []struct {
			width, height int64
			scheme        string
		}{{1280, 3200, "light"}, {1280, 3200, "dark"}, {390, 7000, "light"}, {390, 7000, "dark"}} {
			name := fmt.Sprintf("%s-%d-%s", strings.TrimPrefix(uid, "plimsoll-"), look.width, look.scheme)
			p.do(p.Look(look.width, look.height, 1, look.scheme))
			p.do(p.Go(p.url + "/d/" + uid))
			p.until(`document.documentElement.dataset.drawn && document.documentElement.dataset.theme === "` + look.scheme + `" && !document.querySelector('.panel[data-state="waiting"]')`)
			if bad := p.eval(`[...document.querySelectorAll('.panel:not([data-state="ok"])')].map(n => n.dataset.title + " is " + n.dataset.state).join("; ")`); bad != "" {
				p.t.Errorf("%s: %s", name, bad)
			}
			p.fits(float64(look.width))
			p.shot(name)
		}
		p.sameNumbers()
	}
}

// traces opens the latest trace that something happened in.
func (p *page) traces() {
	p.t.Helper()
	p.do(p.Eval(`document.querySelector(".traces").scrollIntoView()`, nil))
	p.until(`document.querySelector(".trace summary")`)
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
