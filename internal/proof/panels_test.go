package proof

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

var (
	touring sync.Once
	toured  *Run
)

// theTour is one run of the tour, shared by the tests that only look at it.
func theTour(t *testing.T) *Run {
	t.Helper()
	touring.Do(func() { toured, _ = Play(t, tour) })
	if toured == nil || len(toured.Scrapes) == 0 {
		t.Fatal("the tour failed")
	}
	return toured
}

func TestEveryExpressionReadsWhatTheClientEmits(t *testing.T) {
	known := theTour(t).vocabulary()
	all := expressions(t)
	if len(all) < 100 {
		t.Fatalf("%d expressions were found: not all files were read", len(all))
	}
	for _, e := range all {
		for _, err := range known.check(e.query) {
			t.Errorf("%s: %v\n%s", e.where, err, e.text)
		}
	}
}

// The test above must be able to fail.
func TestAMetricThatIsGoneIsMissed(t *testing.T) {
	known := theTour(t).vocabulary()
	all := expressions(t)
	for _, m := range catalog.Metrics() {
		rest := known.without(m.PrometheusSeries()...)
		if len(rest) == len(known) {
			t.Errorf("%s was not emitted at all", m.Name)
		}
		if !slices.ContainsFunc(all, func(e expression) bool { return rest.check(e.query) != nil }) {
			t.Errorf("nobody would notice that %s is gone", m.Name)
		}
	}
	for _, wrong := range []string{
		"plimsoll_retry_budget_tokens_total", `plimsoll_retry_budget_tokens{plimsoll_cause="status"}`, `plimsoll_retry_skipped_total{plimsoll_skip_reason="empty"}`,
		"sum by (plimsoll_cause) (plimsoll_retry_budget_tokens)", "sum by (plimsoll_client) (1)", "rate(plimsoll_retry_armed_total)", "plimsoll_retry_armed_total +",
	} {
		if known.check(wrong) == nil {
			t.Errorf("%s passes", wrong)
		}
	}
}

func TestAMetricThatTheSDKDropsIsMissed(t *testing.T) {
	run, _ := Play(t, tenants, metric.WithView(
		metric.NewView(metric.Instrument{Name: catalog.BudgetTokens}, metric.Stream{Aggregation: metric.AggregationDrop{}})))
	missed := map[string]bool{}
	known := run.vocabulary()
	for _, e := range expressions(t) {
		for _, err := range known.check(e.query) {
			missed[err.Error()] = true
		}
	}
	if !missed["no client emits plimsoll_retry_budget_tokens"] {
		t.Errorf("not missed: %v", missed)
	}
}

func TestEveryPanelShowsTheTour(t *testing.T) {
	run := theTour(t)
	s := open(t)
	if err := s.AppendAll(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	shown(t, s, run)
}

// shown runs every query of every panel over a run that is stored.
func shown(t *testing.T, s *Storage, run *Run) {
	t.Helper()
	from, to := run.Scrapes[0].At.Add(time.Minute), run.Scrapes[len(run.Scrapes)-1].At
	panels := 0
	for _, e := range expressions(t) {
		if !e.panel {
			continue
		}
		panels++
		matrix, err := s.Query(t.Context(), e.query, from, to, Interval)
		if err != nil {
			t.Errorf("%s: %v", e.where, err)
			continue
		}
		switch numbers, moves := look(matrix); {
		case len(matrix) == 0:
			t.Errorf("%s: no data: %s", e.where, e.query)
		case !numbers:
			t.Errorf("%s: no number: %s", e.where, e.query)
		case !moves:
			t.Errorf("%s: always zero: %s", e.where, e.query)
		}
	}
	if panels < 50 {
		t.Errorf("%d queries of panels were found: not all were read", panels)
	}
}

// look reports whether a result has a number, and one that is not zero.
func look(m promql.Matrix) (numbers, moves bool) {
	for _, series := range m {
		for _, p := range series.Floats {
			if !math.IsNaN(p.F) {
				numbers = true
				moves = moves || p.F != 0
			}
		}
	}
	return numbers, moves
}

func TestRecordingRulesRecordTheTour(t *testing.T) {
	run := theTour(t)
	s := open(t)
	if _, err := Judge(t.Context(), s, run, ruleFiles(t)...); err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, g := range recordings(t) {
		recorded++
		matrix, err := s.Query(t.Context(), g, run.Began, run.Scrapes[len(run.Scrapes)-1].At.Add(Lag), Interval)
		if _, moves := look(matrix); err != nil || !moves {
			t.Errorf("%s: %v, %d series", g, err, len(matrix))
		}
	}
	if recorded < 5 {
		t.Errorf("%d recording rules were found", recorded)
	}
}
