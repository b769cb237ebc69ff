package breaker

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Permit is an admission that has to be settled exactly once. Its first
// settlement counts; later ones change nothing and return the first result.
// It is safe for concurrent use.
type Permit struct {
	b     *Breaker
	ctx   context.Context
	key   string
	grant Grant
	lease time.Duration

	mu      sync.Mutex
	settled bool   // guarded by mu
	result  Result // guarded by mu
}

// Success settles with [Success].
func (p *Permit) Success() Result { return p.Settle(Success) }

// SuccessUncounted settles with [SuccessUncounted].
func (p *Permit) SuccessUncounted() Result { return p.Settle(SuccessUncounted) }

// Failure settles with [Failure].
func (p *Permit) Failure() Result { return p.Settle(Failure) }

// Backpressure settles with [Backpressure].
func (p *Permit) Backpressure() Result { return p.Settle(Backpressure) }

// Cancel settles with [Cancel].
func (p *Permit) Cancel() Result { return p.Settle(Cancel) }

// Settle says what became of the operation.
func (p *Permit) Settle(o Outcome) Result {
	result, changes := p.settle(o)
	for _, c := range changes {
		if c.From == c.To && c.Cause == events.BreakerLease {
			p.b.emitProbe(p.ctx, p.key, true)
		}
	}
	p.b.emitChanges(p.ctx, p.key, changes)
	return result
}

func (p *Permit) settle(o Outcome) (Result, []Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled {
		return p.result, nil
	}
	var changes []Change
	params := p.b.params
	params.Report = func(c Change) { changes = append(changes, c) }
	r, err := p.b.store.Settle(context.WithoutCancel(p.ctx), p.key, p.grant, o, params)
	if err == nil {
		p.result = r
	}
	p.settled = true
	return p.result, changes
}

// Result returns the result of the settlement; before it, the state at
// admission.
func (p *Permit) Result() Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// Probe reports whether this is the probe of a half-open gate.
func (p *Permit) Probe() bool { return p.grant.Lease != 0 }

// Renew extends a probe's lease to its full length from now. It reports
// whether the permit still holds the lease; false for one that is no probe or
// is settled.
func (p *Permit) Renew(ctx context.Context) bool {
	if !p.Probe() {
		return false
	}
	params := p.b.params
	params.ProbeLease = p.lease
	ok, err := p.b.store.Renew(ctx, p.key, p.grant, params)
	return err == nil && ok
}
