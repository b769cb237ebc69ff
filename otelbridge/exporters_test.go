package otelbridge_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// troubled is an exporter of spans and metrics whose backend is in trouble:
// what is exported waits for trouble and gets its error.
type troubled struct {
	trouble func(context.Context) error
	asked   *atomic.Int64
}

func (e troubled) export(ctx context.Context) error {
	e.asked.Add(1)
	return e.trouble(ctx)
}

func (troubled) Shutdown(context.Context) error   { return nil }
func (troubled) ForceFlush(context.Context) error { return nil }

type troubledSpans struct{ troubled }

func (e troubledSpans) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	return e.export(ctx)
}

type troubledMetrics struct{ troubled }

func (e troubledMetrics) Export(ctx context.Context, _ *metricdata.ResourceMetrics) error {
	return e.export(ctx)
}

func (troubledMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (troubledMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// The bubble's end shows that nothing leaks: a goroutine that stays behind in it
// fails the test.
func TestCallsGoOnWhereTelemetryCannotLeave(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // the SDK would log each failed export
	broken := errors.New("no backend")
	for name, trouble := range map[string]func(ctx context.Context, released <-chan struct{}) error{
		"a broken exporter":                    func(context.Context, <-chan struct{}) error { return broken },
		"a blocked collector":                  func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return ctx.Err() },
		"a collector that is blocked for good": func(_ context.Context, released <-chan struct{}) error { <-released; return broken },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				var asked atomic.Int64
				e := troubled{func(ctx context.Context) error { return trouble(ctx, released) }, &asked}
				r := newRig(t)
				r.tracer = sdktrace.NewTracerProvider(sdktrace.WithBatcher(troubledSpans{e}, sdktrace.WithMaxQueueSize(64), sdktrace.WithMaxExportBatchSize(16)))
				r.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(troubledMetrics{e}, sdkmetric.WithInterval(time.Second))))
				t.Cleanup(func() {
					close(released)
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					_ = errors.Join(r.tracer.Shutdown(ctx), r.meter.Shutdown(ctx)) // what becomes of the backlog is the SDK's matter
					wait(time.Hour)                                                // the SDK's own limits pass
				})
				d := drive(t, r, faultserver.H1, client.Config{})
				d.want(t.Context(), 200)
				wait(10 * time.Second) // both have something to export, and begin
				if asked.Load() < 2 {
					t.Fatalf("the exporters were asked %d times: there is no trouble", asked.Load())
				}
				began := time.Now()
				for range 300 { // more spans than the queue holds
					d.want(t.Context(), 200)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the calls waited %v for the telemetry", took)
				}
				synctest.Wait()
				s := d.client.Stats()
				if s.Pool.Active != 0 || s.Pool.Open != 1 || len(s.Budget) != 1 {
					t.Errorf("left behind: %+v", s)
				}
				for partition, l := range s.Budget {
					if l.Reserved != 0 {
						t.Errorf("%s still has %d tokens reserved", partition, l.Reserved)
					}
				}
			})
		})
	}
}
