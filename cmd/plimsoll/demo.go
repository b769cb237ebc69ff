package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/story"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// Bounds of plimsoll demo -duration, and how often the view is drawn.
const (
	shortestDemo = 5 * time.Second
	longestDemo  = time.Hour
	redrawEvery  = 200 * time.Millisecond
	lineEvery    = time.Second
)

func demoFlags(f *flagSet) func(context.Context, []string, streams) error {
	duration := f.Duration("duration", 40*time.Second, "`LENGTH` of the whole story; 40s unless given")
	plain := f.Bool("plain", false, "one line a second instead of a live view, as in a pipe")
	seed := f.Uint64("seed", 1, "`NUMBER` that the upstream's failures are drawn from; 1 unless given")
	return func(ctx context.Context, _ []string, std streams) error {
		if *duration < shortestDemo || *duration > longestDemo {
			return usagef("--duration is %v: use %v to %v", *duration, shortestDemo, longestDemo)
		}
		d, err := newDemo(*seed)
		if err != nil {
			return err
		}
		// A live view needs a terminal that heeds escape sequences.
		live := !*plain && isTerminal(std.out, std.env) && newScreen(std.out, "always", std.env).color
		err = d.play(ctx, *duration, newView(std.out, live, newScreen(std.out, "auto", std.env)))
		if closeErr := d.close(); err == nil {
			err = closeErr
		}
		return err
	}
}

// demo is the instrumented client between two real upstreams and the
// OpenTelemetry SDK, from whose metrics everything on the screen is read.
type demo struct {
	client *client.Client
	budget *budget.Bucket
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
	tracer *sdktrace.TracerProvider
	spans  *spanCount
	actors []*actor
}

// actor is one upstream with the load on it.
type actor struct {
	upstream *story.Upstream
	load     *story.Load
}

func newDemo(seed uint64) (*demo, error) {
	d := &demo{reader: sdkmetric.NewManualReader(), spans: &spanCount{}}
	d.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(d.reader))
	d.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(d.spans))
	var err error
	if d.budget, err = budget.New(budget.Default()); err != nil {
		return nil, err
	}
	d.client, err = client.New(client.Config{Name: "demo", Budget: d.budget, Telemetry: otelbridge.Config{
		TracerProvider: d.tracer, MeterProvider: d.meters, Propagator: propagation.TraceContext{},
	}})
	if err != nil {
		return nil, err
	}
	for i, a := range []struct {
		name  string
		every time.Duration
	}{{"orders", 25 * time.Millisecond}, {"search", 100 * time.Millisecond}} {
		u, err := story.ListenUpstream(a.name, seed+uint64(i))
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
		d.actors = append(d.actors, &actor{u, &story.Load{Client: d.client.Client, URL: u.URL(), Every: a.every}})
	}
	return d, nil
}

func (d *demo) close() error {
	err := d.client.Close()
	for _, a := range d.actors {
		err = errors.Join(err, a.upstream.Close())
	}
	ctx := context.Background()
	return errors.Join(err, d.meters.Shutdown(ctx), d.tracer.Shutdown(ctx))
}

// play runs the phases on the first upstream, with load on all, and shows them.
// An interrupt ends it in order: what was measured until then is summed up.
func (d *demo) play(ctx context.Context, total time.Duration, v *view) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	for _, a := range d.actors {
		running.Go(func() { a.load.Run(ctx) })
	}
	chronicle := newChronicle(d, v, time.Now())
	phases := make(chan story.Phase)
	over := make(chan error, 1)
	running.Go(func() {
		over <- story.Run(ctx, d.actors[0].upstream, story.Phases(), total, func(p story.Phase) {
			select {
			case phases <- p:
			case <-ctx.Done():
			}
		})
	})
	tick := time.NewTicker(v.every)
	defer tick.Stop()
	for {
		select {
		case p := <-phases:
			if err := chronicle.begin(ctx, p); err != nil {
				return err
			}
		case <-tick.C:
			if err := chronicle.look(ctx); err != nil {
				return err
			}
		case err := <-over:
			stop()
			running.Wait()
			if sumErr := chronicle.sumUp(err != nil); sumErr != nil {
				return sumErr
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}

// measure reads all metrics.
func (d *demo) measure(ctx context.Context) (map[string]reading, error) {
	readings, err := readMetrics(ctx, d.reader)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}
	return readings, nil
}
