package views_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/otelbridge/views"
)

func TestAViewThatWouldNotDoWhatItSaysIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		view catalog.View
		want []string
	}{
		{"unknown metric", catalog.View{Metric: "http.client.request.durations", Drop: true}, []string{`View.Metric is "http.client.request.durations"`, "take a name"}},
		{"wildcard", catalog.View{Metric: "plimsoll.*", Drop: true}, []string{`"plimsoll.*"`, "not in the catalogue"}},
		{"no name", catalog.View{Drop: true}, []string{`View.Metric is ""`}},
		{"no change", catalog.View{Metric: catalog.CallDuration}, []string{catalog.CallDuration, "changes nothing"}},
		{"drop and keep", catalog.View{Metric: catalog.ConnStale, Drop: true, Keep: []string{}}, []string{catalog.ConnStale, "View.Drop", "View.Keep"}},
		{"drop and buckets", catalog.View{Metric: catalog.CallDuration, Drop: true, Buckets: []float64{1}}, []string{catalog.CallDuration, "View.Drop", "View.Buckets"}},
		{"unknown attribute", catalog.View{Metric: catalog.ConnStale, Keep: []string{"cause"}}, []string{catalog.ConnStale, `"cause"`, `"plimsoll.cause"`}},
		{"attribute of a gauge", catalog.View{Metric: catalog.BreakerState, Keep: []string{catalog.KeyClient}}, []string{catalog.BreakerState, "gauge cannot be added"}},
		{"buckets of a counter", catalog.View{Metric: catalog.ConnStale, Buckets: []float64{1}}, []string{catalog.ConnStale, "View.Buckets", "[1]", "counter"}},
		{"falling buckets", catalog.View{Metric: catalog.CallDuration, Buckets: []float64{1, 5, 2}}, []string{catalog.CallDuration, "View.Buckets[2]", "is 2", "the 5 before"}},
		{"equal buckets", catalog.View{Metric: catalog.CallDuration, Buckets: []float64{1, 1}}, []string{"View.Buckets[1]", "is 1"}},
		{"not a number", catalog.View{Metric: catalog.CallDuration, Buckets: []float64{math.NaN()}}, []string{"View.Buckets[0]", "NaN"}},
		{"infinite bucket", catalog.View{Metric: catalog.CallDuration, Buckets: []float64{1, math.Inf(1)}}, []string{"View.Buckets[1]", "+Inf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := views.Of(catalog.View{Metric: catalog.StreamEvents, Drop: true}, tt.view)
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), "views: ") {
				t.Fatalf("%d views and the error %v, want an error alone", len(got), err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %q, want it to say %q", err, want)
				}
			}
		})
	}
}

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	drop := catalog.View{Metric: catalog.ConnStale, Drop: true}
	_, err := views.Of(drop, catalog.View{Metric: "a"}, drop, catalog.View{Metric: "b"})
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, want := range []string{`"a"`, `"b"`, catalog.ConnStale + " has two views"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want it to say %q", err, want)
		}
	}
}

func TestNoViewsAreNoMistake(t *testing.T) {
	if got, err := views.Of(); err != nil || len(got) != 0 {
		t.Errorf("%d views, %v; want none", len(got), err)
	}
}

func TestAChoiceOfOnesOwnIsApplied(t *testing.T) {
	bounds := []float64{0.3, 3}
	got, err := views.Of(
		catalog.View{Metric: catalog.ConnRecoveries, Keep: []string{}},
		catalog.View{Metric: catalog.OpenConnections, Keep: []string{catalog.KeyClient}},
		catalog.View{Metric: catalog.CallDuration, Buckets: bounds},
		catalog.View{Metric: catalog.RetryDelay, Buckets: []float64{}},
		catalog.View{Metric: catalog.RetrySkipped, Drop: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	bounds[0] = 1 // the caller's, whom a view must not follow
	all, own := reported(t, nil), reported(t, got)
	if ps := own[catalog.ConnRecoveries]; len(ps) != 1 || ps[0].attrs.Len() != 0 || ps[0].value != total(all[catalog.ConnRecoveries]) {
		t.Errorf("recoveries are %+v, want one series without attributes", ps)
	}
	if ps := own[catalog.OpenConnections]; len(ps) != 1 || ps[0].attrs.Len() != 1 || ps[0].value != 5 {
		t.Errorf("open connections are %+v, want the idle and the active ones added up", ps)
	}
	for _, p := range own[catalog.CallDuration] {
		if !slices.Equal(p.bounds, []float64{0.3, 3}) || p.attrs.Len() != 4 {
			t.Errorf("calls have the bounds %v and %v, want 0.3 and 3 and all attributes", p.bounds, p.attrs.ToSlice())
		}
	}
	if ps := own[catalog.RetryDelay]; len(ps) != 1 || len(ps[0].bounds) != 0 || ps[0].count != all[catalog.RetryDelay][0].count || ps[0].value == 0 {
		t.Errorf("the delays are %+v, want number and sum alone", ps)
	}
	if ps := own[catalog.RetrySkipped]; ps != nil {
		t.Errorf("skips are %+v, want them dropped", ps)
	}
	if len(own) != len(all)-1 {
		t.Errorf("%d metrics, want all %d but the dropped one", len(own), len(all))
	}
}

func total(ps []point) float64 {
	sum := 0.0
	for _, p := range ps {
		sum += p.value
	}
	return sum
}
