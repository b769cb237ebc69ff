package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// Interval is how often metrics are exported.
const Interval = time.Second

// Service and Instance identify the demonstration; Prometheus has them as the
// labels job and instance.
const (
	Service  = "shop"
	Instance = "demo-1"
)

// Config says where telemetry goes.
type Config struct {
	// Endpoint is a collector's OTLP receiver for gRPC without TLS, as
	// host:port.
	Endpoint string
	// History is another one, for the metrics before Live; "": there are none
	// before.
	History string
	// Scrape makes Metrics.
	Scrape bool
}

// Providers are the SDK's, with their exporters.
type Providers struct {
	Metrics http.Handler // what a Prometheus can scrape; nil without Config.Scrape

	tracer *sdktrace.TracerProvider
	meter  *sdkmetric.MeterProvider
	split  *split

	endpoint string
}

// New connects to nobody yet: exporters do that when they have something.
func New(ctx context.Context, cfg Config) (*Providers, error) {
	res := resource.NewSchemaless(
		attribute.String("service.name", Service),
		attribute.String("service.instance.id", Instance))
	p := &Providers{split: &split{}, endpoint: cfg.Endpoint}
	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(cfg.Endpoint), otlptracegrpc.WithInsecure())
	if err != nil {
		return nil, fmt.Errorf("telemetry: spans to %s: %w", cfg.Endpoint, err)
	}
	p.tracer = sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(spans, sdktrace.WithBatchTimeout(Interval/2)))
	if p.split.live, err = exporter(ctx, cfg.Endpoint); err != nil {
		return nil, errors.Join(err, p.tracer.Shutdown(ctx))
	}
	if cfg.History != "" {
		if p.split.history, err = exporter(ctx, cfg.History); err != nil {
			return nil, errors.Join(err, p.split.live.Shutdown(ctx), p.tracer.Shutdown(ctx))
		}
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(
		sdkmetric.NewPeriodicReader(p.split, sdkmetric.WithInterval(Interval), sdkmetric.WithTimeout(10*time.Second)))}
	if cfg.Scrape {
		registry := prometheus.NewRegistry()
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry),
			otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("telemetry: metrics to scrape: %w", err), p.split.Shutdown(ctx), p.tracer.Shutdown(ctx))
		}
		options = append(options, sdkmetric.WithReader(reader))
		p.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	}
	p.meter = sdkmetric.NewMeterProvider(options...)
	return p, nil
}

func exporter(ctx context.Context, endpoint string) (sdkmetric.Exporter, error) {
	e, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(endpoint), otlpmetricgrpc.WithInsecure())
	if err != nil {
		return nil, fmt.Errorf("telemetry: metrics to %s: %w", endpoint, err)
	}
	return e, nil
}

// Bridge returns the configuration of a client that reports here.
func (p *Providers) Bridge() otelbridge.Config {
	return otelbridge.Config{TracerProvider: p.tracer, MeterProvider: p.meter, Propagator: propagation.TraceContext{}}
}

// Step exports the metrics now and returns when the collector has them.
func (p *Providers) Step(ctx context.Context) error {
	p.split.step.Store(true)
	defer p.split.step.Store(false)
	if err := p.meter.ForceFlush(ctx); err != nil {
		return fmt.Errorf("telemetry: exporting metrics: %w", err)
	}
	return nil
}

// Live ends the history: from now on metrics leave by themselves.
func (p *Providers) Live() { p.split.alive.Store(true) }

// Close exports what is left, for at most ten seconds.
func (p *Providers) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(p.tracer.Shutdown(ctx), p.meter.Shutdown(ctx)); err != nil {
		return fmt.Errorf("telemetry: the last could not be sent to %s: %w", p.endpoint, err)
	}
	return nil
}

// split is an exporter with a way for the history and one for what comes
// after it.
type split struct {
	live    sdkmetric.Exporter
	history sdkmetric.Exporter // nil: none
	alive   atomic.Bool
	step    atomic.Bool // an export is asked for, not the reader's own
}

func (s *split) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return s.live.Temporality(k)
}

func (s *split) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return s.live.Aggregation(k)
}

func (s *split) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	switch {
	case s.alive.Load():
		return s.live.Export(ctx, m)
	case s.history != nil && s.step.Load():
		return s.history.Export(ctx, m)
	}
	return nil // the next step tells it
}

func (s *split) ForceFlush(ctx context.Context) error {
	if s.history == nil {
		return s.live.ForceFlush(ctx)
	}
	return errors.Join(s.live.ForceFlush(ctx), s.history.ForceFlush(ctx))
}

func (s *split) Shutdown(ctx context.Context) error {
	if s.history == nil {
		return s.live.Shutdown(ctx)
	}
	return errors.Join(s.live.Shutdown(ctx), s.history.Shutdown(ctx))
}
