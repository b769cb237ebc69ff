package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Collector is an OpenTelemetry collector's pipeline in this process: OTLP over
// HTTP in, Prometheus's exposition out.
type Collector struct {
	parts  []component.Component // in the order of their start
	export *otlpmetrichttp.Exporter
	expose string
}

// StartCollector starts one on free ports of loopback, configured as its
// configuration file would.
func StartCollector(ctx context.Context) (*Collector, error) {
	in, out, err := freePorts()
	if err != nil {
		return nil, fmt.Errorf("proof: collector: %w", err)
	}
	c := &Collector{expose: "http://" + out + "/metrics"}
	exporters := prometheusexporter.NewFactory()
	exposing := exporters.CreateDefaultConfig()
	receivers := otlpreceiver.NewFactory()
	receiving := receivers.CreateDefaultConfig()
	err = errors.Join(
		configure(exposing, map[string]any{
			"endpoint":             out,
			"translation_strategy": "UnderscoreEscapingWithSuffixes",
		}),
		configure(receiving, map[string]any{
			"protocols": map[string]any{"http": map[string]any{"endpoint": in}},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("proof: collector: %w", err)
	}
	exporter, err := exporters.CreateMetrics(ctx, exportertest.NewNopSettings(exporters.Type()), exposing)
	if err != nil {
		return nil, fmt.Errorf("proof: collector: %w", err)
	}
	receiver, err := receivers.CreateMetrics(ctx, receivertest.NewNopSettings(receivers.Type()), receiving, exporter)
	if err != nil {
		return nil, fmt.Errorf("proof: collector: %w", err)
	}
	for _, part := range []component.Component{exporter, receiver} {
		if err := part.Start(ctx, componenttest.NewNopHost()); err != nil {
			return nil, errors.Join(fmt.Errorf("proof: collector: %w", err), c.Close(ctx))
		}
		c.parts = append(c.parts, part)
	}
	c.export, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(in), otlpmetrichttp.WithInsecure())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("proof: collector: %w", err), c.Close(ctx))
	}
	return c, nil
}

func configure(into component.Config, settings map[string]any) error {
	return confmap.NewFromStringMap(settings).Unmarshal(into)
}

// freePorts returns two addresses of loopback on which nobody listens.
func freePorts() (a, b string, err error) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer first.Close()
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer second.Close()
	return first.Addr().String(), second.Addr().String(), nil
}

// Send hands the collector what an SDK's reader collected, by OTLP.
func (c *Collector) Send(ctx context.Context, data *metricdata.ResourceMetrics) error {
	if err := c.export.Export(ctx, data); err != nil {
		return fmt.Errorf("proof: OTLP: %w", err)
	}
	return nil
}

// Scrape adds to a run what the collector exposes, as a scrape at a given time
// with honor_labels, by which the process's job and instance are kept.
func (c *Collector) Scrape(ctx context.Context, r *Run, at time.Time) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.expose, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("proof: scrape: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("proof: scrape: status %d, %w", resp.StatusCode, err)
	}
	return r.add(at, text, true)
}

// Close stops the parts in the reverse order.
func (c *Collector) Close(ctx context.Context) error {
	var errs []error
	if c.export != nil {
		errs = append(errs, c.export.Shutdown(ctx))
	}
	for _, part := range slices.Backward(c.parts) {
		errs = append(errs, part.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
