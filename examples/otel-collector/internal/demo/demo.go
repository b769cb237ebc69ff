package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/gateway"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/promdb"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/telemetry"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/traces"
)

// Interval is how often metrics are exported and scraped and rules evaluated.
const Interval = telemetry.Interval

// Config describes a Demo.
type Config struct {
	// Endpoint is a collector's OTLP receiver for gRPC without TLS, as
	// host:port; "": one inside the process.
	Endpoint string
	// Store is where the breaker's gates live; nil: in this process.
	Store breaker.Store
	// OrdersAddr is an orders service to call instead of the own one, as
	// host:port; "": the own one.
	OrdersAddr string
	// Seed makes the upstreams' failures repeatable.
	Seed uint64
	// Log gets warnings of the collector and of Prometheus, a line of JSON each;
	// nil: they are dropped.
	Log io.Writer
}

// Demo is everything between the client and the page. Close must be called.
type Demo struct {
	Stage  *stage.Stage
	DB     *promdb.DB
	Traces *traces.Store // nil with a collector outside
	Boards []dashboards.File

	telemetry *telemetry.Providers
	gateway   *gateway.Gateway // nil with a collector outside
	metrics   *http.Server     // what is scraped without a gateway; nil with one
	served    chan struct{}    // closed when metrics has ended
	target    promdb.Target

	seconds int                       // made by Backfill and Step
	made    atomic.Pointer[time.Time] // of the last of them; nil: time passes by itself
}

// Start starts all parts. There are no calls before Backfill or Run.
func Start(ctx context.Context, cfg Config) (*Demo, error) {
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	d := &Demo{target: promdb.Target{Job: telemetry.Service, Instance: telemetry.Instance}}
	if err := d.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, cfg Config) error {
	set, err := dashboards.New(dashboards.Options{ScrapeInterval: Interval})
	if err != nil {
		return err
	}
	if d.Boards, err = set.DashboardFiles(); err != nil {
		return err
	}
	files, err := set.RuleFiles()
	if err != nil {
		return err
	}
	var rules []promdb.Rules
	for _, f := range files {
		if f.Name == "plimsoll-alerts.yaml" || f.Name == "plimsoll-recordings.yaml" {
			rules = append(rules, promdb.Rules(f))
		}
	}
	if d.DB, err = promdb.Open(rules, Interval, slog.New(slog.NewJSONHandler(cfg.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))); err != nil {
		return err
	}
	to := telemetry.Config{Endpoint: cfg.Endpoint, Scrape: cfg.Endpoint != ""}
	if cfg.Endpoint == "" {
		d.Traces = traces.NewStore()
		if d.gateway, err = gateway.Start(ctx, d.Traces, warnings(cfg.Log)); err != nil {
			return err
		}
		to.Endpoint, to.History, d.target.URL = d.gateway.OTLP, d.gateway.History, d.gateway.Metrics
	}
	if d.telemetry, err = telemetry.New(ctx, to); err != nil {
		return err
	}
	if to.Scrape {
		if err := d.serveMetrics(); err != nil {
			return err
		}
	}
	d.Stage, err = stage.New(stage.Config{Telemetry: d.telemetry.Bridge(), Store: cfg.Store, OrdersAddr: cfg.OrdersAddr, Seed: cfg.Seed})
	return err
}

func warnings(w io.Writer) zapcore.Core {
	return zapcore.NewCore(
		zapcore.NewJSONEncoder(zapcore.EncoderConfig{TimeKey: "time", LevelKey: "level", MessageKey: "msg", NameKey: "logger",
			EncodeTime: zapcore.RFC3339TimeEncoder, EncodeLevel: zapcore.CapitalLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder}),
		zapcore.Lock(zapcore.AddSync(w)), zapcore.WarnLevel)
}

// serveMetrics shows the SDK's metrics to the Prometheus inside.
func (d *Demo) serveMetrics() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.target.URL = "http://" + l.Addr().String() + "/metrics"
	d.metrics = &http.Server{Handler: d.telemetry.Metrics, ReadHeaderTimeout: 10 * time.Second}
	d.served = make(chan struct{})
	go func() {
		defer close(d.served)
		_ = d.metrics.Serve(l) // http.ErrServerClosed
	}()
	return nil
}

// Run sends the load and watches until ctx ends.
func (d *Demo) Run(ctx context.Context) error {
	d.made.Store(nil)
	d.telemetry.Live()
	if err := d.DB.Scrape(d.target); err != nil {
		return err
	}
	d.Stage.Run(ctx)
	return nil
}

// Close ends all parts, after Run has returned.
func (d *Demo) Close() error {
	var err error
	if d.Stage != nil {
		err = d.Stage.Close()
	}
	if d.telemetry != nil {
		err = errors.Join(err, d.telemetry.Close())
	}
	if d.DB != nil {
		err = errors.Join(err, d.DB.Close())
	}
	if d.metrics != nil {
		err = errors.Join(err, d.metrics.Close())
		<-d.served
	}
	if d.gateway != nil {
		err = errors.Join(err, d.gateway.Close())
	}
	return err
}
