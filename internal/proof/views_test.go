package proof

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/otelbridge/views"
)

// The healthy day is left out because it is long: that nothing fires while all
// is well, the settled scenario and the calm begins of the others show too.
func TestTheAlertsFireInTimeWithTheLeanViewsToo(t *testing.T) {
	fired := map[string]bool{}
	played := 0
	for _, sc := range scenarios {
		if sc.name == "healthy day" {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			o := play(t, sc, metric.WithView(views.Lean()...))
			o.check(t)
			if check := particular[sc.name]; check != nil {
				check(t, o)
			}
			applied(t, o.run)
			for _, name := range o.verdict.Alerts() {
				fired[name] = true
			}
			played++
		})
	}
	if played < len(scenarios)-1 {
		return // only some were asked for, or one didn't come to its end
	}
	allFired(t, fired)
}

// applied checks that the run's calls have the buckets of the lean views.
func applied(t *testing.T, run *Run) {
	t.Helper()
	for _, v := range catalog.Lean() {
		if v.Metric != catalog.CallDuration {
			continue
		}
		m, _ := catalog.Lookup(v.Metric)
		if got := run.vocabulary()[m.PrometheusSeries()[0]]["le"]; len(got) != len(v.Buckets)+1 {
			t.Errorf("calls have the buckets %v, want %v and the one at infinity", got, v.Buckets)
		}
	}
}

// takenBy reports whether text reads a metric or a label that the lean views
// take.
func takenBy(text string) bool {
	return slices.ContainsFunc(catalog.Lean(), func(v catalog.View) bool {
		m, _ := catalog.Lookup(v.Metric)
		if !strings.Contains(text, m.PrometheusName()) {
			return false
		}
		return v.Drop || slices.ContainsFunc(m.AllAttributes(), func(a catalog.Attribute) bool {
			return !slices.Contains(v.Keep, a.Key) && strings.Contains(text, catalog.PrometheusLabel(a.Key))
		})
	})
}

func TestOnlyPanelsReadWhatTheLeanViewsTake(t *testing.T) {
	run, _ := Play(t, tour, metric.WithView(views.Lean()...))
	applied(t, run)
	s := open(t)
	if _, err := Judge(t.Context(), s, run, ruleFiles(t)...); err != nil {
		t.Fatal(err)
	}
	known := run.vocabulary()
	from, to := run.Scrapes[0].At.Add(time.Minute), run.Scrapes[len(run.Scrapes)-1].At.Add(Lag)
	rules, without, quantiles := 0, 0, 0
	for _, e := range expressions(t) {
		errs := known.check(e.query)
		switch {
		case !e.panel:
			rules++ // and the dashboards' variables
		case len(errs) > 0:
			without++
		}
		if len(errs) > 0 && (!e.panel || !takenBy(e.text)) {
			t.Errorf("%s: %v\n%s", e.where, errs, e.text)
		}
		if len(errs) > 0 || !strings.Contains(e.text, "histogram_quantile") {
			continue
		}
		quantiles++
		matrix, err := s.Query(t.Context(), e.query, from, to, Interval)
		if _, moves := look(matrix); err != nil || !moves {
			t.Errorf("%s: %v, %d series: %s", e.where, err, len(matrix), e.query)
		}
	}
	if rules < 20 || quantiles < 10 || without == 0 {
		t.Errorf("%d rules and variables, %d quantiles and %d panels without data were found: not all was read", rules, quantiles, without)
	}
	for _, g := range recordings(t) {
		matrix, err := s.Query(t.Context(), g, run.Began, to, Interval)
		if _, moves := look(matrix); err != nil || !moves {
			t.Errorf("%s: %v, %d series", g, err, len(matrix))
		}
	}
}
