package stage

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/story"
)

// The load: one request each so often, and a stream of some events.
const (
	ordersEvery   = 200 * time.Millisecond
	searchEvery   = 500 * time.Millisecond
	feedEvents    = 8
	feedEvery     = 250 * time.Millisecond
	feedPause     = time.Second
	burstOrders   = int(time.Second / ordersEvery)
	burstSearch   = int(time.Second / searchEvery)
	burstKilled   = 2 // calls to orders that meet a dead connection, with Kill
	burstPeriod   = 3 // seconds from one stream to the next
	burstPatience = 5 * time.Second
)

// Run sends the load until ctx ends, and returns when all calls have.
func (s *Stage) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, l := range s.load {
		running.Go(func() { l.Run(ctx) })
	}
	running.Go(func() {
		for pause(ctx, feedPause) {
			s.listen(ctx, feedEvents, feedEvery)
		}
	})
	running.Go(func() { s.killAgain(ctx) })
}

// killAgain switches Kill on and off, so that it hits some of the requests.
func (s *Stage) killAgain(ctx context.Context) {
	for {
		if s.State().Trouble != Kill || s.orders == nil {
			select {
			case <-ctx.Done():
				return
			case <-s.changed:
			}
			continue
		}
		s.setWhile(Kill, story.Trouble{KillReused: true})
		if !pause(ctx, killFor) {
			return
		}
		s.setWhile(Kill, story.Trouble{})
		if !pause(ctx, killPeriod-killFor) {
			return
		}
	}
}

// setWhile sets t if the trouble is still the given one.
func (s *Stage) setWhile(trouble Trouble, t story.Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == trouble {
		s.orders.Set(t)
	}
}

// listen reads one stream of n events to its end.
func (s *Stage) listen(ctx context.Context, n int, every time.Duration) {
	url := Feed + "/?events=" + strconv.Itoa(n) + "&every=" + every.String()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic("stage: " + url + " is no URL")
	}
	stream, err := s.current.Load().Stream(req)
	if err != nil {
		return // the metrics tell
	}
	defer stream.Close()
	for _, err := range stream.Events() {
		if err != nil {
			return
		}
	}
}

// Burst makes the calls of one second at once and returns when they are done.
// n counts the seconds.
func (s *Stage) Burst(ctx context.Context, n int) {
	var running sync.WaitGroup
	defer running.Wait()
	trouble := s.State().Trouble
	lanes := 1 // calls at the same time
	if trouble == Throttle {
		lanes = 2 // so that one waits because of another's answer
	}
	for lane := range lanes {
		running.Go(func() {
			for i := lane; i < burstOrders; i += lanes {
				if trouble == Kill && s.orders != nil {
					s.setWhile(Kill, story.Trouble{KillReused: i < burstKilled})
				}
				s.call(ctx, Orders, i == burstOrders-1)
			}
		})
	}
	running.Go(func() {
		for i := range burstSearch {
			s.call(ctx, Search, i == burstSearch-1)
		}
	})
	if n%burstPeriod == 0 {
		running.Go(func() { s.listen(ctx, feedEvents, 0) })
	}
}

// call makes one call, which may write.
func (s *Stage) call(ctx context.Context, url string, write bool) {
	method, body := http.MethodGet, ""
	if write {
		method, body = http.MethodPut, "an order"
	}
	ctx, cancel := context.WithTimeout(ctx, burstPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		panic("stage: " + url + " is no URL")
	}
	resp, err := s.current.Load().Do(req)
	if err != nil {
		return // the metrics tell
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// Tally returns what the callers of orders got so far.
func (s *Stage) Tally() story.Tally { return s.load[0].Tally() }
