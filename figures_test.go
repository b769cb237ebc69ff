package plimsoll_test

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/dashboards"
)

const retriesOfACall = 4 // client.RetryPolicy's default

// untilRefused plays calls whose attempts fail with probability p, one after the
// other, against a real budget. It returns how many calls began and how many
// retries were sent before the first one that was refused, or most calls.
func untilRefused(t *testing.T, c budget.Config, p float64, most int, r *rand.Rand) (calls, retries int) {
	t.Helper()
	bucket, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	tokens := bucket.Partition("https://orders.example:443")
	for calls < most {
		calls++
		if r.Float64() >= p {
			tokens.Replenish()
			continue
		}
		for range retriesOfACall {
			retry, err := tokens.Reserve(budget.Transient)
			if err != nil {
				return calls, retries
			}
			retries++
			if r.Float64() >= p {
				retry.Settle(budget.Refund)
				break
			}
			retry.Settle(budget.Partial)
		}
	}
	return calls, retries
}

// lost is the formula of the page: tokens that one call costs on average.
func lost(c budget.Config, p float64) float64 {
	failed := 0.0
	for k := range retriesOfACall {
		failed += math.Pow(p, float64(k+2))
	}
	return float64(c.FailureCost)*failed - float64(c.Replenish)*(1-p)
}

var sizingRow = regexp.MustCompile(`(?m)^\| ([0-9]+) % \| (-?[0-9.]+) \| ([0-9,]+|never) \|$`)

func TestTheTableOfDrainsIsThatOfTheBudget(t *testing.T) {
	page, err := os.ReadFile("docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := sizingRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 5 {
		t.Fatalf("%d rows found", len(rows))
	}
	for _, row := range rows {
		percent, _ := strconv.ParseFloat(row[1], 64)
		p := percent / 100
		if got := strconv.FormatFloat(lost(budget.Default(), p), 'f', 1, 64); got != row[2] {
			t.Errorf("%s %%: a call costs %s tokens, the page says %s", row[1], got, row[2])
		}
		const runs, most = 200, 20_000
		sum, ended := 0, 0
		for seed := range uint64(runs) {
			calls, _ := untilRefused(t, budget.Default(), p, most, rand.New(rand.NewPCG(seed, 7)))
			sum += calls
			if calls < most {
				ended++
			}
		}
		mean := float64(sum) / runs
		if row[3] == "never" {
			if ended > 0 {
				t.Errorf("%s %%: %d of %d runs came to a refusal", row[1], ended, runs)
			}
			continue
		}
		said, _ := strconv.ParseFloat(strings.ReplaceAll(row[3], ",", ""), 64)
		if math.Abs(mean-said) > 0.05*said+1 {
			t.Errorf("%s %%: the first refusal comes after %.0f calls, the page says %s", row[1], mean, row[3])
		}
	}
}

// The worked example of the page: 40 calls a second, half of the attempts fail
// for 20 s.
func TestTheWorkedExampleHolds(t *testing.T) {
	page, err := os.ReadFile("docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"40 calls a second", "20 seconds", "1.84 · 40 · 20 = 1,475", "`Capacity = 2000`", "400 retries"} {
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), says) {
			t.Errorf("the page does not say %q any more: mend this test with it", says)
		}
	}
	const calls, runs = 40 * 20, 1000
	if need := lost(budget.Default(), 0.5) * calls; math.Abs(need-1475) > 1 {
		t.Errorf("the outage costs %.1f tokens", need)
	}
	refused := map[int]int{}
	for _, capacity := range []int{500, 1500, 2000} {
		c := budget.Default()
		c.Capacity = capacity
		for seed := range uint64(runs) {
			if n, _ := untilRefused(t, c, 0.5, calls, rand.New(rand.NewPCG(seed, 11))); n < calls {
				refused[capacity]++
			}
		}
	}
	t.Logf("outages of %d with a refusal, by capacity: %v", runs, refused)
	if refused[500] != runs || refused[1500] < runs/10 || refused[2000] > runs/100 {
		t.Errorf("of %d outages so many had a refusal, by capacity: %v", runs, refused)
	}
	c := budget.Default()
	if below, above := lost(c, 0.30), lost(c, 0.32); below >= 0 || above <= 0 {
		t.Errorf("the balance is not at about 30 %%: %.2f and %.2f tokens", below, above)
	}
	c.FailureCost = c.Cost // where connections break
	if below, above := lost(c, 0.235), lost(c, 0.245); below >= 0 || above <= 0 {
		t.Errorf("the balance is not at about 24 %%: %.2f and %.2f tokens", below, above)
	}
	c = budget.Default()
	c.Capacity = 2000
	if _, retries := untilRefused(t, c, 1, calls, rand.New(rand.NewPCG(1, 1))); retries < 395 || retries > 400 {
		t.Errorf("a dead upstream sees %d retries", retries)
	}
}

