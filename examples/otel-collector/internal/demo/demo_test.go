package demo

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// run runs d's load beside play.
func run(t *testing.T, d *Demo, play func(context.Context)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Run(ctx) }()
	play(ctx)
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, cfg Config) *Demo {
	t.Helper()
	cfg.Seed = 1
	d, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && cfg.Endpoint == "" {
			t.Error(err)
		}
	})
	return d
}

// The whole story, by steps: the outcome is as it should be, and each query of
// each panel of each dashboard gave numbers.
func TestEveryPanelShowsDataDuringTheStory(t *testing.T) {
	t.Parallel()
	d := start(t, Config{})
	begin := time.Now().Add(-15 * time.Minute).Truncate(Interval)
	if err := d.Backfill(t.Context(), begin, begin.Add(5*time.Second), nil); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c := NewChronicle(d, &out)
	look := func(a Act) (bool, error) { return c.Look(t.Context(), a) }
	if err := d.PlaySteps(t.Context(), Acts(), 100*time.Second, c.Begun, look); err != nil {
		t.Fatal(err)
	}
	if err := c.SumUp(); err != nil || !regexp.MustCompile(`lead time: \d+ s`).MatchString(out.String()) {
		t.Errorf("%v\n%s", err, out.String())
	}
	// The breaker's cooldown is real time.
	for healed := false; !healed; {
		if err := d.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := d.DB.Query(t.Context(), `sum(plimsoll_breaker_transitions_total{plimsoll_breaker_to="closed"})`, d.Now())
		healed = err == nil && len(v) == 1 && v[0].F > 0
	}
	t.Logf("\n%s%v in all", out.String(), d.Now().Sub(begin))
	queries := 0
	for _, b := range d.Boards {
		if !strings.HasSuffix(b.Name, ".json") {
			continue
		}
		for _, p := range panels(t, b.Data) {
			for _, target := range p.Targets {
				queries++
				if n := numbers(t, d, target.Expr, begin); n == 0 {
					t.Errorf("%s, %q: no data for %s", b.Name, p.Title, target.Expr)
				}
			}
		}
	}
	if queries < 60 {
		t.Errorf("only %d queries were found", queries)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C { // spans leave by themselves
		if traces := d.Traces.Latest(5, true); len(traces) == 5 && len(traces[0].Spans) > 0 {
			return
		}
	}
}

type panel struct {
	Title   string
	Type    string
	Panels  []panel
	Targets []struct{ Expr string }
}

// panels returns those that hold queries, from folded rows too.
func panels(t *testing.T, data []byte) []panel {
	t.Helper()
	var board struct{ Panels []panel }
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	var out []panel
	for _, p := range board.Panels {
		out = append(append(out, p), p.Panels...)
	}
	return out
}

var variable = regexp.MustCompile(`\$(job|client|origin)\b`)

// numbers counts the values that a query gave since begin.
func numbers(t *testing.T, d *Demo, expr string, begin time.Time) int {
	t.Helper()
	expr = strings.ReplaceAll(variable.ReplaceAllString(expr, ".*"), "$__rate_interval", "4s")
	m, err := d.DB.Range(t.Context(), expr, begin, d.Now(), Interval)
	if err != nil {
		t.Error(err)
		return 0
	}
	n := 0
	for _, s := range m {
		for _, f := range s.Floats {
			if !math.IsNaN(f.F) {
				n++
			}
		}
	}
	return n
}

// Between the past and what follows no counter falls and no series is told
// twice: rates go on as if nothing were between.
func TestThePastGoesOverIntoThePresent(t *testing.T) {
	t.Parallel()
	d := start(t, Config{})
	begin := time.Now().Add(-time.Minute)
	steps := 0
	if err := d.Backfill(t.Context(), begin, time.Time{}, func(time.Time) { steps++ }); err != nil {
		t.Fatal(err)
	}
	if steps < 60 {
		t.Errorf("%d steps", steps)
	}
	run(t, d, func(ctx context.Context) {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			v, err := d.DB.Query(ctx, `sum(increase(plimsoll_call_duration_seconds_count{server_address="orders.shop"}[5s] offset 1s))`, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			if time.Since(begin) > 68*time.Second && len(v) == 1 && v[0].F > 15 {
				return
			}
		}
	})
	now := time.Now()
	for expr, want := range map[string]float64{
		`count(count by (instance, job) (plimsoll_retry_budget_tokens))`:                                             1,
		`count(plimsoll_retry_budget_tokens{plimsoll_client="settled"})`:                                             3,
		`sum(resets(plimsoll_call_duration_seconds_count[2m]))`:                                                      0,
		`count(plimsoll_call_duration_seconds_count{server_address="orders.shop",plimsoll_outcome="ok"})`:            1,
		`clamp_max(sum(rate(plimsoll_call_duration_seconds_count{server_address="orders.shop"}[1m])) > bool 4, 1)`:   1,
		`clamp_max(sum(rate(plimsoll_call_duration_seconds_count{server_address="orders.shop"}[1m])) < bool 6, 1)`:   1,
		`count(plimsoll_retry_armed_total{job="shop",instance="demo-1",plimsoll_cause="status"}) > bool 0`:           1,
		`max(max_over_time(plimsoll_retry_budget_tokens[1m] offset 30s))`:                                            500,
		`sum(traces_span_metrics_calls_total{span_kind="SPAN_KIND_CLIENT",server_address="orders.shop"}) > bool 200`: 1,
	} {
		v, err := d.DB.Query(t.Context(), expr, now)
		if err != nil || len(v) != 1 || v[0].F != want {
			t.Errorf("%s: %v, %v, want %v", expr, v, err, want)
		}
	}
}

// With a collector outside, the Prometheus inside scrapes the SDK.
func TestWithACollectorOutsideThePanelsStillHaveNumbers(t *testing.T) {
	t.Parallel()
	inside := start(t, Config{}) // its collector is the one outside
	d := start(t, Config{Endpoint: inside.gateway.OTLP})
	if d.Traces != nil || d.gateway != nil {
		t.Error("there is a collector inside")
	}
	if err := d.Backfill(t.Context(), time.Now().Add(-10*time.Second), time.Time{}, nil); err != nil {
		t.Fatal(err)
	}
	v, err := d.DB.Query(t.Context(), `plimsoll_retry_budget_tokens{job="shop",instance="demo-1",server_address="orders.shop"}`, time.Now())
	if err != nil || len(v) != 1 || v[0].F != 500 {
		t.Errorf("%v, %v", v, err)
	}
	run(t, d, func(ctx context.Context) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if len(inside.Traces.Latest(1, false)) == 1 {
				return // spans arrive at the collector outside
			}
		}
	})
}

