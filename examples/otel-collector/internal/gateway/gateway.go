package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/otelcol"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

//go:embed collector.yaml
var configuration []byte

// Gateway is a running collector.
type Gateway struct {
	// OTLP and History are the receivers for gRPC, as host:port: the second is
	// for metrics and answers when the exporter has them.
	OTLP, History string
	// Metrics is the Prometheus exporter's URL.
	Metrics string

	collector *otelcol.Collector
	ended     chan error // of the collector's Run
}

// tries is how often Start looks for free ports: another process may take one
// between finding and using it.
const tries = 3

// Start runs a collector on free ports of loopback; spans are handed to spans
// and log gets its warnings. Close must be called.
func Start(ctx context.Context, spans Spans, log zapcore.Core) (*Gateway, error) {
	var err error
	for range tries {
		var g *Gateway
		if g, err = start(ctx, spans, zap.New(log)); err == nil {
			return g, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func start(ctx context.Context, spans Spans, log *zap.Logger) (*Gateway, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	g := &Gateway{OTLP: ports[0], History: ports[1], Metrics: "http://" + ports[2] + "/metrics", ended: make(chan error, 1)}
	g.collector, err = otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.BuildInfo{Command: "otel-collector", Description: "the collector inside plimsoll's demonstration", Version: "0.165.0"},
		Factories:               func() (otelcol.Factories, error) { return Factories(spans, log) },
		DisableGracefulShutdown: true,
		SkipSettingGRPCLogger:   true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"file:collector.yaml", "set:" +
				"receivers::otlp::protocols::grpc::endpoint: " + g.OTLP + "\n" +
				"receivers::otlp/history::protocols::grpc::endpoint: " + g.History + "\n" +
				"exporters::prometheus::endpoint: " + ports[2] + "\n"},
			ProviderFactories: []confmap.ProviderFactory{
				Provider("file", func(string) ([]byte, error) { return configuration, nil }),
				Provider("set", func(s string) ([]byte, error) { return []byte(s), nil }),
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	go func() { g.ended <- g.collector.Run(context.WithoutCancel(ctx)) }()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for g.collector.GetState() != otelcol.StateRunning {
		select {
		case err := <-g.ended:
			return nil, fmt.Errorf("gateway: the collector did not start: %w", err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), g.Close())
		case <-poll.C:
		}
	}
	return g, nil
}

// Close shuts the collector down in order: what it has received is exported.
func (g *Gateway) Close() error {
	g.collector.Shutdown()
	if err := <-g.ended; err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("gateway: no free port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().String())
	}
	return ports, nil
}

// Provider makes the collector's configuration come from get, which is given
// what stands after "scheme:".
func Provider(scheme string, get func(string) ([]byte, error)) confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider {
		return provider{scheme, get}
	})
}

type provider struct {
	scheme string
	get    func(string) ([]byte, error)
}

func (p provider) Scheme() string                 { return p.scheme }
func (p provider) Shutdown(context.Context) error { return nil }

func (p provider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	data, err := p.get(uri[len(p.scheme)+1:])
	if err != nil {
		return nil, err
	}
	return confmap.NewRetrievedFromYAML(data)
}
