package redisstore

import (
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// replica is what this process knows about one gate. Its mutex is never held
// while the server is asked or foreign code runs.
type replica struct {
	store *Store
	key   string // as the breaker knows it
	name  string // as the server knows it

	mu    sync.Mutex
	rules breaker.Params // of the last operation; guarded by mu
	// gate is what the server said last, or, while lost, what decides instead
	// of it. guarded by mu
	gate    breaker.Gate
	known   bool          // guarded by mu; gate is not just the zero value
	at      int64         // guarded by mu; the server's time of gate
	version int64         // guarded by mu; the server's version of gate
	offset  int64         // guarded by mu; the server's clock minus ours, in milliseconds
	asOf    time.Duration // guarded by mu; when gate was asked for, on the store's stopwatch: it was true at some time since
	// memo is until when, in nanoseconds of our clock, the gate is known to be
	// open; 0 if it is not. It moves forward only, is not moved by half-open
	// answers, and is cleared when the gate closes. guarded by mu
	memo int64
	lost bool          // guarded by mu; the server cannot be asked, gate decides
	ask  chan struct{} // guarded by mu; closed when the question that is on its way is answered; nil: none is (batched)
	batched
}

// batched is the part of a replica that only the Batched mode uses.
type batched struct {
	pending  breaker.Batch // guarded by mu; outcomes of gate's generation that were not sent
	sent     breaker.Batch // guarded by mu; those that are on their way
	flushing chan struct{} // guarded by mu; closed when they have arrived or are lost; nil: none are
	flushed  time.Duration // guarded by mu; when the last flush began
	timer    *time.Timer   // guarded by mu
	due      time.Duration // guarded by mu; when timer flushes; 0: it does not
	// paid is until when the commands about a half-open gate use up their
	// share, the store's pace each. guarded by mu
	paid time.Duration
}

// payLocked pays for a question about a half-open gate, if there is room for
// it and for the settlement of the probe that it may give.
func (r *replica) payLocked() bool {
	now, pace := r.store.stopwatch(), r.store.pace
	if max(r.paid, now)+2*pace > now+halfOpenBurst*pace {
		return false
	}
	r.chargeLocked()
	return true
}

func (r *replica) chargeLocked() { r.paid = max(r.paid, r.store.stopwatch()) + r.store.pace }

// followLocked remembers the rules of an operation.
func (r *replica) followLocked(p *breaker.Params) {
	k := &r.rules
	if k.ConsecutiveFailures == p.ConsecutiveFailures && k.FailureRate == p.FailureRate && k.MinCalls == p.MinCalls &&
		k.BucketWidth == p.BucketWidth && k.Cooldown == p.Cooldown && k.MaxCooldown == p.MaxCooldown &&
		k.ProbeLease == p.ProbeLease && k.Timeout == p.Timeout {
		return
	}
	r.rules = *p
	r.rules.Report = nil // belongs to the operation
}

// nowLocked returns the server's time as far as we know it.
func (r *replica) nowLocked() int64 { return r.store.now() + r.offset }

// left returns what is left of the memo in nanoseconds; 0 or less: nothing.
func (r *replica) left() int64 { return r.memo - r.store.nanos() }

// adoptLocked makes the server's answer what this process knows, unless it has
// a newer one, and returns the changes that it learnt of.
func (r *replica) adoptLocked(got reply) (changes []breaker.Change) {
	if ch := got.answer.Change; got.answer.Changed && ch.From == ch.To {
		changes = []breaker.Change{step(ch.From, ch.To, &got.gate, got.now)}
	}
	if r.lost || r.overtakenLocked(&got) {
		return changes
	}
	old, knew := r.gate, r.known
	r.gate, r.known, r.at, r.version = got.gate, true, got.now, got.version
	r.offset = got.now - r.store.now()
	r.asOf = got.sent
	if got.gate.Generation != old.Generation {
		r.pending, r.sent = breaker.Batch{}, breaker.Batch{} // fenced out
	}
	switch got.gate.State {
	case breaker.Closed:
		r.memo = 0
	case breaker.Open:
		r.memo = max(r.memo, r.store.nanos()+(got.gate.OpenUntil-got.now)*int64(time.Millisecond))
	}
	switch ch := got.answer.Change; {
	case knew && got.gate.Generation != old.Generation:
		changes = append(changes, path(&old, &got.gate, got.now)...)
	case !knew && got.answer.Changed && ch.From != ch.To:
		changes = append(changes, step(ch.From, ch.To, &got.gate, got.now))
	}
	return changes
}

// overtakenLocked reports whether the gate is known as of later than got.
func (r *replica) overtakenLocked(got *reply) bool {
	switch {
	case !r.known || r.at-got.now >= reordering:
		return false
	case got.now != r.at:
		return got.now < r.at
	default:
		return got.version < r.version
	}
}

// reordering bounds by how much answers can overtake each other, in
// milliseconds. What seems older than that comes from a server whose clock is
// behind.
const reordering = 10_000

// totalLocked returns the outcomes that gate does not hold yet.
func (r *replica) totalLocked() breaker.Batch {
	total := r.sent
	total.Append(r.pending)
	return total
}

// mergedLocked returns what the server would make of all outcomes so far.
func (r *replica) mergedLocked(p *breaker.Params) (breaker.Gate, breaker.Answer) {
	total := r.totalLocked()
	if total.Empty() {
		return r.gate, breaker.Answer{OK: true}
	}
	return breaker.Transition(r.gate, breaker.Event{
		Verb: breaker.DoMerge, Grant: breaker.Grant{Generation: r.gate.Generation}, Batch: total,
	}, *p, r.nowLocked())
}

// snapshotLocked returns the gate with the outcomes that are not flushed.
func (r *replica) snapshotLocked() breaker.Snapshot {
	g, a := r.mergedLocked(&r.rules)
	if !a.Changed {
		return g.Snapshot(r.rules, r.nowLocked())
	}
	// They would open it, but only the server does.
	total := r.totalLocked()
	s := r.gate.Snapshot(r.rules, r.nowLocked())
	s.Calls += int(total.Successes + total.Failures)
	s.Failures += int(total.Failures)
	s.Streak = int(g.Streak)
	return s
}

// idleLocked reports whether nothing would be lost with the replica.
func (r *replica) idleLocked() bool {
	return !r.lost && r.ask == nil && r.flushing == nil && r.pending.Empty()
}
