package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
	"github.com/plimsoll-http/plimsoll/pool"
)

// target is a figure with a bound that its upper end must keep.
type target struct {
	name  string
	unit  string // of the figure; "×" for a ratio
	bound float64
	got   interval
}

func (t target) met() bool { return t.got.high <= t.bound }

// exactly is the figure of something that was counted.
func exactly(v float64) interval { return interval{v, v, v} }

// targetPlan is for the few that a target compares.
var targetPlan = plan{rounds: 60, slice: 10 * time.Millisecond, clock: wallClock, what: "wall clock"}

// targetGroup are the targets that are about one thing.
type targetGroup struct {
	name    string
	measure func(plan) []target
}

var targetGroups = []targetGroup{
	{"client", withoutTelemetry},
	{"telemetry", withTelemetry},
	{"pool", poolTargets},
	{"parts", partTargets},
	{"scale", func(plan) []target { return scaleTargets() }},
}

// targets measures everything that has a bound, once; of the group alone, if
// that is not "".
func targets(p plan, group string) []target {
	var ts []target
	for _, g := range targetGroups {
		if group == "" || group == g.name {
			ts = append(ts, g.measure(p)...)
		}
	}
	return ts
}

// fullClient is retry, budget and breaker without telemetry.
func fullClient() *client.Transport {
	return must(client.NewTransport(client.Config{Base: answering{&failures{}}, NoTelemetry: true, Breaker: newBreaker()}))
}

func withoutTelemetry(p plan) []target {
	bare := answering{&failures{}}
	full := fullClient()
	defer full.Close()
	own, plainly := roundTrips(1, full), roundTrips(1, bare)
	fs := roundTrips(1, failsafe(bare))
	rh := roundTrips(1, &retryablehttp.RoundTripper{Client: retryable(bare)})
	c := p.interleaved([]team{own, fs, rh, plainly})

	return []target{
		{"no telemetry: allocations above the bare RoundTripper", "", 5, exactly(allocs(own) - allocs(plainly))},
		{"no telemetry ÷ go-retryablehttp", "×", 1.0, c.ratio(2, 3)},
		{"no telemetry ÷ failsafe-go", "×", 0.5, c.ratio(1, 3)},
	}
}

// allocs is the number of allocations of one operation.
func allocs(t team) float64 {
	const n = 2000
	t.run(64, wallClock)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.run(n, wallClock)
	runtime.ReadMemStats(&after)
	// What runs in the background allocates now and then.
	return float64((after.Mallocs - before.Mallocs + n/20) / n) //nolint:gosec // small
}

func withTelemetry(p plan) []target {
	var ts []target
	for _, mode := range []struct {
		name  string
		bound float64
		to    providers
	}{
		{"SDK sampled", 0.75, sdk(true)}, {"SDK unsampled", 0.55, sdk(false)}, {"no-op providers", 0.3, noop()},
	} {
		bare := answering{&failures{}}
		own := must(client.NewTransport(client.Config{Base: bare, Telemetry: mode.to.bridge()}))
		teams := []team{roundTrips(1, own), roundTrips(1, otelhttp.NewTransport(bare, mode.to.otelhttp()...)), roundTrips(1, bare)}
		q := p
		q.settle = mode.to.flush
		if p.busy {
			q.clock = threadClock
		}
		c := q.interleaved(teams)
		ts = append(ts,
			target{mode.name + " ÷ otelhttp", "×", mode.bound, c.ratio(1, 2)},
			target{mode.name + ": allocations beyond otelhttp's", "", -1, exactly(allocs(teams[0]) - allocs(teams[1]))})
		check(own.Close())
	}
	return ts
}

// served is a server on buffered connections in memory, and a transport to it.
func served(protocol string) (*http.Transport, string, func()) {
	ln := memconn.Listen()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "ok") //nolint:errcheck // it counts nothing
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it tells of connections that nobody needs any more
	srv.Listener.Close()
	srv.Listener = ln
	start(srv, protocol)
	t := baseFor(srv, protocol)
	t.DialContext = ln.DialContext
	url := "https://example.com/"
	if protocol == "HTTP/1" {
		url = "http://example.com/"
	}
	return t, url, srv.Close
}

func poolTargets(p plan) []target {
	p.clock = processorClock
	var ts []target
	for _, protocol := range []string{"HTTP/1", "TLS", "HTTP/2"} {
		base, url, stop := served(protocol)
		baseOfPool, _, stopToo := served(protocol)
		own := must(pool.New(pool.Config{Base: baseOfPool}))
		to := func(rt http.RoundTripper) team {
			req := request(http.MethodGet, url, nil)
			return team{func() {
				if failed(rt.RoundTrip(req)) {
					panic("compare: a call in memory failed")
				}
			}}
		}
		teams := []team{to(own), to(base)}
		c := p.interleaved(teams)
		more := 0.0
		if protocol == "HTTP/2" {
			more = 4
		}
		ts = append(ts,
			target{"pool ÷ http.Transport, processor time, " + protocol, "×", 1.05, c.ratio(1, -1)},
			target{"pool: allocations beyond http.Transport's, " + protocol, "", more, exactly(allocs(teams[0]) - allocs(teams[1]))})
		check(own.Close())
		base.CloseIdleConnections()
		stop()
		stopToo()
	}
	return ts
}

func partTargets(p plan) []target {
	p.clock = wallClock // several goroutines
	var ts []target
	for _, others := range []int{0, 4000} {
		b := must(budget.New(budget.Default()))
		for i := range others {
			if r, err := b.Reserve(fmt.Sprintf("https://other-%d.example:443", i), budget.Transient); err == nil {
				r.Settle(budget.Charge)
			}
		}
		tokens := b.Partition(origin)
		tokens.Replenish()
		for _, goroutines := range []int{1, 64} {
			// A hundred at a time: the call of an op would cost more.
			c := p.interleaved([]team{sharedTeam(goroutines, func() {
				for range 100 {
					tokens.Replenish()
				}
			})})
			got := c.time(0)
			got = interval{got.low / 100, got.mid / 100, got.high / 100}
			ts = append(ts, target{fmt.Sprintf("replenish, %d other partitions, %d goroutines", others, goroutines), "ns", 5, got})
		}
	}
	for _, b := range []struct {
		goroutines int
		bound      float64
	}{{1, 1.0}, {64, 0.5}} {
		gates := parts()[2].peers
		c := p.interleaved([]team{sharedTeam(b.goroutines, gates[0].make()), sharedTeam(b.goroutines, gates[1].make())})
		ts = append(ts, target{fmt.Sprintf("breaker ÷ gobreaker, %d goroutines", b.goroutines), "×", b.bound, c.ratio(1, -1)})
	}
	return append(ts, target{"breaker: allocations of an admission and its success", "", 1, exactly(allocs(team{parts()[2].peers[0].make()}))})
}

func scaleTargets() []target {
	const conns = 1000
	return []target{
		{"bytes per idle origin without connections", "B", 4096, exactly(perOrigin(1000).bytes)},
		{"idle connection ÷ http.Transport's, bytes", "×", 1.1, exactly(poolConnection(conns) / transportConnection(conns))},
	}
}
