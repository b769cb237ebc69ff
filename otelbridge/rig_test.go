package otelbridge_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// rig is a bridge over the SDK, in memory.
type rig struct {
	t      testing.TB
	bridge *otelbridge.Bridge
	hooks  *events.Hooks
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	tracer *sdktrace.TracerProvider
	meter  *sdkmetric.MeterProvider
}

const origin = "https://api.example.com:443"

var meta = events.Meta{Client: "shop", Origin: origin, Partition: origin, Call: 1}

func newRig(t testing.TB, change ...func(*otelbridge.Config)) *rig {
	t.Helper()
	r := &rig{t: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	r.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	cfg := otelbridge.Config{
		TracerProvider: r.tracer,
		MeterProvider:  r.meter,
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if r.bridge, err = otelbridge.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.bridge.Close(); err != nil {
			t.Error(err)
		}
	})
	r.hooks = r.bridge.Hooks()
	return r
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// callStarted begins a call as a client does.
func (r *rig) callStarted(ctx context.Context) context.Context {
	return orSame(ctx, r.hooks.CallStarted(ctx, events.CallStarted{Meta: meta, Method: http.MethodGet, URL: events.URLOf(mustURL(r.t, origin+"/a"))}))
}

// attemptStarted begins an attempt as a client does.
func (r *rig) attemptStarted(ctx context.Context, n int, change ...func(*events.AttemptStarted)) (context.Context, http.Header) {
	e := events.AttemptStarted{
		Meta: meta, Attempt: n, Resend: n - 1, Method: http.MethodGet,
		URL: events.URLOf(mustURL(r.t, origin+"/a")), Header: http.Header{},
	}
	for _, f := range change {
		f(&e)
	}
	return orSame(ctx, r.hooks.AttemptStarted(ctx, e)), e.Header
}

func orSame(ctx, inner context.Context) context.Context {
	if inner == nil {
		return ctx
	}
	return inner
}

// call runs one call of one attempt that ends with status.
func (r *rig) call(m events.Meta, status int) {
	ctx := orSame(r.t.Context(), r.hooks.CallStarted(r.t.Context(), events.CallStarted{Meta: m, Method: http.MethodGet}))
	inner := orSame(ctx, r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet}))
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: status, Protocol: "1.1", Duration: time.Millisecond})
	r.hooks.CallDone(ctx, events.CallDone{Meta: m, Method: http.MethodGet, Outcome: events.OutcomeOK, Attempts: 1, Status: status, Duration: time.Millisecond})
}

// span returns the only exported span of that name.
func (r *rig) span(name string) tracetest.SpanStub {
	r.t.Helper()
	var found []tracetest.SpanStub
	var names []string
	for _, s := range r.spans.GetSpans() {
		names = append(names, s.Name)
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d spans named %q among %q, want 1", len(found), name, names)
	}
	return found[0]
}

// collect returns all metrics by name.
func (r *rig) collect() map[string]metricdata.Metrics {
	r.t.Helper()
	return collect(r.t, r.reader)
}

func collect(t testing.TB, reader *sdkmetric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]metricdata.Metrics{}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if _, twice := out[m.Name]; twice {
				t.Errorf("metric %s is there twice", m.Name)
			}
			out[m.Name] = m
		}
	}
	return out
}

// point is one series of a metric.
type point struct {
	attrs     attribute.Set
	value     float64 // the sum of a histogram
	count     uint64  // of a histogram
	exemplars int
}

// points flattens a metric of any kind.
func points(t testing.TB, m metricdata.Metrics) []point {
	t.Helper()
	var out []point
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			out = append(out, point{attrs: p.Attributes, value: float64(p.Value), exemplars: len(p.Exemplars)})
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			out = append(out, point{attrs: p.Attributes, value: float64(p.Value)})
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			out = append(out, point{attrs: p.Attributes, value: p.Value})
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			out = append(out, point{attrs: p.Attributes, value: p.Sum, count: p.Count, exemplars: len(p.Exemplars)})
		}
	case nil:
	default:
		t.Fatalf("%s has data of type %T", m.Name, m.Data)
	}
	return out
}

// at returns the series of the metric whose attributes include all of want.
func (r *rig) at(name string, want ...attribute.KeyValue) []point {
	r.t.Helper()
	var out []point
	for _, p := range points(r.t, r.collect()[name]) {
		if includes(p.attrs, want) {
			out = append(out, p)
		}
	}
	return out
}

func includes(set attribute.Set, want []attribute.KeyValue) bool {
	for _, kv := range want {
		if v, ok := set.Value(kv.Key); !ok || v != kv.Value {
			return false
		}
	}
	return true
}

// value returns the value of the only series with those attributes.
func (r *rig) value(name string, want ...attribute.KeyValue) float64 {
	r.t.Helper()
	ps := r.at(name, want...)
	if len(ps) != 1 {
		r.t.Fatalf("%s has %d series with %v, want 1", name, len(ps), want)
	}
	return ps[0].value
}

// attr returns an attribute of a list as text, "" if it is not there.
func attr(kvs []attribute.KeyValue, key string) string {
	for _, kv := range kvs {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}
