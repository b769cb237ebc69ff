package views_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelmetric "go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/otelbridge/views"
)

// keys returns the keys of the attributes that the lean views leave m, and
// false if they drop it.
func keys(m catalog.Metric) ([]attribute.Key, bool) {
	var out []attribute.Key
	i := slices.IndexFunc(catalog.Lean(), func(v catalog.View) bool { return v.Metric == m.Name })
	if i < 0 {
		for _, a := range m.AllAttributes() {
			out = append(out, attribute.Key(a.Key))
		}
		return out, true
	}
	for _, k := range catalog.Lean()[i].Keep {
		out = append(out, attribute.Key(k))
	}
	return out, !catalog.Lean()[i].Drop
}

// under returns what a point becomes when bounds are left: the counts of the
// buckets between two of them are added. All of bounds must be p's.
func (p point) under(t *testing.T, bounds []float64) []uint64 {
	t.Helper()
	if p.buckets == nil {
		return nil
	}
	out := make([]uint64, len(bounds)+1)
	for i, n := range p.buckets {
		at := len(bounds)
		if i < len(p.bounds) {
			at, _ = slices.BinarySearch(bounds, p.bounds[i])
		}
		out[at] += n
	}
	for _, b := range bounds {
		if !slices.Contains(p.bounds, b) {
			t.Errorf("the bound %v is not among %v", b, p.bounds)
		}
	}
	return out
}

func TestLeanLeavesTheSumsOfWhatItTakes(t *testing.T) {
	protocols := func(h *events.Hooks) {
		for _, protocol := range catalog.ProtocolVersions() {
			request(t, h, 200, protocol, 70*time.Millisecond)
		}
	}
	all, lean := reported(t, nil, protocols), reported(t, views.Lean(), protocols)
	for _, m := range catalog.Metrics() {
		if len(all[m.Name]) == 0 {
			t.Errorf("%s is not reported at all", m.Name)
		}
		kept, stays := keys(m)
		if !stays {
			if lean[m.Name] != nil {
				t.Errorf("%s is there, want it dropped", m.Name)
			}
			continue
		}
		merged := map[attribute.Distinct]point{}
		for _, p := range all[m.Name] {
			set, _ := p.attrs.Filter(attribute.NewAllowKeysFilter(kept...))
			sum := merged[set.Equivalent()]
			sum.attrs, sum.value, sum.count = set, sum.value+p.value, sum.count+p.count
			sum.bounds = p.bounds
			for i, n := range p.buckets {
				if sum.buckets == nil {
					sum.buckets = make([]uint64, len(p.buckets))
				}
				sum.buckets[i] += n
			}
			merged[set.Equivalent()] = sum
		}
		if len(lean[m.Name]) != len(merged) {
			t.Errorf("%s has %d series, want %d", m.Name, len(lean[m.Name]), len(merged))
		}
		for _, p := range lean[m.Name] {
			want, ok := merged[p.attrs.Equivalent()]
			if !ok || math.Abs(p.value-want.value) > 1e-6*math.Abs(want.value) || p.count != want.count {
				t.Errorf("%s has %v of %v, %d with %v; want %v, %d", m.Name, p.value, p.attrs.ToSlice(), p.count, ok, want.value, want.count)
			}
			if got := want.under(t, p.bounds); !slices.Equal(got, p.buckets) {
				t.Errorf("%s counts %v below %v, want %v", m.Name, p.buckets, p.bounds, got)
			}
		}
	}
}

func TestLeanSetsTheBoundsThatTheCatalogueSays(t *testing.T) {
	lean, coarser := reported(t, views.Lean()), 0
	for _, v := range catalog.Lean() {
		if v.Buckets == nil {
			continue
		}
		coarser++
		for _, p := range lean[v.Metric] {
			if !slices.Equal(p.bounds, v.Buckets) {
				t.Errorf("%s has the bounds %v, want %v", v.Metric, p.bounds, v.Buckets)
			}
			if slices.Contains(p.buckets, 0) {
				t.Errorf("%s counts %v: a bucket that no value falls into shows nothing", v.Metric, p.buckets)
			}
		}
	}
	if coarser != 5 {
		t.Errorf("%d histograms have other bounds, want 5", coarser)
	}
}

func TestAnOriginHasAsManySeriesAsItSays(t *testing.T) {
	for _, tt := range []struct {
		name  string
		views []sdkmetric.View
		want  int
	}{
		{"without views", nil, catalog.SeriesPerOrigin()},
		{"lean", views.Lean(), catalog.SeriesPerOrigin(catalog.Lean()...)},
	} {
		got := 0
		for name, ps := range reported(t, tt.views) {
			if m, _ := catalog.Lookup(name); m.Scope == catalog.OfClient {
				continue
			}
			for _, p := range ps {
				got += p.series()
			}
		}
		if got != tt.want {
			t.Errorf("%s: an origin has %d series, want %d", tt.name, got, tt.want)
		}
	}
}

// Other libraries report metrics of the same name, such as otelhttp its
// http.client.request.duration.
func TestMetricsOfOtherScopesAreUntouched(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(views.Lean()...))
	for _, scope := range []string{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", otelbridge.ScopeName + "/more"} {
		meter := provider.Meter(scope)
		for _, v := range catalog.Lean() {
			m, _ := catalog.Lookup(v.Metric)
			var all []attribute.KeyValue
			for _, a := range m.AllAttributes() {
				all = append(all, attribute.String(a.Key, "x"))
			}
			if m.Kind == catalog.Histogram {
				h, err := meter.Float64Histogram(m.Name, otelmetric.WithExplicitBucketBoundaries(m.Buckets...))
				if err != nil {
					t.Fatal(err)
				}
				h.Record(t.Context(), 1, otelmetric.WithAttributes(all...))
				continue
			}
			c, err := meter.Int64Counter(m.Name)
			if err != nil {
				t.Fatal(err)
			}
			c.Add(t.Context(), 1, otelmetric.WithAttributes(all...))
		}
		for _, v := range catalog.Lean() {
			m, _ := catalog.Lookup(v.Metric)
			ps := collect(t, reader)[scope][v.Metric]
			if len(ps) != 1 || ps[0].attrs.Len() != len(m.AllAttributes()) || !slices.Equal(ps[0].bounds, m.Buckets) {
				t.Errorf("%s of %s is %+v, want all its attributes and buckets", v.Metric, scope, ps)
			}
		}
	}
}

func TestLeanPassesTheChecksOfAChoiceOfOnesOwn(t *testing.T) {
	got, err := views.Of(catalog.Lean()...)
	if err != nil || len(got) != len(catalog.Lean()) {
		t.Errorf("%d views, %v; want %d", len(got), err, len(catalog.Lean()))
	}
}
