package breaker

import (
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Gate is the complete state of one key in integers: times are milliseconds
// since the Unix epoch, durations milliseconds. The zero value is a gate that
// is closed and has seen nothing. Only [Transition] makes new ones.
//
// Stores keep and move gates; everybody else reads a [Snapshot].
type Gate struct {
	State State               // Closed, Open or HalfOpen
	Cause events.BreakerCause // why it last left Closed: streak or rate
	// Generation rises with every change of State. It is the time of the
	// change, or one more than before if that is later, so that it also rises
	// where a store has lost the key.
	Generation int64

	// Closed: the streak and the window. Both are kept until the gate closes
	// again, so that an open gate still shows why it opened.
	Streak                     int64
	Bucket                     int64 // now / BucketWidth of the current bucket
	Calls, Failures            int64 // in the current bucket
	PriorCalls, PriorFailures  int64 // in the bucket before
	Level, ClosedAt, ClosedFor int64 // the level; closed since; time spent closed before that towards the next halving
	Cooldown, OpenUntil        int64 // of the last opening
	Lease                      int64 // number of the last lease in this generation
	LeaseUntil, LeaseFor       int64 // its end, 0: nobody holds it; its length
}

// Verb is what an [Event] asks of a gate.
type Verb uint8

// The verbs.
const (
	DoAdmit  Verb = iota // one caller asks for admission
	DoSettle             // the outcome of one admission
	DoRenew              // a probe's holder wants more time
	DoMerge              // a batch of outcomes of one generation
)

// Event is one input of [Transition].
type Event struct {
	Verb    Verb    // what is asked
	Grant   Grant   // DoSettle, DoRenew; of DoMerge the generation
	Outcome Outcome // DoSettle
	Batch   Batch   // DoMerge
}

// Answer is what [Transition] decided.
type Answer struct {
	// OK: admitted, settled, renewed or merged. False: rejected, or the grant
	// is an old one and nothing changed.
	OK bool
	// Result is the state after the event; RetryAfter is set for a rejection by
	// an open gate and for the settlement that opened one.
	Result Result
	Grant  Grant // of an admission
	// Change is what the event changed, if Changed.
	Change  Change
	Changed bool // whether the event changed the gate
}

// Transition is the whole breaker: what g becomes when e happens at now
// (milliseconds since the Unix epoch) under p, and what the one who brought
// the event is told. It is pure.
func Transition(g Gate, e Event, p Params, now int64) (Gate, Answer) {
	switch e.Verb {
	case DoAdmit:
		return g.admit(p, now)
	case DoSettle:
		return g.settle(e.Grant, e.Outcome, p, now)
	case DoRenew:
		if !g.holds(e.Grant) || e.Grant.Lease == 0 {
			return g, Answer{Result: Result{State: g.State}}
		}
		g.lend(p, now)
		return g, Answer{OK: true, Result: Result{State: g.State}}
	default:
		return g.merge(e.Grant.Generation, e.Batch, p, now)
	}
}

func (g Gate) admit(p Params, now int64) (Gate, Answer) {
	switch g.State {
	case Closed:
		return g, Answer{OK: true, Grant: Grant{Generation: g.Generation}}
	case Open:
		// A clock that was stepped back makes no cooldown and no lease longer.
		g.OpenUntil = min(g.OpenUntil, now+g.Cooldown)
		if now < g.OpenUntil {
			return g, Answer{Result: Result{State: Open, RetryAfter: millis(g.OpenUntil - now)}}
		}
		g.move(HalfOpen, now)
		g.Lease = 1
		g.lend(p, now)
		return g, Answer{
			OK: true, Result: Result{State: HalfOpen}, Grant: Grant{g.Generation, g.Lease},
			Change: Change{From: Open, To: HalfOpen, Cause: events.BreakerCooldown}, Changed: true,
		}
	default:
		g.LeaseUntil = min(g.LeaseUntil, now+g.LeaseFor)
		if now < g.LeaseUntil {
			return g, Answer{Result: Result{State: HalfOpen}}
		}
		a := Answer{OK: true, Result: Result{State: HalfOpen}}
		if g.LeaseUntil != 0 {
			a.Change, a.Changed = Change{From: HalfOpen, To: HalfOpen, Cause: events.BreakerLease}, true
		}
		g.Lease++
		g.lend(p, now)
		a.Grant = Grant{g.Generation, g.Lease}
		return g, a
	}
}

// lend makes the current lease last from now.
func (g *Gate) lend(p Params, now int64) {
	g.LeaseFor = p.ProbeLease.Milliseconds()
	g.LeaseUntil = now + g.LeaseFor
}

// holds reports whether a result under gr still counts.
func (g *Gate) holds(gr Grant) bool {
	switch {
	case gr.Generation != g.Generation:
		return false
	case g.State == HalfOpen:
		return gr.Lease == g.Lease && g.LeaseUntil != 0
	default:
		return g.State == Closed && gr.Lease == 0
	}
}

func (g Gate) settle(gr Grant, o Outcome, p Params, now int64) (Gate, Answer) {
	if !g.holds(gr) {
		return g, Answer{Result: Result{State: g.State}}
	}
	if g.State == HalfOpen {
		return g.settleProbe(o, p, now)
	}
	switch o {
	case Success:
		g.count(1, 0, p, now)
		g.Streak = 0
	case SuccessUncounted:
		g.Streak = 0
		return g, Answer{OK: true}
	case Failure:
		g.count(1, 1, p, now)
		g.Streak++
	default:
		return g, Answer{OK: true}
	}
	return g.judged(g.Streak, p, now)
}

func (g Gate) settleProbe(o Outcome, p Params, now int64) (Gate, Answer) {
	switch o {
	case Success, SuccessUncounted:
		g.move(Closed, now)
		g.Streak, g.Calls, g.Failures, g.PriorCalls, g.PriorFailures = 0, 0, 0, 0, 0
		g.ClosedAt = now
		g.Cooldown, g.OpenUntil = 0, 0
		if o == Success {
			g.count(1, 0, p, now)
		}
		return g, Answer{
			OK: true, Result: Result{State: Closed},
			Change: Change{From: HalfOpen, To: Closed, Cause: events.BreakerByProbe}, Changed: true,
		}
	case Failure:
		// A probe's failure is never a first opening.
		g.Level = max(g.Level, 1)
		return g.open(events.BreakerByProbe, p, now)
	default:
		g.LeaseUntil = 0
		return g, Answer{
			OK: true, Result: Result{State: HalfOpen},
			Change: Change{From: HalfOpen, To: HalfOpen, Cause: events.BreakerLease}, Changed: true,
		}
	}
}

func (g Gate) open(cause events.BreakerCause, p Params, now int64) (Gate, Answer) {
	from, base, most := g.State, p.Cooldown.Milliseconds(), p.MaxCooldown.Milliseconds()
	if from == Closed {
		g.decay(base, now)
	}
	cooldown := base
	if cause != events.BreakerStreak {
		switch {
		case g.Level == 0:
			g.Level = 1
		case g.Level*base < most:
			g.Level *= 2
		}
		cooldown = min(g.Level*base, most)
	}
	if from == Closed {
		g.Cause = cause
	}
	g.move(Open, now)
	g.Cooldown, g.OpenUntil = cooldown, now+cooldown
	after := millis(cooldown)
	return g, Answer{
		OK: true, Result: Result{State: Open, RetryAfter: after},
		Change: Change{From: from, To: Open, Cause: cause, Cooldown: after, RetryAfter: after}, Changed: true,
	}
}

// move enters a state and a new generation.
func (g *Gate) move(to State, now int64) {
	g.State = to
	g.Generation = max(g.Generation+1, now)
	g.Lease, g.LeaseUntil, g.LeaseFor = 0, 0, 0
}

// Snapshot returns what g looks like at now.
func (g Gate) Snapshot(p Params, now int64) Snapshot {
	s := Snapshot{State: g.State, Streak: int(g.Streak), Generation: g.Generation}
	if g.State == Closed {
		g.rotate(p, now)
		g.decay(p.Cooldown.Milliseconds(), now)
	} else {
		s.Cooldown = millis(g.Cooldown)
	}
	if g.State == Open {
		s.Left = millis(max(0, min(g.OpenUntil-now, g.Cooldown)))
	}
	s.Calls, s.Failures = int(g.Calls+g.PriorCalls), int(g.Failures+g.PriorFailures)
	s.Level = int(g.Level)
	s.Probing = g.State == HalfOpen && now < g.LeaseUntil
	return s
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
