package main

import (
	"fmt"
	"runtime"
	"time"
)

// cell is one world with one share of failures and one number of goroutines.
type cell struct {
	World      string
	Percent    int
	Goroutines int
}

// concurrency are the numbers of goroutines that calls and parts are measured
// with.
var concurrency = []int{1, 2, 16, 64}

func cells() []cell {
	var cs []cell
	for _, percent := range []int{0, 1, 30} {
		for _, w := range worldNames {
			for _, g := range concurrency {
				cs = append(cs, cell{w, percent, g})
			}
		}
	}
	return cs
}

func (c cell) name() string { return fmt.Sprintf("%s/%d/%d", label(c.World), c.Percent, c.Goroutines) }

func (c cell) health() string {
	if c.Percent == 0 {
		return "healthy"
	}
	return fmt.Sprintf("%d%% failures", c.Percent)
}

// row is what one contestant did in a cell.
type row struct {
	Name          string
	Time          interval
	Bytes, Allocs float64 // per call, the server's part included
	Conns         int64   // TCP connections that the server accepted for counted calls
	LeftOpen      int64   // those of them that were open, and of no use, until the context of the call ended
	Requests      int64   // that the server saw
	Errors        int     // that the callers saw
}

// entrant is a contestant in a cell.
type entrant struct {
	entry
	scope  *scope
	dialer *dialer // nil in memory
	world  *world
	had    int64 // connections open before the slice
}

// settle leaves nothing of a slice to the next one: neither spans to export nor
// connections that are open for no call.
func (e *entrant) settle() {
	e.flush()
	e.scope.end()
	if e.open() > e.had {
		e.quiet(betweenSlices)
	}
	e.had = e.open()
}

// How long the numbers of open connections must stay the same. A machine with
// other work may keep the goroutines that close them from running: what is
// reported waits for that, and what a slice leaves to the next is soon gone.
const (
	betweenSlices = time.Millisecond
	beforeReport  = 20 * time.Millisecond
)

func (e *entrant) quiet(patience time.Duration) {
	if e.dialer != nil {
		quiet(e.dialer.open.Load, e.world.open, patience)
	}
}

// open is the number of connections that the contestant has.
func (e *entrant) open() int64 {
	if e.dialer == nil {
		return 0
	}
	return e.dialer.open.Load()
}

// counted is how many calls are counted per contestant and cell.
const counted = 1024

// measure lets all contestants work in c.
func (c cell) measure(p plan) ([]row, []series) {
	var (
		rows     []row
		teams    []team
		entrants []*entrant
	)
	w := newWorld(c.World)
	defer w.close()
	for _, who := range contestants() {
		if who.wire && c.World == "memory" {
			continue
		}
		e := enter(who, w)
		r := c.count(e)
		r.Name = who.name
		rows, entrants = append(rows, r), append(entrants, e)
		teams = append(teams, teamOf(c.Goroutines, func() op {
			send := e.member("GET", nil)
			return func() { send() }
		}))
	}
	p.settle = func(i int) { entrants[i].settle() }
	result := p.interleaved(teams)
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	samples := result.series(benchmark("Call", "world", c.World, "percent", c.Percent, "goroutines", c.Goroutines), names...)
	for i := range rows {
		rows[i].Time = result.time(i)
		samples[i].Bytes, samples[i].Allocs = rows[i].Bytes, rows[i].Allocs
		entrants[i].scope.leave()
		entrants[i].close()
	}
	return rows, samples
}

func enter(who contestant, w *world) *entrant {
	base, d := w.base()
	e := &entrant{dialer: d, world: w}
	if d != nil {
		e.scope = &scope{}
	}
	e.entry = who.enter(ground{base, w.url, e.scope})
	return e
}

// count counts what one contestant does, from its first call on.
func (c cell) count(e *entrant) row {
	failed := make([]int, c.Goroutines)
	i := 0
	t := teamOf(c.Goroutines, func() op {
		send, n := e.member("GET", nil), &failed[i]
		i++
		return func() {
			if send() {
				*n++
			}
		}
	})
	e.world.reset(c.Percent)
	conns := e.world.conns.Load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.run(counted/c.Goroutines, wallClock)
	runtime.ReadMemStats(&after)
	e.flush()
	e.quiet(beforeReport)
	r := row{
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / counted,
		Allocs: float64(after.Mallocs-before.Mallocs) / counted,
		Conns:  e.world.conns.Load() - conns, Requests: int64(e.world.seen.Load()), //nolint:gosec // a count
		LeftOpen: e.open(),
	}
	e.scope.leave()
	e.quiet(beforeReport)
	r.LeftOpen = max(0, r.LeftOpen-e.open()) // a dial that no call waited for may have ended meanwhile
	for _, n := range failed {
		r.Errors += n
	}
	return r
}

// gridPlan is for cells: many contestants, short slices.
var gridPlan = plan{rounds: 40, slice: 2 * time.Millisecond, clock: wallClock}
