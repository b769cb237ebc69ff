// Package show is the demonstration with its page: package demo and package web
// together.
package show

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/demo"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/web"
)

// Show is a running page. Close must be called.
type Show struct {
	*demo.Demo
	Page *web.Server
}

// Start serves the page on l, which it closes in the end. There is nothing to
// see before Run.
func Start(ctx context.Context, l net.Listener, cfg demo.Config) (*Show, error) {
	d, err := demo.Start(ctx, cfg)
	if err != nil {
		l.Close()
		return nil, err
	}
	p, err := web.Serve(l, web.Config{
		Stage: d.Stage, Boards: d.Boards, API: d.DB.Handler(), Traces: d.Traces,
		Interval: demo.Interval, Now: d.Now, Settled: d.DB.Settled,
	})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &Show{d, p}, nil
}

// Run makes a past of the given length and then runs the load beside play until
// play returns or ctx ends.
func (s *Show) Run(ctx context.Context, past time.Duration, play func(context.Context) error) error {
	if past > 0 {
		if err := s.Backfill(ctx, time.Now().Add(-past), time.Time{}, nil); err != nil {
			return interrupted(ctx, err)
		}
	}
	s.Page.Ready()
	return Live(ctx, s.Demo, play)
}

// Close ends the page and everything behind it.
func (s *Show) Close() error { return errors.Join(s.Page.Close(), s.Demo.Close()) }

// Live runs the load of d beside play until play returns or ctx ends. That ctx
// ended is no error.
func Live(ctx context.Context, d *demo.Demo, play func(context.Context) error) error {
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

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
