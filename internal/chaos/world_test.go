package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// world is one round: what its seed says about all of it, its calls, and what
// was found wrong.
type world struct {
	seed  uint64
	calls int

	memory   bool          // in virtual time
	unit     time.Duration // what "a while" is
	patience time.Duration // after which every caller gives up
	workers  int
	faulty   int // per cent of the arrivals that meet a fault
	sizes    odds[int]
	large    bool // bodies can be larger than what a socket holds
	maxConns int  // 0: no limit
	maxIdle  int
	capacity int // of the budget
	reloads  bool
	switches bool // retries are switched off for a while
	storms   bool
	breaks   bool // there is a breaker
	fallback bool
	anything bool   // RetryNonIdempotent
	noReuse  bool   // DisableKeepAlives
	timeout  bool   // http.Client.Timeout instead of a deadline
	bridged  bool   // with telemetry
	listens  bool   // there are event streams
	streams  uint32 // SETTINGS_MAX_CONCURRENT_STREAMS; 0: the default
	unasked  bool   // servers send responses that nobody asked for
	closing  int    // the call before which the client is closed; -1: none

	faults []fault
	states []*state
	next   atomic.Int64
	fleet  *fleet
	soaked bool // a round of TestSoak
	plant  plant

	mu       sync.Mutex
	breaches []string // guarded by mu
	stacks   string   // where something was left
	more     int      // breaches that were not kept; guarded by mu

	tally tally
}

// rng returns a source of its own for each purpose.
func (w *world) rng(purpose, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed*1_000_003+purpose, n))
}

func newWorld(seed uint64, calls int) *world {
	w := &world{seed: seed, calls: calls, faults: faults(), memory: seed%2 == 1, sizes: sizeOdds, closing: -1}
	w.unit, w.patience = 20*time.Millisecond, 10*time.Second
	if w.memory {
		w.unit, w.patience = time.Second, 2*time.Minute
	}
	r := w.rng(0, 0)
	chance := func(n int) bool { return r.IntN(n) == 0 }
	w.workers = 8 + r.IntN(25)
	w.faulty = 10 + r.IntN(40)
	w.maxConns = odds[int]{{1, 0}, {1, 1}, {2, 2}, {3, 4}, {1, 10}}.draw(r)
	w.maxIdle = odds[int]{{2, 0}, {1, 1}, {2, 4}, {1, -1}}.draw(r)
	w.capacity = odds[int]{{3, 500}, {1, 60}, {1, 10}}.draw(r)
	w.reloads = seed%4 >= 2 // in memory and over loopback, also where there are few seeds
	w.switches, w.storms = chance(3), !chance(3)
	w.breaks, w.fallback, w.anything = !chance(3), chance(4), chance(8)
	w.noReuse, w.timeout, w.bridged, w.listens = chance(12), chance(3), chance(3), chance(2)
	w.streams = odds[uint32]{{2, 0}, {1, 1}, {1, 8}}.draw(r)
	w.unasked = chance(5)
	if chance(5) {
		w.sizes, w.large = bigSizeOdds, true
	}
	if chance(4) {
		w.closing = calls * 9 / 10
	}
	w.states = make([]*state, calls)
	for n := range w.states {
		w.states[n] = newState(w, w.plan(n))
	}
	return w
}

// breach notes a broken invariant.
func (w *world) breach(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.breaches) == 20 {
		w.more++
		return
	}
	w.breaches = append(w.breaches, fmt.Sprintf(format, args...))
}

// report fails t with the round's breaches and the way to see them again.
func (w *world) report(t interface {
	Helper()
	Errorf(string, ...any)
}) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.breaches) == 0 {
		return
	}
	text := ""
	for _, b := range w.breaches {
		text += "\n  " + b
	}
	if w.more > 0 {
		text += fmt.Sprintf("\n  and %d more", w.more)
	}
	if w.stacks != "" {
		if dir := os.Getenv("CHAOS_STACKS"); dir != "" {
			_ = os.WriteFile(fmt.Sprintf("%s/seed%d.txt", dir, w.seed), []byte(w.stacks), 0o600)
		}
	}
	t.Errorf("seed %d: %d broken invariants (%v)%s\nreplay: %s", w.seed, len(w.breaches)+w.more, w, text, w.replay())
}

func (w *world) replay() string {
	if w.soaked {
		return fmt.Sprintf("go test -race -run TestSoak ./internal/chaos -soak=1ms -seed=%d -calls=%d -count=5", w.seed, w.calls)
	}
	return fmt.Sprintf("go test -race -run TestChaos ./internal/chaos -seed=%d -calls=%d -count=5", w.seed, w.calls)
}

func (w *world) String() string {
	place := "loopback"
	if w.memory {
		place = "memory"
	}
	return fmt.Sprintf("%s, %d calls, %d workers, %d%% faults, MaxConnsPerHost %d, MaxIdleConnsPerHost %d, budget %d, reloads %v, breaker %v, large bodies %v, unasked responses %v",
		place, w.calls, w.workers, w.faulty, w.maxConns, w.maxIdle, w.capacity, w.reloads, w.breaks, w.large, w.unasked)
}
