package breaker

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Permit is an admission. It must be settled: a probe's permit that is
// forgotten keeps the gate half-open until its lease runs out. The first
// settlement counts; later ones change nothing and return the first one's
// result. A Permit is safe for concurrent use.
type Permit struct {
	ctx        context.Context
	at         *place
	generation int64

	// The numbers are small so that a permit takes one small allocation. They
	// do not change once the permit is shared between goroutines, but for
	// those that phase guards.
	lease   uint32 // the number of the probe lease; 0: no probe
	leaseMS uint32 // the lease's length
	leftMS  uint32 // the result's RetryAfter; written before phase says settled
	phase   atomic.Uint32
}

// place is where an admission came from.
type place struct {
	b      *Breaker
	key    string
	cell   *cell   // of the local gate that gave it; nil: shared is set
	shared *shared // what an admission by a store has instead
}

// A phase is fresh, settling or settled, and a state: that at admission, or
// that of the result.
const (
	fresh    = 0 << 2
	settling = 1 << 2
	settled  = 2 << 2
	stateOf  = 3
)

// probe makes the permit that of a probe, before anyone else sees it.
func (p *Permit) probe(number int64, length time.Duration) {
	p.lease, p.leaseMS = uint32(number), uint32(length.Milliseconds())
	p.phase.Store(fresh | uint32(HalfOpen))
}

func (p *Permit) grant() Grant { return Grant{Generation: p.generation, Lease: int64(p.lease)} }

// Success settles with [Success]: the operation went well. It ends the streak, adds
// a sample, and closes the gate if this is the probe.
func (p *Permit) Success() Result { return p.Settle(Success) }

// SuccessUncounted settles with [SuccessUncounted]: as Success, without a sample
// in the window, for operations that say little about the key.
func (p *Permit) SuccessUncounted() Result { return p.Settle(SuccessUncounted) }

// Failure settles with [Failure]: it adds to the streak and to the window, which
// may open the gate, and reopens it if this is the probe.
func (p *Permit) Failure() Result { return p.Settle(Failure) }

// Backpressure settles with [Backpressure]: the key is alive and asks for less, as
// with 429. It leaves no trace; a probe gives its lease back.
func (p *Permit) Backpressure() Result { return p.Settle(Backpressure) }

// Cancel settles with [Cancel]: nothing was learnt, since the caller gave up. It
// leaves no trace; a probe gives its lease back.
func (p *Permit) Cancel() Result { return p.Settle(Cancel) }

// Settle says what became of the operation and returns what that made of the
// gate. An ended context does not keep it from counting.
func (p *Permit) Settle(o Outcome) Result {
	if p.at.shared != nil {
		return p.settleShared(o)
	}
	phase := p.phase.Load()
	if phase&^stateOf != fresh || !p.phase.CompareAndSwap(phase, settling) {
		return p.Result()
	}
	if p.at.cell.settleNow(p.grant(), o, &p.at.b.params) {
		p.phase.Store(settled)
		return Result{}
	}
	_, a := p.at.b.local.step(p.at.cell, Event{Verb: DoSettle, Grant: p.grant(), Outcome: o}, &p.at.b.params)
	p.leftMS = uint32(a.Result.RetryAfter.Milliseconds())
	p.phase.Store(settled | uint32(a.Result.State))
	if a.Changed {
		p.tell(&a.Change)
	}
	return a.Result
}

// Result returns what the settlement returned; before it, the state at
// admission: [Closed], or [HalfOpen] for a probe.
func (p *Permit) Result() Result {
	if p.at.shared != nil {
		return p.at.shared.read()
	}
	for {
		switch phase := p.phase.Load(); phase &^ stateOf {
		case fresh:
			return Result{State: State(phase & stateOf)}
		case settled:
			return Result{State: State(phase & stateOf), RetryAfter: millis(int64(p.leftMS))}
		}
		runtime.Gosched() // the settlement runs no foreign code and waits for nothing
	}
}

// tell emits one change that the settlement made.
func (p *Permit) tell(c *Change) {
	if c.From == c.To {
		p.at.b.emitProbe(p.ctx, p.at.key, true)
		return
	}
	p.at.b.emitChanged(p.ctx, p.at.key, c)
}

// announce emits what the admission of a probe changed. If a hook panics, the
// lease goes back.
func (p *Permit) announce(c *Change, changed bool) {
	done := false
	defer func() {
		if !done {
			p.Cancel()
		}
	}()
	if changed {
		p.at.b.emitChanged(p.ctx, p.at.key, c)
	}
	p.at.b.emitProbe(p.ctx, p.at.key, false)
	done = true
}

// Probe reports whether this is the probe of a half-open gate.
func (p *Permit) Probe() bool {
	if p.at.shared != nil {
		return p.at.shared.grant.Lease != 0
	}
	return p.lease != 0
}

// Renew makes a probe's lease last its full length from now. It reports
// whether the permit holds the lease: false where it is no probe, is settled,
// or someone else has taken the lease over after it ran out.
func (p *Permit) Renew(ctx context.Context) bool {
	if !p.Probe() {
		return false
	}
	rules := p.at.b.params
	if p.at.shared != nil {
		rules.ProbeLease = p.at.shared.lease
		ok, err := p.at.b.store.Renew(ctx, p.at.key, p.at.shared.grant, rules)
		return err == nil && ok
	}
	rules.ProbeLease = millis(int64(p.leaseMS))
	_, a := p.at.b.local.step(p.at.cell, Event{Verb: DoRenew, Grant: p.grant()}, &rules)
	return a.OK
}