// refusedWhileUnderWay plays a minute of calls that come at a steady rate, each
// attempt of which is answered after latency and fails with probability p,
// against a budget that is full at first. It returns how many retries were
// refused.
func refusedWhileUnderWay(t *testing.T, c budget.Config, p float64, rate int, latency time.Duration, r *rand.Rand) (refused int) {
	t.Helper()
	bucket, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	type attempt struct {
		retry int
		paid  *budget.Reservation
	}
	tokens := bucket.Partition("https://orders.example:443")
	answered := map[int][]attempt{} // by millisecond
	begun := 0
	for now := range 60_000 {
		for ; begun < rate*now/1000; begun++ {
			answered[now+int(latency.Milliseconds())] = append(answered[now+int(latency.Milliseconds())], attempt{})
		}
		for _, a := range answered[now] {
			fails := r.Float64() < p
			switch {
			case !fails && a.retry == 0:
				tokens.Replenish()
			case !fails:
				a.paid.Settle(budget.Refund)
			case a.retry > 0:
				a.paid.Settle(budget.Partial)
			}
			if !fails || a.retry == retriesOfACall {
				continue
			}
			paid, err := tokens.Reserve(budget.Transient)
			if err != nil {
				refused++
				continue
			}
			at := now + int(latency.Milliseconds()) + r.IntN(25<<a.retry+1)
			answered[at] = append(answered[at], attempt{a.retry + 1, paid})
		}
		delete(answered, now)
	}
	return refused
}

// Traffic that is fast or slow has so many retries under way, when failures set
// in, that the default refuses some; what the page allows for them is enough.
func TestTheRoomForRetriesUnderWayIsWhatThePageSays(t *testing.T) {
	page, err := os.ReadFile("docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"(10 · p − (1 − p)) tokens", "as much again", "Below 9 %", "1.75 tokens", "need twice 700, `Capacity = 1400`"} {
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), says) {
			t.Errorf("the page does not say %q any more: mend this test with it", says)
		}
	}
	d := budget.Default()
	atOnset := func(p float64) float64 { return float64(d.Cost)*p - float64(d.Replenish)*(1-p) }
	if atOnset(0.09) > 0 || atOnset(0.092) < 0 || atOnset(0.25) != 1.75 {
		t.Errorf("%v tokens at 9 %%, %v at 25 %%", atOnset(0.09), atOnset(0.25))
	}
	for _, traffic := range []struct {
		rate    int
		latency time.Duration
	}{{1000, 200 * time.Millisecond}, {400, 500 * time.Millisecond}, {400, time.Second}, {300, time.Second}, {100, 2 * time.Second}} {
		seconds := (traffic.latency + 12*time.Millisecond).Seconds() // the first wait is 12 ms on average
		enough := d
		enough.Capacity = int(2 * float64(traffic.rate) * seconds * atOnset(0.25))
		const runs = 20
		before, after := 0, 0
		for seed := range uint64(runs) {
			before += refusedWhileUnderWay(t, d, 0.25, traffic.rate, traffic.latency, rand.New(rand.NewPCG(seed, 13)))
			after += refusedWhileUnderWay(t, enough, 0.25, traffic.rate, traffic.latency, rand.New(rand.NewPCG(seed, 13)))
		}
		t.Logf("%d/s, answers after %v: in %d minutes %d retries were refused with %d tokens, %d with %d", traffic.rate, traffic.latency, runs, before, d.Capacity, after, enough.Capacity)
		if before < runs || after > runs/10 {
			t.Errorf("%d/s, answers after %v: in %d minutes %d retries were refused with %d tokens, %d with %d",
				traffic.rate, traffic.latency, runs, before, d.Capacity, after, enough.Capacity)
		}
	}
}

// Figures that the pages state of defaults are those of the packages.
func TestTheFiguresOfThePagesAreTheDefaults(t *testing.T) {
	b := budget.Default()
	gate, err := breaker.New(breaker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := gate.Config()
	pages := markdown(t)
	n := strconv.Itoa
	for _, says := range []struct{ page, text string }{
		{"README.md", n(b.Capacity) + " tokens per origin: a retry reserves " + n(b.Cost) + ", keeps " + n(b.SuccessCost) + " if it helped, " + n(b.FailureCost) +
			" if the server answered with another failure, " + n(b.Cost) + " if the connection broke; a call that needed no retry adds " + n(b.Replenish)},
		{"README.md", "// " + n(g.ConsecutiveFailures) + " failures in a row, or half of " + n(g.MinCalls) + " calls"},
		{"docs/concepts.md", "holds up to " + n(b.Capacity) + " tokens. To arm a retry, " + n(b.Cost) + " are reserved"},
		{"docs/concepts.md", "Open, it refuses attempts for " + strconv.FormatFloat(g.Cooldown.Seconds(), 'f', -1, 64) + " s"},
		{"docs/configuration.md", "| `MaxRetries` | `int` | " + n(retriesOfACall) + ", so "},
	} {
		if !strings.Contains(strings.Join(strings.Fields(pages[says.page]), " "), says.text) {
			t.Errorf("%s does not say %q", says.page, says.text)
		}
	}
	if g.FailureRate != 0.5 {
		t.Errorf("the README says half, the breaker opens at %v", g.FailureRate)
	}
}

var panelName = regexp.MustCompile(`\*(Overview|Retry budget|Connections|Breaker|Streams and throttles)\s/\s([^*]+)\*`)

// A panel that a page names is on that dashboard.
func TestThePanelsThatThePagesNameExist(t *testing.T) {
	set, err := dashboards.New(dashboards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	panels := map[string]bool{}
	for _, board := range set.Boards {
		for _, row := range board.Rows {
			for _, panel := range row.Panels {
				panels[strings.TrimPrefix(board.Title, "Plimsoll ")+" / "+panel.Title] = true
			}
		}
	}
	seen := 0
	for name, page := range markdown(t) {
		for _, m := range panelName.FindAllStringSubmatch(page, -1) {
			seen++
			if title := strings.Join(strings.Fields(m[2]), " "); !panels[m[1]+" / "+title] {
				t.Errorf("%s names the panel %q, which the dashboard %q does not have", name, title, m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d panels found", seen)
	}
}
