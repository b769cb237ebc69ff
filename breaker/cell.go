package breaker

import (
	"sync"
	"sync/atomic"
)

// cell is one gate of a memory store. Two things go without its mutex: the
// admission by a closed gate, its refusal by an open one, and a success that
// can change nothing but the number of calls. Everything else runs
// [Transition] under mu.
//
// A success can change nothing else while the streak is 0 and the window
// either holds no failure or was judged with MinCalls samples already: one
// more success only lowers its rate. In that condition mu's holder arms
// successes; a success of the armed generation, rules and bucket adds itself
// there by compare-and-swap. Whoever takes mu first collects them into the
// gate, so that the gate's numbers are those of the same events in the order
// of their swaps.
type cell struct {
	place
	store *Memory

	head  atomic.Int64           // the gate's generation<<2 | state
	until atomic.Int64           // the gate's OpenUntil
	ends  atomic.Int64           // when the gate's bucket ends, in nanoseconds since the Unix epoch
	rules atomic.Pointer[Params] // those of the last event
	_     [64]byte               // so that counting does not take the line above from the other processors

	// successes is armed (bit 63), the number of the arming (32 bits) and the
	// successes since (31 bits); 0 while not armed. As each arming has its own
	// number, a swap that succeeds proves that the fields above did not change
	// since it was read.
	successes atomic.Uint64
	_         [56]byte

	mu     sync.Mutex
	gate   Gate   // guarded by mu; without the successes that are not collected
	arming uint32 // guarded by mu
	dead   bool   // guarded by mu; evicted, the key has another cell or none
}

const (
	armed     = 1 << 63
	countBits = 31
	countMask = 1<<countBits - 1
)

func headOf(generation int64, s State) int64 { return generation<<2 | int64(s) }

// admitNow returns the generation of a closed gate, and false for any other.
func (c *cell) admitNow() (generation int64, ok bool) {
	h := c.head.Load()
	return h >> 2, State(h&3) == Closed
}

// refuseNow returns what is left of an open gate's cooldown in milliseconds; 0
// if the gate is not open or its cooldown is over.
func (c *cell) refuseNow() int64 {
	if State(c.head.Load()&3) != Open {
		return 0
	}
	return max(0, c.until.Load()-c.store.now())
}

// settleNow settles an outcome of a closed gate that changes nothing or only
// the number of calls, or reports false.
func (c *cell) settleNow(g Grant, o Outcome, p *Params) bool {
	if o == Failure || g.Lease != 0 {
		return false
	}
	closed := headOf(g.Generation, Closed)
	if o != Success && o != SuccessUncounted {
		return c.head.Load() == closed
	}
	for {
		w := c.successes.Load()
		if w == 0 || c.head.Load() != closed || c.rules.Load() != p {
			return false
		}
		if o == SuccessUncounted {
			return true
		}
		if w&countMask == countMask || c.store.nanos() >= c.ends.Load() {
			return false
		}
		if c.successes.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// step runs one event under the mutex. It reports false if the cell is dead.
func (c *cell) step(e Event, p *Params) (Answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return Answer{}, false
	}
	c.collectLocked()
	next, a := Transition(c.gate, e, *p, c.store.now())
	c.gate = next
	c.publishLocked(p)
	return a, true
}

// collectLocked disarms and moves the successes into the gate.
func (c *cell) collectLocked() {
	c.gate.Calls += int64(c.successes.Swap(0) & countMask)
}

// publishLocked shows the gate to the readers without the mutex.
func (c *cell) publishLocked(p *Params) {
	g := &c.gate
	c.rules.Store(p)
	c.until.Store(g.OpenUntil)
	c.ends.Store((g.Bucket + 1) * int64(p.BucketWidth))
	c.head.Store(headOf(g.Generation, g.State))
	if g.State != Closed || g.Streak != 0 {
		return
	}
	if g.Failures+g.PriorFailures == 0 || g.Calls+g.PriorCalls >= int64(p.MinCalls) {
		c.arming++
		c.successes.Store(armed | uint64(c.arming)<<countBits)
	}
}

// snapshot returns the gate as of now. It reports false if the cell is dead or
// was never used.
func (c *cell) snapshot() (Snapshot, bool) {
	g, p := c.read()
	if p == nil {
		return Snapshot{}, false
	}
	return g.Snapshot(*p, c.store.now()), true
}

// read returns the gate with the successes that are not collected, and its
// rules; nil rules if the cell is dead or was never used.
func (c *cell) read() (Gate, *Params) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return Gate{}, nil
	}
	g := c.gate
	g.Calls += int64(c.successes.Load() & countMask)
	return g, c.rules.Load()
}
