package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/redisstore"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/demo"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/show"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/web"
)

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	cfg := demo.Config{Endpoint: o.endpoint, OrdersAddr: o.orders, Seed: o.seed}
	// What an exporter could not send at the end is not worth a word.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	redis.SetLogger(quiet{}) // that it is lost is a metric
	if o.verbose {
		cfg.Log = stderr
		redis.SetLogger(loud{stderr})
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
	if o.headless {
		return headless(ctx, cfg, o, stdout)
	}
	return withPage(ctx, cfg, o, stdout)
}

// quiet drops what the Redis client has to say, and loud writes it.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

type loud struct{ w io.Writer }

func (l loud) Printf(_ context.Context, format string, args ...any) {
	fmt.Fprintf(l.w, format+"\n", args...)
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
func withPage(ctx context.Context, cfg demo.Config, o options, stdout io.Writer) (err error) {
	l, err := web.Listen(o.listen)
	if err != nil {
		return usageError{err}
	}
	s, err := show.Start(ctx, l, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(stdout, "The dashboards are at %s (end with Ctrl-C)\n", s.Page.URL)
	return s.Run(ctx, o.history, func(ctx context.Context) error {
		if o.duration == 0 {
			<-ctx.Done()
			return nil
		}
		return s.Play(ctx, demo.Acts(), o.duration,
			func(a demo.Act) { s.Page.Note(a.Name); fmt.Fprintf(stdout, "%s: %s\n", a.Name, a.Says) },
			func(demo.Act) (bool, error) { return false, nil })
	})
}

// headless plays the story, or watches where the upstream has its own.
func headless(ctx context.Context, cfg demo.Config, o options, stdout io.Writer) (err error) {
	d, err := demo.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c := demo.NewChronicle(d, stdout)
	if !d.Stage.Heals() {
		return show.Live(ctx, d, func(ctx context.Context) error { return c.Watch(ctx, o.duration) })
	}
	err = show.Live(ctx, d, func(ctx context.Context) error {
		return d.Play(ctx, demo.Acts(), o.duration, c.Begun,
			func(a demo.Act) (bool, error) { return c.Look(ctx, a) })
	})
	if err != nil {
		return err
	}
	return c.SumUp()
}
