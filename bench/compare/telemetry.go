package main

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// dropping is an exporter that drops.
type dropping struct{}

func (dropping) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (dropping) Shutdown(context.Context) error                             { return nil }

// providers are what a contestant's telemetry goes to.
type providers struct {
	traces  trace.TracerProvider
	metrics metric.MeterProvider
	flush   func() // empties the queue of ended spans
}

// sdk returns the SDK as it is used: a batch processor and a metric reader.
// Only the way out of the process is missing.
func sdk(sampled bool) providers {
	sampler := sdktrace.NeverSample()
	if sampled {
		sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(dropping{}), sdktrace.WithSampler(sampler))
	return providers{
		traces, sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		func() { traces.ForceFlush(context.Background()) },
	}
}

func noop() providers {
	return providers{tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider(), func() {}}
}

func (p providers) bridge() otelbridge.Config {
	return otelbridge.Config{TracerProvider: p.traces, MeterProvider: p.metrics, Propagator: propagation.TraceContext{}}
}

func (p providers) otelhttp() []otelhttp.Option {
	return []otelhttp.Option{
		otelhttp.WithTracerProvider(p.traces), otelhttp.WithMeterProvider(p.metrics), otelhttp.WithPropagators(propagation.TraceContext{}),
	}
}
