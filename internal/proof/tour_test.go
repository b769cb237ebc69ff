package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
	"github.com/plimsoll-http/plimsoll/internal/story"
)

// tour is the story of the demonstrations, and after it what the story leaves
// out: a breaker that opens, a shared store that is lost, partitions of one
// origin, a full pool, streams, a reload and a hook that panics. Whatever a
// client can report, it reports here.
func tour(s *Stage) {
	l := memconn.Listen()
	u := story.NewUpstream("stock", l, 1)
	s.Cleanup(func() { u.Close() })
	store := &flaky{Store: breaker.NewMemory(0)}
	shared, err := breaker.New(breaker.Config{Store: store})
	if err != nil {
		s.Fatal(err)
	}
	c := s.Client(client.Config{
		Name:                  "shop",
		Transport:             &http.Transport{DialContext: l.DialContext, MaxConnsPerHost: 4},
		Breaker:               shared,
		Retry:                 client.RetryPolicy{Overrun: client.Send},
		MaxTotalRetryDuration: 3 * time.Second,
	})
	ctx, stop := context.WithCancel(s.Context)
	load := &story.Load{Client: c.Client, URL: u.URL(), Every: 250 * time.Millisecond}
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.Run(ctx)
	}()
	if err := story.Run(ctx, u, story.Phases(), 12*time.Minute, nil); err != nil {
		s.Error(err)
	}
	u.Set(story.Trouble{FailRate: 1, Status: http.StatusTooManyRequests, RetryAfter: 5 * time.Second})
	pause(time.Minute)
	u.Set(story.Trouble{Down: true})
	pause(time.Minute)
	u.Set(story.Trouble{})
	pause(3 * time.Minute)
	store.lost.Store(true)
	pause(30 * time.Second)
	store.lost.Store(false)
	pause(2 * time.Minute)
	stop()
	<-done
	if t := load.Tally(); t.Good == 0 || t.Bad+t.Failed == 0 {
		s.Errorf("the story went otherwise: %+v", t)
	}
	tenants(s)
	crowd(s)
	streams(s)
}

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.After(d) }

// flaky is a store that can be lost.
type flaky struct {
	breaker.Store
	lost atomic.Bool
}

var errLost = errors.New("the store is lost")

func (f *flaky) Admit(ctx context.Context, key string, p breaker.Params) (breaker.Grant, error) {
	if f.lost.Load() {
		return breaker.Grant{}, errLost
	}
	return f.Store.Admit(ctx, key, p)
}

func (f *flaky) Settle(ctx context.Context, key string, g breaker.Grant, o breaker.Outcome, p breaker.Params) (breaker.Result, error) {
	if f.lost.Load() {
		return breaker.Result{}, errLost
	}
	return f.Store.Settle(ctx, key, g, o, p)
}

// tenants shares one origin between partitions. One of its hooks panics.
func tenants(s *Stage) {
	u := newUpstream(s)
	u.answer(inTurn(status(http.StatusServiceUnavailable), healthy, healthy, healthy))
	transport := u.transport()
	transport.IdleConnTimeout = 30 * time.Second
	var buggy atomic.Bool
	c := s.Client(client.Config{
		Name:      "tenants",
		Breaker:   newBreaker(s),
		Transport: transport,
		Partition: func(r *http.Request) string { return "tenant-" + r.URL.Query().Get("t") },
		Hooks: &events.Hooks{ConnClosed: func(context.Context, events.ConnClosed) {
			if buggy.Load() {
				panic("a bug in a hook")
			}
		}},
	})
	cycles(time.Second, 60, func(n int) { get(s, c, fmt.Sprint(url, "?t=", n%2), 5*time.Second) })
	buggy.Store(true)
	pause(time.Minute) // the connections' idle timeout closes them, in the background
	buggy.Store(false)
	if err := c.Reload(client.TLSMaterial{RootCAs: faultserver.NewCA().PEM()}); err != nil {
		s.Error(err)
	}
	cycles(time.Second, 60, func(n int) { get(s, c, fmt.Sprint(url, "?t=", n%2), 5*time.Second) })
}

// crowd asks for more connections than there may be.
func crowd(s *Stage) {
	u := newUpstream(s)
	u.answer(func(w http.ResponseWriter, r *http.Request) {
		pause(2 * time.Second)
		healthy(w, r)
	})
	transport := u.transport()
	transport.MaxConnsPerHost = 2
	c := s.Client(client.Config{Name: "crowd", Transport: transport})
	repeat(s, 500*time.Millisecond, s.Since()+time.Minute, func(int) { get(s, c, url, 30*time.Second) })
}

// streams opens event streams that end in order and are resumed.
func streams(s *Stage) {
	u := newUpstream(s)
	u.answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "id: %d\ndata: tick\n\n", i)
			_ = http.NewResponseController(w).Flush()
			pause(time.Second)
		}
	})
	c := s.Client(client.Config{Name: "streams", Transport: u.transport(), Stream: client.StreamConfig{Resume: true}})
	for range 8 {
		ctx, cancel := context.WithTimeout(s.Context, 12*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			s.Fatal(err)
		}
		stream, err := c.Stream(req)
		if err != nil {
			s.Error(err)
		} else {
			for _, err := range stream.Events() {
				if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
					s.Error(err)
				}
			}
			stream.Close()
		}
		<-ctx.Done()
		cancel()
	}
}
