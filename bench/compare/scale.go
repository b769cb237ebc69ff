package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/bench/internal/wire"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/pool"
)

// held returns the bytes of heap and stacks that are in use after a collection.
func held() float64 {
	for range 6 { // what finalizers and pools keep the first time; a stack shrinks by half each time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// originCost is what so many origins cost a client.
type originCost struct {
	Origins int
	Bytes   float64  // kept per origin that is idle and without connections, its share of the client included
	Time    interval // of a call to one of them, in turn
}

// scalePlan is for the costs of scale.
var scalePlan = plan{rounds: 80, slice: 3 * time.Millisecond, clock: wallClock}

// overConnections calls so many origins, each on a connection of its own that
// is closed again, with retry, budget and breaker and without telemetry.
func overConnections(origins int) *client.Transport {
	var network wire.Network
	base := &http.Transport{DialContext: network.DialContext, MaxIdleConnsPerHost: 1}
	c := must(client.NewTransport(client.Config{Transport: base, NoTelemetry: true, Breaker: newBreaker()}))
	for i := range origins {
		if failed(c.RoundTrip(request(http.MethodGet, fmt.Sprintf("http://host-%d.example/", i), nil))) {
			panic("compare: a call in memory failed")
		}
		if i%64 == 63 {
			c.CloseIdleConnections()
		}
	}
	c.CloseIdleConnections()
	eventually(func() bool { return c.Stats().Pool.Open == 0 })
	return c
}

// keptPerOrigin is what is kept per origin, in bytes, by clients with so many
// of them.
func keptPerOrigin(origins int) float64 {
	clients := make([]*client.Transport, max(1, 1000/origins))
	before := held()
	for i := range clients {
		clients[i] = overConnections(origins)
	}
	kept := held() - before
	for _, c := range clients {
		check(c.Close())
	}
	return kept / float64(len(clients)*origins)
}

func perOrigin(p plan, origins int) (originCost, []series) {
	cost := originCost{Origins: origins, Bytes: keptPerOrigin(origins)}
	c := fullClient()
	defer c.Close()
	requests := make([]*http.Request, origins)
	for i := range requests {
		requests[i] = request(http.MethodGet, fmt.Sprintf("http://host-%d.example/", i), nil)
	}
	next := 0
	t := team{func() {
		resp, err := c.RoundTrip(requests[next])
		if next++; next == len(requests) {
			next = 0
		}
		failed(resp, err)
	}}
	for range requests {
		t[0]() // all origins are known from here on
	}
	result := p.interleaved([]team{t})
	cost.Time = result.time(0)
	return cost, result.series(benchmark("Scale", "origins", origins), "plimsoll no telemetry")
}

// eventually waits until goroutines that end have ended.
func eventually(done func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if done() {
			return
		}
		<-tick.C
	}
}

// connectionCost is what n idle connections keep, each.
func connectionCost(n int, over func(*http.Transport) http.RoundTripper) float64 {
	var network wire.Network
	base := &http.Transport{DialContext: network.DialContext, MaxIdleConnsPerHost: n}
	rt := over(base)
	before := held()
	// All of them at the same time, so that each gets its own connection.
	resps := make([]*http.Response, n)
	var wg sync.WaitGroup
	for i := range resps {
		wg.Go(func() {
			resps[i] = must(rt.RoundTrip(request(http.MethodGet, "http://one.example/", nil)))
		})
	}
	wg.Wait()
	for i, resp := range resps {
		if failed(resp, nil) {
			panic("compare: a call in memory failed")
		}
		resps[i] = nil
	}
	if got := network.Counts().Dials; got != int64(n) {
		panic(fmt.Sprintf("compare: %d connections, want %d", got, n))
	}
	kept := held() - before
	runtime.KeepAlive(resps)
	if c, ok := rt.(io.Closer); ok {
		c.Close()
	}
	closeIdle(rt)
	return kept / float64(n)
}

func transportConnection(n int) float64 {
	return connectionCost(n, func(t *http.Transport) http.RoundTripper { return t })
}

func poolConnection(n int) float64 {
	return connectionCost(n, func(t *http.Transport) http.RoundTripper { return must(pool.New(pool.Config{Base: t})) })
}

// goroutineCost is what calls cost when so many goroutines make them.
type goroutineCost struct {
	Goroutines    int
	None, Sampled interval // ns per call: without telemetry, and with the SDK
}

func perGoroutine(p plan, goroutines int) (goroutineCost, []series) {
	telemetry := sdk(true)
	p.settle = func(int) { telemetry.flush() }
	off := fullClient()
	on := must(client.NewTransport(client.Config{Base: answering{&failures{}}, Breaker: newBreaker(), Telemetry: telemetry.bridge()}))
	c := p.interleaved([]team{roundTrips(goroutines, off), roundTrips(goroutines, on)})
	check(off.Shutdown(context.Background()))
	check(on.Shutdown(context.Background()))
	return goroutineCost{goroutines, c.time(0), c.time(1)},
		c.series(benchmark("Scale", "goroutines", goroutines), "plimsoll no telemetry", "plimsoll SDK sampled")
}

// roundTrips is a team that uses rt directly.
func roundTrips(goroutines int, rt http.RoundTripper) team {
	return teamOf(goroutines, func() op {
		req := request(http.MethodGet, "http://api.example.com:8080/v1/orders/7?expand=lines", nil)
		return func() {
			if failed(rt.RoundTrip(req)) {
				panic("compare: a call in memory failed")
			}
		}
	})
}
