package views_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

const origin = "https://api.example.com:443"

var meta = events.Meta{Client: "shop", Origin: origin, Partition: origin, Call: 1}

// A point is one series at one collection.
type point struct {
	attrs   attribute.Set
	value   float64 // the sum of a histogram
	count   uint64  // of a histogram
	bounds  []float64
	buckets []uint64
}

// series returns how many series the point is in Prometheus.
func (p point) series() int {
	if p.buckets == nil {
		return 1
	}
	return len(p.buckets) + 2
}

// seen are the points of one scope, by metric.
type seen map[string][]point

// reported lets a bridge over the SDK report everything about one origin, and
// returns what a reader sees of it.
func reported(t *testing.T, views []sdkmetric.View, more ...func(h *events.Hooks)) seen {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(views...))
	bridge, err := otelbridge.New(otelbridge.Config{MeterProvider: provider, DisableTraces: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bridge.Close(); err != nil {
			t.Error(err)
		}
	})
	everything(t, bridge)
	for _, f := range more {
		f(bridge.Hooks())
	}
	return collect(t, reader)[otelbridge.ScopeName]
}

// collect returns what the reader sees, by scope.
func collect(t *testing.T, reader sdkmetric.Reader) map[string]seen {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]seen{}
	for _, scope := range rm.ScopeMetrics {
		of := seen{}
		for _, m := range scope.Metrics {
			if of[m.Name] != nil {
				t.Errorf("%s is there twice", m.Name)
			}
			of[m.Name] = points(t, m)
		}
		out[scope.Scope.Name] = of
	}
	return out
}

func points(t *testing.T, m metricdata.Metrics) []point {
	t.Helper()
	out := []point{}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			out = append(out, point{attrs: p.Attributes, value: float64(p.Value)})
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
			out = append(out, point{attrs: p.Attributes, value: p.Sum, count: p.Count, bounds: p.Bounds, buckets: p.BucketCounts})
		}
	default:
		t.Fatalf("%s has data of type %T", m.Name, m.Data)
	}
	return out
}

// spread are durations for every bucket of every histogram, a value on each
// bound and one between each two.
func spread() []time.Duration {
	var out []time.Duration
	for exponent := -5.0; exponent <= 4; exponent += 0.1 {
		out = append(out, time.Duration(math.Pow(10, exponent)*float64(time.Second)))
	}
	for _, m := range catalog.Metrics() {
		for _, bound := range m.Buckets {
			out = append(out, time.Duration(math.Round(bound*float64(time.Second))))
		}
	}
	return out
}

// everything reports all that one origin can have, each combination of a
// counter in a number of its own. Of http.client.request.duration it makes
// catalog.PerOrigin combinations.
func everything(t *testing.T, bridge *otelbridge.Bridge) {
	t.Helper()
	ctx, h := t.Context(), bridge.Hooks()
	for _, d := range spread() {
		for n := range catalog.PerOrigin {
			request(t, h, http.StatusOK+n, "1.1", d)
		}
		for _, o := range events.Outcomes() {
			h.CallDone(ctx, events.CallDone{Meta: meta, Outcome: o, Duration: d, Attempts: 1})
		}
		for _, cut := range []bool{false, true} {
			h.ThrottleWaited(ctx, events.ThrottleWaited{Meta: meta, Key: origin, Wait: d, Truncated: cut})
		}
		h.RetryArmed(ctx, events.RetryArmed{Meta: meta, Waited: d, Cause: events.CauseStatus})
		h.ConnAcquired(ctx, events.ConnAcquired{Meta: meta, Wait: d})
		h.ConnClosed(ctx, events.ConnClosed{Meta: meta, Cause: events.ConnPeer, Age: d})
	}
	times := 0
	for _, class := range catalog.ConnCauses() {
		times++
		for range times {
			h.ConnStale(ctx, events.ConnStale{Meta: meta, Class: class})
			h.ConnRecovered(ctx, events.ConnRecovered{Meta: meta, Class: class, Fresh: times%2 == 0})
		}
	}
	for i, s := range events.Settlements() {
		h.BudgetSettled(ctx, events.BudgetSettled{Meta: meta, Outcome: s, Reserved: 10, Kept: 3 + i, Refunded: 7 - i})
	}
	h.StreamClosed(ctx, events.StreamClosed{Meta: meta, Bytes: 100, Events: 10, Reason: events.StreamReasons()[0]})
	stop, err := bridge.Observe(meta.Client, otelbridge.Sources{
		Tokens: func(yield func(otelbridge.TokenLevel) bool) {
			yield(otelbridge.TokenLevel{Origin: origin, Tokens: 490, Capacity: 500})
		},
		Conns: func(yield func(otelbridge.ConnCount) bool) {
			yield(otelbridge.ConnCount{Origin: origin, Active: 2, Idle: 3, Waiting: 4})
		},
		Requests: func(yield func(otelbridge.RequestCount) bool) {
			yield(otelbridge.RequestCount{Origin: origin, Active: 5})
		},
		Breakers: func(yield func(otelbridge.BreakerLevel) bool) {
			yield(otelbridge.BreakerLevel{Origin: origin, State: events.BreakerOpen, Cooldown: time.Minute})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// request reports one attempt that got an answer.
func request(t *testing.T, h *events.Hooks, status int, protocol string, d time.Duration) {
	t.Helper()
	ctx := h.CallStarted(t.Context(), events.CallStarted{Meta: meta, Method: http.MethodGet})
	ctx = h.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1, Method: http.MethodGet})
	h.AttemptDone(ctx, events.AttemptDone{Meta: meta, Attempt: 1, Status: status, Protocol: protocol, Duration: d})
}
