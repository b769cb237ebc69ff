package otelbridge_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// dropping is an exporter that drops.
type dropping struct{}

func (dropping) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (dropping) Shutdown(context.Context) error                             { return nil }

// BenchmarkHooks is the cost of telemetry for a healthy call of one attempt:
// without a connection pool, and with one.
func BenchmarkHooks(b *testing.B) {
	meter := func() *sdkmetric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	for _, bb := range []struct {
		name string
		cfg  otelbridge.Config
	}{
		{"no-op", otelbridge.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}},
		{"metrics", otelbridge.Config{DisableTraces: true, MeterProvider: meter()}},
		{"unsampled", otelbridge.Config{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithBatcher(dropping{})), MeterProvider: meter(),
		}},
		{"sampled", otelbridge.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(dropping{})), MeterProvider: meter()}},
	} {
		bb.cfg.Propagator = propagation.TraceContext{}
		bridge, err := otelbridge.New(bb.cfg)
		if err != nil {
			b.Fatal(err)
		}
		for _, conns := range []bool{false, true} {
			name := bb.name + "/base"
			if conns {
				name = bb.name + "/pool"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				u, err := url.Parse("https://api.example.com:443/a/b?c=d")
				if err != nil {
					b.Fatal(err)
				}
				h, bg := bridge.Hooks(), context.Background()
				for b.Loop() {
					healthy(bg, h, events.URLOf(u), conns)
				}
			})
		}
		if err := bridge.Close(); err != nil {
			b.Error(err)
		}
	}
}

// healthy is what a client emits for one healthy call.
func healthy(bg context.Context, h *events.Hooks, u events.URL, conns bool) {
	ctx := bg
	if h.CallStarted != nil {
		ctx = orSame(bg, h.CallStarted(bg, events.CallStarted{Meta: meta, Method: http.MethodGet, URL: u}))
	}
	inner := orSame(ctx, h.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1, Method: http.MethodGet, URL: u, Header: http.Header{}}))
	if conns && h.ConnAcquired != nil {
		h.ConnAcquired(inner, events.ConnAcquired{Meta: meta, Conn: 1, Protocol: "1.1", Reused: true, Age: time.Second})
	}
	if h.AttemptDone != nil {
		h.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Status: 200, Protocol: "1.1", Duration: time.Millisecond})
	}
	if conns && h.ConnReleased != nil {
		h.ConnReleased(inner, events.ConnReleased{Meta: meta, Conn: 1, Age: time.Second})
	}
	if h.CallDone != nil {
		h.CallDone(ctx, events.CallDone{Meta: meta, Method: http.MethodGet, Outcome: events.OutcomeOK, Attempts: 1, Status: 200, Duration: time.Millisecond})
	}
}
