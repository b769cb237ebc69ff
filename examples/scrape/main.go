package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/story"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9464", "`ADDRESS` of /metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(ctx, l, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scrape:", err)
		os.Exit(1)
	}
}

// run serves the metrics on l and sends requests until ctx ends.
func run(ctx context.Context, l net.Listener, out io.Writer) error {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return err
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	c, err := client.New(client.Config{Name: "shop", Telemetry: otelbridge.Config{MeterProvider: meters}})
	if err != nil {
		return err
	}
	upstream, err := story.ListenUpstream("orders", 1)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	upstream.Set(story.Trouble{FailRate: 0.2})

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Fprintf(out, "metrics: http://%s/metrics\n", l.Addr())

	load := &story.Load{Client: c.Client, URL: upstream.URL(), Every: 100 * time.Millisecond}
	load.Run(ctx) // until ctx ends

	err = server.Close()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, c.Close(), upstream.Close(), meters.Shutdown(context.WithoutCancel(ctx)))
}
