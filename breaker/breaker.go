package breaker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Breaker refuses operations on keys that fail. It is safe for concurrent use
// and may be shared.
type Breaker struct {
	cfg    Config
	params Params
	store  Store

	panics atomic.Uint64
	mu     sync.Mutex
	subs   map[uint64]*events.Hooks // guarded by mu
	subID  uint64                   // guarded by mu
}

// New returns a breaker. Errors name the field and its value.
func New(c Config) (*Breaker, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.Store == nil {
		c.Store = NewMemory(c.MaxKeys)
	}
	b := &Breaker{cfg: c, params: c.params(), store: c.Store, subs: make(map[uint64]*events.Hooks)}
	return b, nil
}

// Config returns the configuration with its defaults filled in.
func (b *Breaker) Config() Config { return b.cfg }

// Admit asks whether an operation on key may start. It returns a permit that
// must be settled, or a *[RejectedError].
func (b *Breaker) Admit(ctx context.Context, key string) (*Permit, error) {
	return b.AdmitLease(ctx, key, 0)
}

// AdmitLease is Admit for a caller whose operation may take long: if it
// becomes the probe, its lease lasts at least lease.
func (b *Breaker) AdmitLease(ctx context.Context, key string, lease time.Duration) (*Permit, error) {
	p := b.params
	p.ProbeLease = max(p.ProbeLease, ceilMillis(lease))
	var changes []Change
	p.Report = func(c Change) { changes = append(changes, c) }
	g, err := b.store.Admit(ctx, key, p)
	if err != nil {
		b.emitChanges(ctx, key, changes)
		var rejected *RejectedError
		if errors.As(err, &rejected) {
			if h := events.From(ctx); h != nil && h.BreakerRejected != nil {
				h.BreakerRejected(ctx, events.BreakerRejected{Meta: events.MetaFrom(ctx), Key: key, State: rejected.State, RetryAfter: rejected.RetryAfter})
			}
		}
		return nil, err
	}
	permit := &Permit{b: b, ctx: ctx, key: key, grant: g, lease: p.ProbeLease}
	if g.Lease != 0 {
		permit.result.State = HalfOpen
	}
	returned := false
	defer func() {
		if !returned {
			permit.Cancel() // a hook panicked: the lease must not be lost
		}
	}()
	b.emitChanges(ctx, key, changes)
	if g.Lease != 0 {
		b.emitProbe(ctx, key, false)
	}
	returned = true
	return permit, nil
}

func (b *Breaker) emitProbe(ctx context.Context, key string, released bool) {
	if h := events.From(ctx); h != nil && h.BreakerProbe != nil {
		h.BreakerProbe(ctx, events.BreakerProbe{Meta: events.MetaFrom(ctx), Key: key, Released: released})
	}
}

func (b *Breaker) emitChanges(ctx context.Context, key string, changes []Change) {
	for _, c := range changes {
		if c.From == c.To {
			continue
		}
		e := events.BreakerChanged{
			Meta: events.MetaFrom(ctx), Key: key, From: c.From, To: c.To,
			Cause: c.Cause, Cooldown: c.Cooldown, RetryAfter: c.RetryAfter,
		}
		if h := events.From(ctx); h != nil && h.BreakerChanged != nil {
			h.BreakerChanged(ctx, e)
		}
		if b.cfg.OnChange != nil {
			b.cfg.OnChange(e)
		}
	}
}

// Notify has h receive what happens outside any call, until stop is called:
// changes that a store learns of in the background, and the loss and return
// of a shared store. h's panics are recovered.
func (b *Breaker) Notify(h *events.Hooks) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subID++
	id := b.subID
	b.subs[id] = h
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, id)
	}
}

// HookPanics returns how many panics of hooks on background goroutines were
// recovered.
func (b *Breaker) HookPanics() uint64 { return b.panics.Load() }

// Snapshots returns what every known gate looks like.
func (b *Breaker) Snapshots() map[string]Snapshot {
	all := make(map[string]Snapshot)
	b.store.Snapshots(func(key string, s Snapshot) bool {
		all[key] = s
		return true
	})
	return all
}

// Snapshot returns what the gate of key looks like, false if it is unknown.
func (b *Breaker) Snapshot(key string) (Snapshot, bool) {
	var found Snapshot
	ok := false
	b.store.Snapshots(func(k string, s Snapshot) bool {
		found, ok = s, k == key
		return !ok
	})
	if !ok {
		found = Snapshot{}
	}
	return found, ok
}
