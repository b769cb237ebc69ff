package chaos

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestSoak runs rounds for as long as -soak says, and prints figures. Those over
// loopback are all on the same two clients, so that what a client gathers over
// time shows; those in memory have clients of their own.
func TestSoak(t *testing.T) {
	if *soakFlag == 0 {
		t.Skip("SKIPPED PART: no -soak given; make soak runs it")
	}
	goroutines := runtime.NumGoroutine()
	s, err := newSoak()
	if err != nil {
		t.Fatal(err)
	}
	out := t.Output()
	every := max(*soakFlag/30, 4*time.Second)
	sampled, told := s.began, s.began
	for seed := max(1, *seedFlag); time.Since(s.began) < *soakFlag; seed++ {
		s.round(t, seed)
		if time.Since(sampled) > every {
			s.sample()
			sampled = time.Now()
		}
		if n := len(s.samples); n > 0 && time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Fprintf(out, "%v: %d rounds, %d calls, HeapAlloc %d KiB, %d broken invariants\n",
				time.Since(s.began).Round(time.Second), s.rounds, s.total.count("calls"), s.samples[n-1].heap>>10, s.broken)
		}
	}
	took := time.Since(s.began)
	if err := s.party.close(); err != nil {
		t.Error(err)
	}
	left := max(0, settled(goroutines, 10*time.Second)-goroutines)
	s.report(out, took, left)
	if left > 0 || s.party.open() > 0 {
		t.Errorf("%d goroutines and %d sockets are left\n%s", left, s.party.open(), stacks())
	}
	if grown, ok := drift(s.samples); ok && grown > growth {
		t.Errorf("HeapAlloc grew by %d bytes between the first and the last third, at most %d", grown, growth)
	}
	for _, name := range s.total.missing() {
		t.Errorf("%d calls, and nothing of this has happened: %s", s.total.count("calls"), name)
	}
}

// soak is many rounds, those over loopback with one party.
type soak struct {
	first   *world // what its clients are configured by
	party   *party
	idle    *world // where the party is between rounds
	began   time.Time
	total   tally
	rounds  int
	broken  int
	samples []sample
}

func newSoak() (*soak, error) {
	first := newWorld(2, 1)
	first.reloads, first.closing, first.listens, first.unasked = true, -1, true, false
	first.maxConns, first.maxIdle, first.noReuse, first.capacity, first.breaks = 4, 2, false, 500, true
	p, err := newParty(first)
	return &soak{first: first, party: p, idle: &world{calls: 1}, began: time.Now()}, err
}

// round runs one seed. It keeps nothing of the round but figures.
func (s *soak) round(t *testing.T, seed uint64) {
	w := newWorld(seed, *callsFlag)
	w.soaked = true
	if w.memory {
		round(t, w, nil)
	} else {
		w.adopt(s.first)
		round(t, w, s.party)
		s.party.world.Store(s.idle)
	}
	w.report(t)
	s.idle.report(t)
	s.total.merge(&w.tally)
	s.rounds++
	s.broken += len(w.breaches) + w.more + len(s.idle.breaches)
	s.idle.breaches = nil
	w.release()
}

// release lets go of all that the contexts of the round's calls hold, so that
// what keeps such a context for a while keeps little.
func (w *world) release() {
	for _, s := range w.states {
		s.mu.Lock()
		s.arrivals, s.written, s.hops, s.bodies, s.err, s.bodyErr = nil, nil, nil, nil, nil, nil
		s.mu.Unlock()
	}
	w.states, w.faults, w.fleet = nil, nil, nil
}

// sample measures the heap. net/http keeps a closed HTTP/2 connection for 5 s,
// so the least within that time counts.
func (s *soak) sample() {
	least := heap()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
		if n := len(s.samples); n > 0 && least <= s.samples[n-1].heap {
			break
		}
		<-tick.C
		least = min(least, heap())
	}
	s.samples = append(s.samples, sample{time.Since(s.began), s.total.count("calls"), least})
}

