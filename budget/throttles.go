package budget

import (
	"container/heap"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultThrottles is how many keys a [Throttles] remembers unless told
// otherwise.
const DefaultThrottles = 4096

// Throttles remembers until when servers asked to be left alone, per key. Of
// several deadlines for a key it keeps the earliest that has not passed: many
// calls that are throttled together, each told a later time than the one
// before, cannot push it away. A passed one counts for nothing and is replaced.
//
// It is bounded: when a further key comes, passed deadlines are forgotten
// first, then the earliest. It does not judge deadlines; the caller leaves out
// those that are too far away to be meant.
//
// All methods are safe for concurrent use. With nothing remembered, Until is
// one atomic load. The zero Throttles remembers up to [DefaultThrottles] keys.
// It must not be copied.
type Throttles struct {
	live atomic.Int64 // len(byKey), written under mu

	mu    sync.Mutex
	max   int                  // 0: DefaultThrottles; immutable
	byKey map[string]*throttle // guarded by mu
	queue throttleQueue        // the values of byKey, earliest deadline first; guarded by mu
}

// throttle is one remembered deadline.
type throttle struct {
	key   string
	until time.Time
	place int // in the queue
}

// NewThrottles returns an empty memory for up to max keys; 0 or a negative max
// stands for [DefaultThrottles].
func NewThrottles(max int) *Throttles {
	if max < 0 {
		max = 0
	}
	return &Throttles{max: max}
}

// Record remembers that key is to be left alone until then, unless an earlier
// deadline for it is known and has not passed, or until itself has passed.
//
// A deadline without a monotonic reading, such as an HTTP date, is turned into
// one with, so that stepping the wall clock afterwards does not move it.
func (t *Throttles) Record(key string, until time.Time) { t.RecordAt(time.Now(), key, until) }

// RecordAt is [Throttles.Record] at a given time.
func (t *Throttles) RecordAt(now time.Time, key string, until time.Time) {
	if !until.After(now) {
		return
	}
	until = anchored(now, until)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetPassedLocked(now)
	if known := t.byKey[key]; known != nil {
		if until.Before(known.until) {
			known.until = until
			heap.Fix(&t.queue, known.place)
		}
		return
	}
	limit := t.max
	if limit == 0 {
		limit = DefaultThrottles
	}
	if len(t.queue) >= limit {
		t.forgetFirstLocked()
	}
	if t.byKey == nil {
		t.byKey = make(map[string]*throttle)
	}
	e := &throttle{key: strings.Clone(key), until: until} // keys are often cut out of longer strings
	t.byKey[e.key] = e
	heap.Push(&t.queue, e)
	t.live.Store(int64(len(t.byKey)))
}

// Until returns the deadline remembered for key, and whether there is one that
// has not passed. It forgets those that have, of any key.
func (t *Throttles) Until(key string) (time.Time, bool) {
	if t.live.Load() == 0 {
		return time.Time{}, false
	}
	return t.UntilAt(time.Now(), key)
}

// UntilAt is [Throttles.Until] at a given time.
func (t *Throttles) UntilAt(now time.Time, key string) (time.Time, bool) {
	if t.live.Load() == 0 {
		return time.Time{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetPassedLocked(now)
	if e := t.byKey[key]; e != nil {
		return e.until, true
	}
	return time.Time{}, false
}

// Len returns how many keys are remembered, those included whose deadline has
// passed since Record or Until was last called.
func (t *Throttles) Len() int { return int(t.live.Load()) }

// forgetPassedLocked forgets the deadlines that are not after now.
func (t *Throttles) forgetPassedLocked(now time.Time) {
	for len(t.queue) > 0 && !t.queue[0].until.After(now) {
		t.forgetFirstLocked()
	}
}

// forgetFirstLocked forgets the earliest deadline.
func (t *Throttles) forgetFirstLocked() {
	delete(t.byKey, heap.Pop(&t.queue).(*throttle).key)
	t.live.Store(int64(len(t.byKey)))
}

// anchored returns until as a time on the monotonic clock of now, if it is not
// on one and now is. A deadline too far away to be expressed stays as it is.
func anchored(now, until time.Time) time.Time {
	if onMonotonic(until) || !onMonotonic(now) {
		return until
	}
	if at := now.Add(until.Sub(now)); at.Equal(until) { // Sub saturates
		return at
	}
	return until
}

// onMonotonic reports whether t has a monotonic reading; Round strips it.
func onMonotonic(t time.Time) bool { return t != t.Round(0) }

// throttleQueue is a container/heap ordered by deadline.
type throttleQueue []*throttle

func (q throttleQueue) Len() int           { return len(q) }
func (q throttleQueue) Less(i, j int) bool { return q[i].until.Before(q[j].until) }
func (q throttleQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *throttleQueue) Push(x any) {
	e := x.(*throttle)
	e.place = len(*q)
	*q = append(*q, e)
}

func (q *throttleQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}

// Spread returns wait plus a share r of a tenth of it, or of one second if that
// is less, so that the calls which wait for one deadline do not all go at its
// very end. r is a random number in [0, 1]; values outside, and NaN, count as
// the nearer end, NaN as 0. The result is never below wait, and a wait of 0 or
// less is returned as it is.
func Spread(wait time.Duration, r float64) time.Duration {
	if wait <= 0 || !(r > 0) {
		return wait
	}
	extra := time.Duration(float64(min(wait/10, time.Second)) * min(r, 1))
	if wait > unbounded-extra {
		return unbounded
	}
	return wait + extra
}
