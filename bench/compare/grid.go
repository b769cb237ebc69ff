package main

import (
	"fmt"
	"runtime"
	"time"
)

// cell is one world with one share of failures and one number of goroutines.
type cell struct {
	world      *world
	percent    int
	goroutines int
}

func cells(ws []*world) []cell {
	var cs []cell
	for _, w := range ws {
		for _, g := range []int{1, 2, 16, 64} {
			cs = append(cs, cell{w, 0, g})
		}
	}
	for _, w := range ws {
		for _, percent := range []int{1, 30} {
			for _, g := range []int{1, 16} {
				cs = append(cs, cell{w, percent, g})
			}
		}
	}
	return cs
}

func (c cell) health() string {
	if c.percent == 0 {
		return "healthy"
	}
	return fmt.Sprintf("%d%% failures", c.percent)
}

// row is what one contestant did in a cell.
type row struct {
	name          string
	samples       []float64 // ns per call, by round
	time          interval
	bytes, allocs float64 // per call, the server's part included
	conns         int64   // TCP connections that the server accepted for counted calls
	requests      int64   // that the server saw
	errors        int     // that the callers saw
}

// counted is how many calls are counted per contestant and cell.
const counted = 2048

// measure lets all contestants work in c.
func (c cell) measure(p plan) []row {
	var (
		rows    []row
		teams   []team
		entries []entry
	)
	for _, who := range contestants() {
		if who.wire && c.world.name == "memory" {
			continue
		}
		e := who.enter(c.world.base(), c.world.url)
		r := c.count(e)
		r.name = who.name
		rows, entries = append(rows, r), append(entries, e)
		teams = append(teams, teamOf(c.goroutines, func() op {
			send := e.member("GET", nil)
			return func() { send() }
		}))
	}
	p.settle = func() {
		for _, e := range entries {
			e.flush()
		}
	}
	result := p.interleaved(teams)
	for i := range rows {
		rows[i].samples, rows[i].time = result[i], result.time(i)
		entries[i].close()
	}
	return rows
}

// count counts what one contestant does, from its first call on.
func (c cell) count(e entry) row {
	failed := make([]int, c.goroutines)
	i := 0
	t := teamOf(c.goroutines, func() op {
		send, n := e.member("GET", nil), &failed[i]
		i++
		return func() {
			if send() {
				*n++
			}
		}
	})
	c.world.reset(c.percent)
	conns := c.world.conns.Load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.run(counted/c.goroutines, wallClock)
	runtime.ReadMemStats(&after)
	e.flush()
	r := row{
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / counted,
		allocs: float64(after.Mallocs-before.Mallocs) / counted,
		conns:  c.world.conns.Load() - conns, requests: int64(c.world.seen.Load()), //nolint:gosec // a count
	}
	for _, n := range failed {
		r.errors += n
	}
	return r
}

// gridPlan is for cells: many contestants, short slices.
var gridPlan = plan{rounds: 40, slice: 3 * time.Millisecond, clock: wallClock}
