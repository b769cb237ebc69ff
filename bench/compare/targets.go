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
	Name  string
	Unit  string // of the figure; "×" for a ratio
	Bound float64
	Got   interval
}

func (t target) met() bool { return t.Got.High <= t.Bound }

// exactly is the figure of something that was counted.
func exactly(v float64) interval { return interval{v, v, v} }

// targetPlan is for the few that a target compares.
var targetPlan = plan{rounds: 100, slice: 12 * time.Millisecond, clock: wallClock}

// targetGroup are the targets that are about one thing.
type targetGroup struct {
	name    string
	measure func(plan) ([]target, []series)
}

func targetGroups() []targetGroup {
	groups := []targetGroup{{"client", withoutTelemetry}}
	for _, m := range telemetryModes {
		groups = append(groups, targetGroup{"telemetry/" + label(m.name), m.measure})
	}
	for _, protocol := range worldNames[1:] {
		groups = append(groups, targetGroup{"pool/" + label(protocol), func(p plan) ([]target, []series) { return poolTargets(p, protocol) }})
	}
	return append(groups,
		targetGroup{"parts/budget", budgetTargets},
		targetGroup{"parts/breaker", breakerTargets},
		targetGroup{"scale", func(plan) ([]target, []series) { return scaleTargets(), nil }})
}

// fullClient is retry, budget and breaker without telemetry.
func fullClient() *client.Transport {
	return must(client.NewTransport(client.Config{Base: answering{&failures{}}, NoTelemetry: true, Breaker: newBreaker()}))
}

func withoutTelemetry(p plan) ([]target, []series) {
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
	}, c.series(benchmark("Target", "group", "client"), "plimsoll", "failsafe-go", "go-retryablehttp", "bare RoundTripper")
}

// allocs is the number of allocations of one operation.
func allocs(t team) float64 {
	_, n := heapOf(t)
	return n
}

// heapOf gives the bytes and the number of the allocations of one operation.
func heapOf(t team) (bytes, allocs float64) {
	const n = 2000
	t.run(64, wallClock)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.run(n, wallClock)
	runtime.ReadMemStats(&after)
	// What runs in the background allocates now and then.
	return float64((after.TotalAlloc - before.TotalAlloc) / n), float64((after.Mallocs - before.Mallocs + n/20) / n) //nolint:gosec // small
}

// telemetryMode is what plimsoll's and otelhttp's telemetry goes to.
type telemetryMode struct {
	name  string
	bound float64
	to    func() providers
}

var telemetryModes = []telemetryMode{
	{"SDK sampled", 0.75, func() providers { return sdk(true) }},
	{"SDK unsampled", 0.55, func() providers { return sdk(false) }},
	{"no-op providers", 0.3, noop},
}

func (m telemetryMode) measure(p plan) ([]target, []series) {
	to, bare := m.to(), answering{&failures{}}
	own := must(client.NewTransport(client.Config{Base: bare, Telemetry: to.bridge()}))
	defer own.Close()
	teams := []team{roundTrips(1, own), roundTrips(1, otelhttp.NewTransport(bare, to.otelhttp()...)), roundTrips(1, bare)}
	p.settle = func(int) { to.flush() }
	if p.busy {
		p.clock = threadClock
	}
	p.rounds *= 2 // bound and figure are close together: a narrow interval
	c := p.interleaved(teams)
	return []target{
		{m.name + " ÷ otelhttp", "×", m.bound, c.ratio(1, 2)},
		{m.name + ": allocations beyond otelhttp's", "", -1, exactly(allocs(teams[0]) - allocs(teams[1]))},
	}, c.series(benchmark("Target", "group", "telemetry", "mode", m.name), "plimsoll", "otelhttp", "bare RoundTripper")
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

func poolTargets(p plan, protocol string) ([]target, []series) {
	p.clock = processorClock
	p.slice = p.slice * 5 / 3 // garbage is collected once in 30 ms here
	p.rounds *= 2             // bound and figure are close together: a narrow interval
	if protocol == "HTTP/2" {
		p.rounds *= 2 // closest
	}
	base, url, stop := served(protocol)
	defer stop()
	baseOfPool, _, stopToo := served(protocol)
	defer stopToo()
	own := must(pool.New(pool.Config{Base: baseOfPool}))
	defer own.Close()
	defer base.CloseIdleConnections()
	to := func(rt http.RoundTripper) team {
		return team{func() {
			// A request for each exchange, as callers have it.
			if failed(rt.RoundTrip(request(http.MethodGet, url, nil))) {
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
	samples := c.series(benchmark("Target", "group", "pool", "protocol", protocol), "plimsoll", "http.Transport")
	for i := range samples {
		samples[i].Unit = "cpu-ns/op"
	}
	return []target{
		{"pool ÷ http.Transport, processor time, " + protocol, "×", 1.05, c.ratio(1, -1)},
		{"pool: allocations beyond http.Transport's, " + protocol, "", more, exactly(allocs(teams[0]) - allocs(teams[1]))},
	}, samples
}

func budgetTargets(p plan) (ts []target, samples []series) {
	p.clock = wallClock // several goroutines
	p.slice /= 4        // nothing allocates
	for _, others := range []int{0, 4000} {
		b := must(budget.New(budget.Default()))
		for i := range others {
			if r, err := b.Reserve(fmt.Sprintf("https://other-%d.example:443", i), budget.Transient); err == nil {
				r.Settle(budget.Charge)
			}
		}
		tokens := b.Partition(origin)
		tokens.Replenish()
		for _, n := range []int{1, 64} {
			// A hundred at a time: the call of an op would cost more.
			const batch = 100
			c := p.interleaved([]team{sharedTeam(n, func() {
				for range batch {
					tokens.Replenish()
				}
			})})
			c.ops[0] *= batch
			for r := range c.times[0] {
				c.times[0][r] /= batch
			}
			ts = append(ts, target{fmt.Sprintf("replenish, %d other partitions, %s", others, inWords(n)), "ns", 5, c.time(0)})
			samples = append(samples, c.series(benchmark("Target", "group", "budget", "others", others, "goroutines", n), "plimsoll")...)
		}
	}
	return ts, samples
}

func breakerTargets(p plan) (ts []target, samples []series) {
	p.clock = wallClock // several goroutines
	p.slice /= 2        // a collection leaves little to do
	gates := parts()[2].peers
	for _, b := range []struct {
		goroutines int
		bound      float64
	}{{1, 1.0}, {64, 0.5}} {
		c := p.interleaved([]team{sharedTeam(b.goroutines, gates[0].make()), sharedTeam(b.goroutines, gates[1].make())})
		ts = append(ts, target{"breaker ÷ gobreaker, " + inWords(b.goroutines), "×", b.bound, c.ratio(1, -1)})
		samples = append(samples, c.series(benchmark("Target", "group", "breaker", "goroutines", b.goroutines), gates[0].name, gates[1].name)...)
	}
	return append(ts, target{"breaker: allocations of an admission and its success", "", 1, exactly(allocs(team{gates[0].make()}))}), samples
}

func scaleTargets() []target {
	const conns, pairs = 1000, 11
	origin := keptPerOrigin(1000)
	var ratios []float64
	for range pairs { // the first in a process pays for what both need
		ratios = append(ratios, poolConnection(conns)/transportConnection(conns))
	}
	return []target{
		{"bytes per idle origin without connections", "B", 4096, exactly(origin)},
		{"idle connection ÷ http.Transport's, bytes", "×", 1.1, intervalOf(ratios)},
	}
}