func TestPlayEndsWithItsContextAndHeals(t *testing.T) {
	t.Parallel()
	d := start(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Play(ctx, []Act{{Name: "dead", Accounting: stage.Legacy, Trouble: stage.Dead, Share: 1}}, time.Hour, func(Act) { cancel() }, nil)
	if !errors.Is(err, context.Canceled) || d.Stage.State().Trouble != stage.Healthy {
		t.Errorf("%v, %+v", err, d.Stage.State())
	}
}

func TestTheChronicleTellsAGoodOutcomeFromABadOne(t *testing.T) {
	told := func(change func(*Chronicle)) error {
		c := &Chronicle{
			out: &strings.Builder{}, pending: 10 * time.Second, firing: 12 * time.Second, escaped: 30 * time.Second,
			settled: reading{taken: true, recoveries: 1}, last: reading{taken: true, recoveries: 20}, lowest: 500, acts: []string{"healthy", "legacy", "settled"},
		}
		change(c)
		return c.SumUp()
	}
	for _, row := range []struct {
		name   string
		change func(*Chronicle)
		want   error
	}{
		{"as it should be", func(*Chronicle) {}, nil},
		{"no alert", func(c *Chronicle) { c.firing = 0 }, errNoAlert},
		{"alert too late", func(c *Chronicle) { c.firing = 31 * time.Second }, errNoAlert},
		{"no escape", func(c *Chronicle) { c.escaped = 0 }, errNoEscape},
		{"settled drains", func(c *Chronicle) { c.lowest = 200 }, errSettled},
		{"settled escapes", func(c *Chronicle) { c.last.escapes = 1 }, errSettled},
		{"settled alarms", func(c *Chronicle) { c.alarmed = true }, errSettled},
		{"interrupted", func(c *Chronicle) { c.settled = reading{} }, errNoAct},
	} {
		if err := told(row.change); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// The acts fill the time, and every trouble has one.
func TestTheActsAreTheWholeStory(t *testing.T) {
	sum := 0.0
	seen := map[stage.Trouble]bool{}
	for _, a := range Acts() {
		sum += a.Share
		seen[a.Trouble] = true
	}
	if math.Abs(sum-1) > 1e-9 || len(seen) != len(stage.Troubles()) {
		t.Errorf("shares %v, troubles %v", sum, seen)
	}
}
