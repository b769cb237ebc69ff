package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// retryStore is how often a store that failed is tried again.
const retryStore = time.Second

// loss remembers that a store fails, so that not every operation waits for it.
type loss struct {
	next atomic.Int64 // when to try again, in the local store's milliseconds; 0: the store works
}

func (l *loss) lost() bool { return l.next.Load() != 0 }

// try reports whether the store is to be asked: always while it works, one
// operation per retryStore while it does not.
func (l *loss) try(m *Memory) bool {
	next := l.next.Load()
	if next == 0 {
		return true
	}
	now := m.now()
	return now >= next && l.next.CompareAndSwap(next, now+retryStore.Milliseconds())
}

// failed reports whether this was the first failure.
func (l *loss) failed(now int64) bool { return l.next.Swap(now+retryStore.Milliseconds()) == 0 }

// worked reports whether the store was lost until now.
func (l *loss) worked() bool { return l.next.Load() != 0 && l.next.Swap(0) != 0 }

// admitStore asks the store, or the local gate while the store fails.
func (b *Breaker) admitStore(ctx context.Context, key string, lease time.Duration) (*Permit, error) {
	if !b.loss.try(b.local) {
		return b.admitLocal(ctx, key, lease)
	}
	told := collect()
	defer told.done()
	rules := b.leased(lease)
	rules.Report = told.report
	g, err := b.store.Admit(ctx, key, rules)
	if err != nil {
		return b.refused(ctx, key, lease, told.changes, err)
	}
	b.storeWorked()
	from := &shared{place: place{b: b, key: key}, grant: g, lease: rules.ProbeLease}
	from.place.shared = from
	if g.Lease != 0 {
		from.result.State = HalfOpen
	}
	permit := &Permit{ctx: ctx, at: &from.place}
	permit.announceShared(told.changes)
	return permit, nil
}

// refused makes the best of a store's error.
func (b *Breaker) refused(ctx context.Context, key string, lease time.Duration, changes []Change, err error) (*Permit, error) {
	var rejected *RejectedError
	switch {
	case errors.As(err, &rejected):
		b.storeWorked()
		for i := range changes {
			b.emitChanged(ctx, key, &changes[i])
		}
		b.emitRejected(ctx, rejected)
		return nil, rejected
	case ctx.Err() != nil:
		return nil, fmt.Errorf("breaker: admission of %q: %w", key, err)
	default:
		b.storeFailed()
		return b.admitLocal(ctx, key, lease)
	}
}

// collector receives what a store reports during one operation.
type collector struct {
	changes []Change
	report  func(Change)
}

var collectors = sync.Pool{New: func() any {
	c := &collector{}
	c.report = func(ch Change) { c.changes = append(c.changes, ch) }
	return c
}}

func collect() *collector { return collectors.Get().(*collector) }

func (c *collector) done() {
	c.changes = c.changes[:0]
	collectors.Put(c)
}

// shared is the part of a permit that a shared store gave.
type shared struct {
	place
	grant Grant
	lease time.Duration

	mu      sync.Mutex // held while the store settles
	settled bool       // guarded by mu
	result  Result     // guarded by mu
}

func (s *shared) read() Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result
}

// announceShared emits what a store reported of an admission. If a hook
// panics, the admission is taken back.
func (p *Permit) announceShared(changes []Change) {
	if len(changes) == 0 && !p.Probe() {
		return
	}
	done := false
	defer func() {
		if !done {
			p.Cancel()
		}
	}()
	for i := range changes {
		p.at.b.emitChanged(p.ctx, p.at.key, &changes[i])
	}
	if p.Probe() {
		p.at.b.emitProbe(p.ctx, p.at.key, false)
	}
	done = true
}

// settleShared settles what the store granted. If the store fails, the local
// gate counts the outcome.
func (p *Permit) settleShared(o Outcome) Result {
	told := collect()
	defer told.done()
	r := p.settleOnce(o, told)
	for i := range told.changes {
		p.tell(&told.changes[i])
	}
	return r
}

func (p *Permit) settleOnce(o Outcome, told *collector) Result {
	s := p.at.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settled {
		s.settled = true
		s.result = p.at.b.settleGrant(p.ctx, s.key, s.grant, o, told)
	}
	return s.result
}

func (b *Breaker) settleGrant(ctx context.Context, key string, g Grant, o Outcome, told *collector) Result {
	if b.loss.try(b.local) {
		rules := b.params
		rules.Report = told.report
		r, err := b.store.Settle(context.WithoutCancel(ctx), key, g, o, rules)
		if err == nil {
			b.storeWorked()
			return r
		}
		b.storeFailed()
	}
	c := b.local.cell(key, &b.params)
	_, a := b.local.step(c, Event{Verb: DoSettle, Grant: Grant{Generation: c.head.Load() >> 2}, Outcome: o}, &b.params)
	if a.Changed {
		told.report(a.Change)
	}
	return a.Result
}

func (b *Breaker) storeFailed() {
	if b.loss.failed(b.local.now()) {
		b.notifyStore(false)
	}
}

func (b *Breaker) storeWorked() {
	if b.loss.worked() {
		b.notifyStore(true)
	}
}