// adopt makes w a round of the clients that were made for first.
func (w *world) adopt(first *world) {
	w.maxConns, w.maxIdle, w.noReuse, w.capacity, w.breaks = first.maxConns, first.maxIdle, first.noReuse, first.capacity, first.breaks
	w.fallback, w.anything, w.timeout, w.bridged = first.fallback, first.anything, first.timeout, first.bridged
	w.reloads, w.listens, w.unasked, w.closing = first.reloads, first.listens, first.unasked, -1
	for n := range w.states {
		w.states[n] = newState(w, w.plan(n)) // some of it hangs on the above
	}
}

// report prints the figures.
func (s *soak) report(out io.Writer, took time.Duration, left int) {
	calls := s.total.count("calls")
	kinds, sum := s.total.kinds()
	fmt.Fprintf(out, "calls: %d in %v (%d rounds), %.0f a second\n", calls, took.Round(time.Second), s.rounds, float64(calls)/took.Seconds())
	fmt.Fprintf(out, "faults: %d\n", sum)
	for _, line := range kinds {
		fmt.Fprintf(out, "  %s\n", line)
	}
	fmt.Fprintf(out, "outcomes and events: %v\n", &s.total)
	fmt.Fprintf(out, "memory: %s\n", trend(s.samples))
	fmt.Fprintf(out, "leaks: %d goroutines, %d sockets\n", left, s.party.open())
	fmt.Fprintf(out, "broken invariants: %d\n", s.broken)
}

// sample is the heap after so many calls.
type sample struct {
	at    time.Duration
	calls int
	heap  int64
}

// trend is the least-squares line through the samples, over time and over calls,
// in words.
func trend(s []sample) string {
	if len(s) < 3 {
		return fmt.Sprintf("%d samples are too few for a slope", len(s))
	}
	perMinute := slope(s, func(p sample) float64 { return p.at.Minutes() })
	perThousand := slope(s, func(p sample) float64 { return float64(p.calls) / 1000 })
	text := fmt.Sprintf("slope %+.2f KiB a minute, %+.3f KiB per 1,000 calls, over %d samples; first %d KiB, last %d KiB",
		perMinute, perThousand, len(s), s[0].heap>>10, s[len(s)-1].heap>>10)
	if grown, ok := drift(s); ok {
		text += fmt.Sprintf("; median of the last third %+d KiB above that of the first", grown>>10)
	}
	return text
}

// slope is in KiB per unit of x.
func slope(s []sample, x func(sample) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range s {
		x, y := x(p), float64(p.heap)/1024
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d > 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}

// drift compares the medians of the first and the last third.
func drift(s []sample) (int64, bool) {
	if len(s) < 3 {
		return 0, false
	}
	third := len(s) / 3
	return median(s[len(s)-third:]) - median(s[:third]), true
}

func median(s []sample) int64 {
	var h []int64
	for _, p := range s {
		h = append(h, p.heap)
	}
	slices.Sort(h)
	return h[len(h)/2]
}

func TestASlopeIsSeen(t *testing.T) {
	var flat, steep []sample
	for i := range 30 {
		at := time.Duration(i) * time.Minute
		flat = append(flat, sample{at, i * 2000, 3<<20 + int64(i%2)<<10})
		steep = append(steep, sample{at, i * 2000, 3<<20 + int64(i)<<17})
	}
	perMinute := func(p sample) float64 { return p.at.Minutes() }
	if k := slope(flat, perMinute); k < -0.1 || k > 0.1 {
		t.Errorf("flat: %v KiB a minute", k)
	}
	if k := slope(steep, perMinute); k < 127.9 || k > 128.1 {
		t.Errorf("steep: %v KiB a minute, want 128", k)
	}
	if d, ok := drift(flat); !ok || d > growth {
		t.Errorf("flat: drift %d", d)
	}
	if d, ok := drift(steep); !ok || d <= growth {
		t.Errorf("steep: drift %d, want more than %d", d, growth)
	}
}
