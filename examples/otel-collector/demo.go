package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/redisstore"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/demo"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/web"
)

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	cfg := demo.Config{Endpoint: o.endpoint, OrdersAddr: o.orders, Seed: o.seed}
	// What an exporter could not send at the end is not worth a word.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	if o.verbose {
		cfg.Log = stderr
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(stderr, "opentelemetry:", err) }))
	}
	if o.redis != "" {
		store, closeStore, err := redisStore(ctx, o.redis)
		if err != nil {
			return err
		}
		defer closeStore()
		cfg.Store = store
	}
	var page net.Listener
	if !o.headless {
		if page, err = web.Listen(o.listen); err != nil {
			return usageError{err}
		}
	}
	d, err := demo.Start(ctx, cfg)
	if err != nil {
		if page != nil {
			page.Close()
		}
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if o.headless {
		return headless(ctx, d, o, stdout)
	}
	return withPage(ctx, d, o, page, stdout)
}

// redisStore connects to Redis, which must be there at the start; later it may
// come and go.
func redisStore(ctx context.Context, addr string) (breaker.Store, func(), error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	ask, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.Ping(ask).Err(); err != nil {
		c.Close()
		return nil, nil, fmt.Errorf("-redis %s: %w", addr, err)
	}
	s, err := redisstore.New(redisstore.Config{Client: c, Prefix: "plimsoll:demo:"})
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return s, func() { s.Close(); c.Close() }, nil
}

// withPage shows the page until ctx ends or the story is over.
func withPage(ctx context.Context, d *demo.Demo, o options, l net.Listener, stdout io.Writer) error {
	s, err := web.Serve(l, web.Config{Stage: d.Stage, Boards: d.Boards, API: d.DB.Handler(), Traces: d.Traces, Interval: demo.Interval})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(stdout, "The dashboards are at %s (end with Ctrl-C)\n", s.URL)
	if o.history > 0 {
		if err := d.Backfill(ctx, o.history, nil); err != nil {
			return interrupted(ctx, err)
		}
	}
	s.Ready()
	return live(ctx, d, func(ctx context.Context) error {
		if o.duration == 0 {
			<-ctx.Done()
			return nil
		}
		return d.Play(ctx, demo.Acts(), o.duration,
			func(a demo.Act) { s.Note(a.Name); fmt.Fprintf(stdout, "%s: %s\n", a.Name, a.Says) },
			func(demo.Act) (bool, error) { return false, nil })
	})
}

// headless plays the story, or watches where the upstream has its own.
func headless(ctx context.Context, d *demo.Demo, o options, stdout io.Writer) error {
	c := demo.NewChronicle(d, stdout)
	if !d.Stage.Heals() {
		return live(ctx, d, func(ctx context.Context) error { return c.Watch(ctx, o.duration) })
	}
	err := live(ctx, d, func(ctx context.Context) error {
		return d.Play(ctx, demo.Acts(), o.duration, c.Begun,
			func(a demo.Act) (bool, error) { return c.Look(ctx, a) })
	})
	if err != nil {
		return err
	}
	return c.SumUp()
}

// live runs the load beside what play does, and ends both.
func live(ctx context.Context, d *demo.Demo, play func(context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var load sync.WaitGroup
	var loadErr error
	load.Go(func() {
		defer stop()
		loadErr = d.Run(running)
	})
	err := play(running)
	stop()
	load.Wait()
	return interrupted(ctx, errors.Join(err, loadErr))
}

// interrupted returns nil for an error that an interrupt caused.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
