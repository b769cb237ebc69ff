package export

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// OTLP sets global providers that push spans and metrics to the collector at
// endpoint, such as "http://localhost:4318"; "" means what the variables
// OTEL_EXPORTER_OTLP_* say. Clients need no configuration for it, whether they
// are made before or after. Call shutdown at the end of the program: it sends
// what is pending.
func OTLP(ctx context.Context, endpoint string) (shutdown func(context.Context) error, err error) {
	var toTraces []otlptracehttp.Option
	var toMetrics []otlpmetrichttp.Option
	if endpoint != "" {
		toTraces = append(toTraces, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
		toMetrics = append(toMetrics, otlpmetrichttp.WithEndpointURL(endpoint+"/v1/metrics"))
	}
	spans, err := otlptracehttp.New(ctx, toTraces...)
	if err != nil {
		return nil, err
	}
	metrics, err := otlpmetrichttp.New(ctx, toMetrics...)
	if err != nil {
		return nil, errors.Join(err, spans.Shutdown(ctx))
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics))) // once a minute
	otel.SetTracerProvider(tracers)
	otel.SetMeterProvider(meters)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return func(ctx context.Context) error {
		return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx))
	}, nil
}
