package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"

	"github.com/plimsoll-http/plimsoll/bench/internal/wire"
	"github.com/plimsoll-http/plimsoll/client"
)

// million makes a million calls over a pool and panics if they leave anything
// behind.
func million() {
	const calls, goroutines = 1_000_000, 64
	before := runtime.NumGoroutine()
	var network wire.Network
	base := &http.Transport{DialContext: network.DialContext, MaxConnsPerHost: goroutines / 2, MaxIdleConnsPerHost: goroutines / 2}
	gate := newBreaker()
	t := must(client.NewTransport(client.Config{Transport: base, NoTelemetry: true, Breaker: gate}))
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			req := request(http.MethodGet, "http://one.example/", nil)
			for range calls / goroutines {
				if failed(t.RoundTrip(req)) {
					panic("compare: a call in memory failed")
				}
			}
		})
	}
	wg.Wait()
	s := t.Stats()
	for key, level := range s.Budget {
		if level.Tokens != level.Capacity {
			panic(fmt.Sprintf("compare: %s has %d of %d tokens after a million calls", key, level.Tokens, level.Capacity))
		}
	}
	if s.Pool.Active+s.Pool.Waiting+s.Pool.Requests != 0 || s.Pool.Open != s.Pool.Idle || s.Pool.Open > goroutines/2 {
		panic(fmt.Sprintf("compare: the pool after a million calls: %+v", s.Pool.OriginStats))
	}
	check(t.Shutdown(context.Background()))
	eventually(func() bool { return runtime.NumGoroutine() <= before })
	if after := runtime.NumGoroutine(); after > before {
		panic(fmt.Sprintf("compare: %d goroutines after a million calls, %d before", after, before))
	}
	fmt.Fprintf(os.Stderr, "%d calls on %d connections left nothing behind\n", calls, network.Counts().Dials)
}
