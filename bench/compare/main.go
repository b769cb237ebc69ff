package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/bench/internal/wire"
	"github.com/plimsoll-http/plimsoll/client"
)

func main() {
	runs := flag.Int("runs", 3, "how often the targets are measured in a row")
	rounds := flag.Int("rounds", targetPlan.rounds, "rounds of each target")
	each := flag.Duration("slice", targetPlan.slice, "length of a slice of each target")
	group := flag.String("group", "", "measure the targets of one group alone: client, telemetry, pool, parts or scale; print them")
	only := flag.String("only", "", "measure a part and print it: targets, poisoned, parts, scale, calls, million, or tables: all but the million")
	table := flag.String("table", "../docs/benchmarks.md", "the table that is written")
	raw := flag.String("raw", "raw.txt", "the samples that are written")
	how := flag.String("clock", "wall", "what the ratios of serial calls are timed with: wall, or processor, on a machine that is busy")
	flag.Parse()
	if *group != "" {
		if !slices.ContainsFunc(targetGroups, func(g targetGroup) bool { return g.name == *group }) {
			fmt.Fprintf(os.Stderr, "compare: -group %q: use client, telemetry, pool, parts or scale\n", *group)
			os.Exit(2)
		}
		*only = "targets"
	}
	p := targetPlan
	p.rounds, p.slice = *rounds, *each
	switch *how {
	case "wall":
	case "processor":
		// failsafe-go works on goroutines of its own, and its time counts. The
		// batch processor of the SDK is one, too: no caller waits for it.
		runtime.LockOSThread()
		p.clock, p.busy, p.what = processorClock, true, "processor time: of the process without telemetry, of the calling thread with it"
	default:
		fmt.Fprintf(os.Stderr, "compare: -clock %q: use wall or processor\n", *how)
		os.Exit(2)
	}
	r := &results{began: time.Now(), load: load(), poisoned: map[string][]poisoned{}, plan: fmt.Sprintf("%d rounds of slices of %v, %s", p.rounds, p.slice, p.what)}
	wanted := func(part string) bool { return *only == "" || *only == part || part != "million" && *only == "tables" }
	if wanted("million") {
		r.million()
	}
	if wanted("targets") {
		for i := range *runs {
			r.note("targets, run %d", i+1)
			r.targets = append(r.targets, targets(p, *group))
		}
	}
	if wanted("poisoned") {
		for _, c := range poisonedCases {
			r.note("poisoned pool, %s", key(c))
			r.poisoned[key(c)] = poisonedPool(c[0], c[1])
		}
	}
	if wanted("parts") {
		r.measureParts()
	}
	if wanted("scale") {
		r.measureScale()
	}
	if wanted("calls") {
		if *only == "" || *only == "tables" {
			r.save(*table, *raw) // the longest part is still to come
		}
		r.measureCalls()
	}
	if *only != "" && *only != "tables" {
		r.print(*only)
		return
	}
	r.save(*table, *raw)
}

// save writes the table and the samples.
func (r *results) save(table, raw string) {
	var text, samples bytes.Buffer
	r.write(&text)
	r.writeRaw(&samples)
	for name, content := range map[string][]byte{table: text.Bytes(), raw: samples.Bytes()} {
		check(os.WriteFile(name, content, 0o644)) //nolint:gosec // public documents
	}
}

// note says on standard error what is measured now.
func (r *results) note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func (r *results) print(part string) {
	switch part {
	case "targets":
		r.writeTargets(os.Stdout)
	case "poisoned":
		r.writePoisoned(os.Stdout)
	case "parts":
		r.writeParts(os.Stdout)
	case "scale":
		r.writeScale(os.Stdout)
	case "calls":
		r.writeCells(os.Stdout)
	}
}

func (r *results) measureParts() {
	for _, part := range parts() {
		for _, goroutines := range []int{1, 64} {
			if goroutines > 1 && strings.HasPrefix(part.title, "SSE") {
				continue
			}
			r.note("%s, %d goroutines", part.title, goroutines)
			result := partResult{title: part.title, goroutines: goroutines}
			var teams []team
			for _, peer := range part.peers {
				o := peer.make()
				result.names = append(result.names, peer.name)
				result.allocs = append(result.allocs, allocs(team{o}))
				teams = append(teams, sharedTeam(goroutines, o))
			}
			c := gridPlan.interleaved(teams)
			for i := range teams {
				result.times = append(result.times, c.time(i))
			}
			r.parts = append(r.parts, result)
		}
	}
}

func (r *results) measureScale() {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		r.note("%d origins", n)
		r.origins = append(r.origins, perOrigin(n))
	}
	for _, n := range []int{1, 2, 8, 64, 512} {
		r.note("%d goroutines", n)
		r.routines = append(r.routines, perGoroutine(n))
	}
	r.idle = [2]float64{poolConnection(1000), transportConnection(1000)}
}

func (r *results) measureCalls() {
	ws := worlds()
	for _, c := range cells(ws) {
		r.note("calls: %s, %s, %d goroutines", c.world.name, c.health(), c.goroutines)
		r.cells = append(r.cells, cellResult{c, c.measure(gridPlan)})
	}
	for _, w := range ws {
		w.close()
	}
}

// million makes a million calls over a pool and panics if they leave anything
// behind.
func (r *results) million() {
	const calls, goroutines = 1_000_000, 64
	r.note("a million calls")
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
	r.note("%d calls on %d connections left nothing behind", calls, network.Counts().Dials)
}
