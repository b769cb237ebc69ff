package main

import (
	"runtime"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/bootstrap"
)

// op is one unit of work of one goroutine.
type op func()

// team is a contestant: one op per goroutine.
type team []op

// teamOf makes a team of so many members.
func teamOf(goroutines int, member func() op) team {
	t := make(team, goroutines)
	for i := range t {
		t[i] = member()
	}
	return t
}

// clock is what slices are timed with: the wall clock, or the processor time
// of the whole process.
type clock func() time.Duration

var epoch = time.Now()

func wallClock() time.Duration { return time.Since(epoch) }

// run makes every member work n times and returns how long that took.
func (t team) run(n int, c clock) time.Duration {
	if len(t) == 1 {
		start := c()
		for range n {
			t[0]()
		}
		return c() - start
	}
	var wg sync.WaitGroup
	start := c()
	for _, o := range t {
		wg.Go(func() {
			for range n {
				o()
			}
		})
	}
	wg.Wait()
	return c() - start
}

// size returns how often each member works in a slice of about d. A hiccup of
// the machine must not make slices short for a whole contest: the least of
// three times tells.
func (t team) size(d time.Duration) int {
	for n := 1; ; n *= 2 {
		took := t.run(n, wallClock)
		for more := 0; more < 2 && took >= d/2; more++ {
			took = min(took, t.run(n, wallClock))
		}
		if took >= d/2 || n >= 1<<22 {
			return max(int(float64(n)*float64(d)/float64(max(took, 1))), 1)
		}
	}
}

// contest is what was measured of several teams.
type contest struct {
	times [][]float64 // by team: the time of one operation in nanoseconds, in each round
	ops   []int       // by team: operations in a round
}

// plan says how a contest is measured.
type plan struct {
	rounds int
	slice  time.Duration
	clock  clock
	busy   bool           // the machine does other things, too
	settle func(team int) // runs after each slice, outside the measured time; may be nil
}

// interleaved measures teams of the same size in rounds: each
// once in order, then each once in reverse order.
func (p plan) interleaved(teams []team) contest {
	settle := func(i int) {
		if p.settle != nil {
			p.settle(i)
		}
	}
	sizes := make([]int, len(teams))
	result := contest{make([][]float64, len(teams)), make([]int, len(teams))}
	for i, t := range teams {
		t.run(2, wallClock) // connections, caches
		sizes[i] = t.size(p.slice)
		settle(i)
		result.times[i], result.ops[i] = make([]float64, p.rounds), 2*sizes[i]*len(t)
	}
	runtime.GC()
	for r := range p.rounds {
		for k := range 2 * len(teams) {
			i := k
			if k >= len(teams) {
				i = 2*len(teams) - 1 - k
			}
			took := teams[i].run(sizes[i], p.clock)
			result.times[i][r] += float64(took) / float64(result.ops[i])
			settle(i)
		}
	}
	return result
}

// interval is a median with the ends of its 95 % interval.
type interval bootstrap.Interval

func intervalOf(samples []float64) interval { return interval(bootstrap.Median(samples)) }

// time is the time of one operation of contestant i.
func (c contest) time(i int) interval { return intervalOf(c.times[i]) }

// ratio is (a − bare) / (b − bare), where a is the first contestant, formed in
// each round; a negative bare is none.
func (c contest) ratio(b, bare int) interval {
	const a = 0
	rs := make([]float64, len(c.times[a]))
	for r := range rs {
		x, y := c.times[a][r], c.times[b][r]
		if bare >= 0 {
			x, y = x-c.times[bare][r], y-c.times[bare][r]
		}
		rs[r] = x / y
	}
	return intervalOf(rs)
}
