package proof

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/generated"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// ruleFiles writes the embedded rule files to where Prometheus can load them.
func ruleFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for _, name := range []string{"plimsoll-alerts.yaml", "plimsoll-recordings.yaml"} {
		data, err := generated.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

func open(t *testing.T) *Storage {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// outcome is what became of a scenario.
type outcome struct {
	scenario
	run     *Run
	seen    *Seen
	verdict *Verdict
}

func play(t *testing.T, sc scenario, options ...metric.Option) outcome {
	t.Helper()
	run, seen := Play(t, sc.drive, options...)
	v, err := Judge(t.Context(), open(t), run, ruleFiles(t)...)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{sc, run, seen, v}
}

// values returns all values that the run reported for a metric.
func (r *Run) values(metric string) []float64 {
	m, _ := catalog.Lookup(metric)
	var out []float64
	for _, scrape := range r.Scrapes {
		for _, one := range scrape.samples {
			if r.series[one.series].Get(model.MetricNameLabel) == m.PrometheusName() {
				out = append(out, one.value)
			}
		}
	}
	return out
}

func TestAlertsFireInTimeAndNoOthers(t *testing.T) {
	var outcomes []outcome
	fired := map[string]bool{}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			o := play(t, sc)
			o.check(t)
			if check := particular[sc.name]; check != nil {
				check(t, o)
			}
			outcomes = append(outcomes, o)
			for _, name := range o.verdict.Alerts() {
				fired[name] = true
			}
			t.Logf("%+v: fired %v, ended %v", *o.seen, o.verdict.Fired, o.verdict.Ended)
		})
	}
	if len(outcomes) < len(scenarios) {
		return // only some were asked for, or one didn't come to its end
	}
	allFired(t, fired)
	compareLeadTimes(t, outcomes)
}

// allFired checks that the scenarios made every alert fire.
func allFired(t *testing.T, fired map[string]bool) {
	t.Helper()
	set, err := dashboards.New(dashboards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range set.Groups {
		for _, a := range g.Alerts {
			if !fired[a.Name] {
				t.Errorf("no scenario makes %s fire", a.Name)
			}
		}
	}
}

func (o outcome) check(t *testing.T) {
	t.Helper()
	at, fired := o.verdict.First(o.alert)
	switch {
	case o.alert == "":
	case !fired:
		t.Errorf("%s did not fire", o.alert)
	case at < o.trouble || at > o.trouble+o.within:
		t.Errorf("%s fired at %v, want within %v of %v", o.alert, at, o.within, o.trouble)
	}
	for _, name := range o.verdict.Alerts() {
		if name != o.alert && !slices.Contains(o.also, name) {
			t.Errorf("%s fired at %v: it is not among the consequences", name, o.verdict.Fired[name])
		}
	}
	for _, name := range o.also {
		if _, ok := o.verdict.First(name); !ok {
			t.Errorf("%s is listed as a consequence and did not fire", name)
		}
	}
	for name, text := range o.verdict.Texts {
		if strings.Contains(text, "<error") || strings.Contains(text, "no value") || strings.Contains(text, "$") || strings.Contains(text, "{{") {
			t.Errorf("%s says %q", name, text)
		}
	}
}

// particular is what else must hold of a scenario.
var particular = map[string]func(*testing.T, outcome){
	"fuse, dead connections": fuseHolds,
	"fuse, 503s":             fuseHolds,
	"slow leak": func(t *testing.T, o outcome) {
		t.Helper()
		at, _ := o.verdict.First(dashboards.BudgetDraining)
		if ahead := o.seen.FirstDenial - at; o.seen.FirstDenial < 0 || ahead < 30*time.Minute {
			t.Errorf("draining fired %v before the first denial at %v, want 30m", ahead, o.seen.FirstDenial)
		}
		deniedInTime(t, o)
	},
	"settled and recovered": func(t *testing.T, o outcome) {
		t.Helper()
		for _, level := range o.run.values(catalog.BudgetTokens) {
			if level != 500 {
				t.Fatalf("the level is %v, want 500 throughout", level)
			}
		}
		if o.seen.Recoveries < 60 || o.seen.Armed < 60 || o.seen.Escapes != 0 {
			t.Errorf("%+v: the faults were not those of the fuse", *o.seen)
		}
	},
	"healthy day": func(t *testing.T, o outcome) {
		t.Helper()
		if o.seen.Calls != 86400 || o.seen.Armed+o.seen.Recoveries != 86 || o.verdict.Evaluated != 24*60*4 {
			t.Errorf("%+v, %d evaluations: that was no day with 0.1 %% retried calls", *o.seen, o.verdict.Evaluated)
		}
	},
	"upstream fails": deniedInTime,
	"outage that ends": func(t *testing.T, o outcome) {
		t.Helper()
		deniedInTime(t, o)
		for _, name := range o.verdict.Alerts() {
			ended := o.verdict.Ended[name]
			if len(ended) != len(o.verdict.Fired[name]) || ended[len(ended)-1] > o.trouble+10*time.Minute {
				t.Errorf("%s fired at %v and ended at %v, want it to end within 8 min of the outage's end", name, o.verdict.Fired[name], ended)
			}
		}
		if levels := o.run.values(catalog.BudgetTokens); slices.Min(levels) > 10 || levels[len(levels)-1] != 500 {
			t.Errorf("the level was %v at the lowest and %v at last, want it used up and full again", slices.Min(levels), levels[len(levels)-1])
		}
	},
}

func fuseHolds(t *testing.T, o outcome) {
	t.Helper()
	if o.seen.FirstEscape != 500*time.Second || o.seen.FirstDenial != 500*time.Second {
		t.Errorf("first denial at %v, first escape at %v, want both in cycle 51", o.seen.FirstDenial, o.seen.FirstEscape)
	}
	if levels := o.run.values(catalog.BudgetTokens); slices.Min(levels) != 0 {
		t.Errorf("the budget was never empty: %v", levels)
	}
	deniedInTime(t, o)
}

func deniedInTime(t *testing.T, o outcome) {
	t.Helper()
	at, ok := o.verdict.First(dashboards.RetriesDenied)
	if after := at - o.seen.FirstDenial; !ok || o.seen.FirstDenial < 0 || after < 0 || after > time.Minute {
		t.Errorf("%s fired %v after the first denial at %v, want within a minute", dashboards.RetriesDenied, after, o.seen.FirstDenial)
	}
}
