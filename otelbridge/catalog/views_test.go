package catalog_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestLeanViewsNameWhatIsThere(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range catalog.Lean() {
		m, ok := catalog.Lookup(v.Metric)
		if !ok || seen[v.Metric] {
			t.Errorf("%s is not in the catalogue, or has two views", v.Metric)
			continue
		}
		seen[v.Metric] = true
		if v.Drop && (v.Keep != nil || v.Buckets != nil) || !v.Drop && v.Keep == nil {
			t.Errorf("%s keeps %q and the buckets %v, dropped: %v", v.Metric, v.Keep, v.Buckets, v.Drop)
		}
		for _, k := range v.Keep {
			if !slices.ContainsFunc(m.AllAttributes(), func(a catalog.Attribute) bool { return a.Key == k }) {
				t.Errorf("%s keeps %s, which it has not", v.Metric, k)
			}
		}
		for _, a := range m.Common() {
			if !v.Drop && !slices.Contains(v.Keep, a.Key) {
				t.Errorf("%s loses %s, by which the rules aggregate", v.Metric, a.Key)
			}
		}
		if catalog.SeriesPerOrigin(v) >= catalog.SeriesPerOrigin() {
			t.Errorf("the view of %s saves nothing", v.Metric)
		}
	}
}

// What was recorded with the declared bounds and what is recorded with these
// can be added up only if these are among those.
func TestLeanBoundsAreSomeOfTheDeclaredOnes(t *testing.T) {
	lean := catalog.Lean()
	for _, m := range catalog.Metrics() {
		i := slices.IndexFunc(lean, func(v catalog.View) bool { return v.Metric == m.Name })
		if m.Kind != catalog.Histogram {
			if i >= 0 && lean[i].Buckets != nil {
				t.Errorf("%s is a %v and gets buckets", m.Name, m.Kind)
			}
			continue
		}
		if i < 0 {
			t.Errorf("the histogram %s keeps all its buckets", m.Name)
			continue
		}
		v := lean[i]
		if v.Drop {
			continue
		}
		last := len(v.Buckets) - 1
		if last < 0 {
			t.Errorf("%s loses all its buckets, which panels read", m.Name)
			continue
		}
		for i, b := range v.Buckets {
			if !slices.Contains(m.Buckets, b) {
				t.Errorf("%s gets the bound %v, which is not among %v", m.Name, b, m.Buckets)
			}
			if i > 0 && (b <= v.Buckets[i-1] || b/v.Buckets[i-1] > 6+1e-9) {
				t.Errorf("%s has the bound %v after %v, want them to grow, and by a factor of 6 at most", m.Name, b, v.Buckets[i-1])
			}
		}
		if declared := m.Buckets[len(m.Buckets)-1]; v.Buckets[last] != declared {
			t.Errorf("the highest bound of %s is %v, want %v: its quantiles would end lower", m.Name, v.Buckets[last], declared)
		}
		if fastest := m.Name == catalog.CallDuration || m.Name == catalog.RequestDuration; fastest && v.Buckets[0] != m.Buckets[0] {
			t.Errorf("the lowest bound of %s is %v, want %v, below which the bridge thins out exemplars", m.Name, v.Buckets[0], m.Buckets[0])
		}
		if share := float64(len(v.Buckets)) / float64(len(m.Buckets)); share < 0.4 || share > 0.6 {
			t.Errorf("%s keeps %d of %d bounds, want about half", m.Name, len(v.Buckets), len(m.Buckets))
		}
	}
}

func TestLeanIsTheCallersToChange(t *testing.T) {
	catalog.Lean()[0].Buckets[0] = 99
	catalog.Lean()[0].Keep[0] = "x"
	if v := catalog.Lean()[0]; v.Buckets[0] == 99 || v.Keep[0] == "x" {
		t.Errorf("the next caller gets %+v", v)
	}
}

func TestLeanSaysHowManySeriesItLeaves(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "views.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("an origin that has had everything has %d of them in Prometheus in place of %d", catalog.SeriesPerOrigin(catalog.Lean()...), catalog.SeriesPerOrigin())
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Lean" {
			if said := strings.Join(strings.Fields(f.Doc.Text()), " "); !strings.Contains(said, want) {
				t.Errorf("the comment of Lean does not say %q", want)
			}
			return
		}
	}
	t.Error("Lean was not found")
}

func TestSeriesAreCountedByMetric(t *testing.T) {
	all := catalog.SeriesPerOrigin()
	for _, tt := range []struct {
		name  string
		view  catalog.View
		saves int
	}{
		{"a gauge that is dropped", catalog.View{Metric: catalog.BudgetTokens, Drop: true}, 1},
		{"a histogram that is dropped", catalog.View{Metric: catalog.RetryDelay, Drop: true}, 13 + 3},
		{"two bounds of 15, for each of five outcomes", catalog.View{Metric: catalog.CallDuration, Buckets: []float64{1, 2}}, 5 * 13},
		{"no bounds", catalog.View{Metric: catalog.RetryDelay, Buckets: []float64{}}, 13},
		{"8 causes, fresh or not", catalog.View{Metric: catalog.ConnRecoveries, Keep: []string{catalog.KeyFresh}}, 16 - 2},
		{"the 5 legal transitions by where they start, of which there are 3", catalog.View{Metric: catalog.BreakerTransitions, Keep: []string{catalog.KeyBreakerFrom}}, 5 - 3},
		{"an open metric by an open attribute", catalog.View{Metric: catalog.RequestDuration, Keep: []string{catalog.KeyStatus}}, 0},
		{"an open metric by three protocols", catalog.View{Metric: catalog.RequestDuration, Keep: []string{catalog.KeyProtocolVersion}}, (catalog.PerOrigin - 3) * 17},
		{"an open metric by eleven methods", catalog.View{Metric: catalog.RequestDuration, Keep: []string{catalog.KeyMethod}}, 0},
		{"an open metric by none", catalog.View{Metric: catalog.RequestDuration, Keep: []string{}}, (catalog.PerOrigin - 1) * 17},
		{"a metric of the client", catalog.View{Metric: catalog.Reloads, Drop: true}, 0},
		{"an unknown metric", catalog.View{Metric: "x", Drop: true}, 0},
	} {
		if got := all - catalog.SeriesPerOrigin(tt.view); got != tt.saves {
			t.Errorf("%s: %d series are saved, want %d", tt.name, got, tt.saves)
		}
	}
}
