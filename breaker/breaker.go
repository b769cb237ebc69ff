package breaker

import (
	"context"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Breaker refuses operations on keys that fail. It is safe for concurrent use
// and may be shared between clients.
type Breaker struct {
	cfg    Config
	params Params
	local  *Memory // the store, or the gates that decide while store fails
	store  Store   // nil: local is the store
	loss   loss    // of store
	watch  watchers
}

// New returns a breaker. Its errors name the field, its value and what to give
// instead.
func New(c Config) (*Breaker, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Breaker{cfg: c, params: c.params()}
	b.local, b.store = NewMemory(c.MaxKeys), c.Store
	b.local.owner = b
	if b.store != nil {
		b.observe(b.store)
	}
	return b, nil
}

// Config returns the configuration with its defaults filled in. Store stays
// nil where it was.
func (b *Breaker) Config() Config { return b.cfg }

// Admit asks whether an operation on key may start. It returns a permit, which
// must be settled, or a *[RejectedError]. With a Store that asks the network,
// an ended ctx may give ctx's error, wrapped.
//
// Events of this admission and of its settlement go to the hooks that ctx
// carries ([events.From]) and carry its [events.MetaFrom]; the permit keeps
// ctx for that.
func (b *Breaker) Admit(ctx context.Context, key string) (*Permit, error) {
	return b.AdmitLease(ctx, key, 0)
}

// AdmitLease is Admit for an operation that may take long: should it become
// the probe, its lease lasts lease, or Config.ProbeLease if that is longer.
func (b *Breaker) AdmitLease(ctx context.Context, key string, lease time.Duration) (*Permit, error) {
	return b.AdmitIn(new(Permit), ctx, key, lease)
}

// AdmitIn is AdmitLease for who has memory for the permit: if it returns one,
// that may be at room, which must be a new Permit and must not be copied
// afterwards. It may also be another one.
func (b *Breaker) AdmitIn(room *Permit, ctx context.Context, key string, lease time.Duration) (*Permit, error) {
	if b.store != nil {
		return b.admitStore(ctx, key, lease)
	}
	if c := b.local.table.Load().find(key); c != nil {
		if generation, ok := c.admitNow(); ok {
			room.ctx, room.at, room.generation = ctx, &c.place, generation
			return room, nil
		}
	}
	return b.admitLocal(ctx, key, lease)
}

// admitLocal asks the local gate.
func (b *Breaker) admitLocal(ctx context.Context, key string, lease time.Duration) (*Permit, error) {
	c := b.local.cell(key, &b.params)
	if generation, ok := c.admitNow(); ok {
		return &Permit{ctx: ctx, at: &c.place, generation: generation}, nil
	}
	rules := b.leased(lease)
	c, a := b.local.admit(c, &rules)
	if !a.OK {
		err := a.rejected(c.key)
		b.emitRejected(ctx, err)
		return nil, err
	}
	permit := &Permit{ctx: ctx, at: &c.place, generation: a.Grant.Generation}
	if a.Grant.Lease != 0 {
		permit.probe(a.Grant.Lease, rules.ProbeLease)
		permit.announce(&a.Change, a.Changed)
	}
	return permit, nil
}

// leased returns the rules with a lease of at least d.
func (b *Breaker) leased(d time.Duration) Params {
	p := b.params
	p.ProbeLease = max(p.ProbeLease, ceilMillis(max(0, min(d, longest))))
	return p
}

// Snapshots returns what every gate looks like that this process knows.
func (b *Breaker) Snapshots() map[string]Snapshot {
	all := make(map[string]Snapshot)
	into := func(key string, s Snapshot) bool {
		all[key] = s
		return true
	}
	if b.store != nil {
		b.store.Snapshots(into)
		if !b.loss.lost() {
			return all
		}
	}
	b.local.Snapshots(into)
	return all
}

// Snapshot returns what the gate of key looks like, false if this process does
// not know it.
func (b *Breaker) Snapshot(key string) (Snapshot, bool) {
	if b.store == nil || b.loss.lost() {
		if s, ok := b.local.snapshot(key); ok || b.store == nil {
			return s, ok
		}
	}
	var found Snapshot
	ok := false
	b.store.Snapshots(func(k string, s Snapshot) bool {
		if k == key {
			found, ok = s, true
		}
		return !ok
	})
	return found, ok
}

// emitRejected tells ctx's hooks of a refusal.
func (b *Breaker) emitRejected(ctx context.Context, err *RejectedError) {
	if h := events.From(ctx); h != nil && h.BreakerRejected != nil {
		h.BreakerRejected(ctx, events.BreakerRejected{
			Meta: events.MetaFrom(ctx), Key: err.Key, State: err.State, RetryAfter: err.RetryAfter,
		})
	}
}

// emitProbe tells ctx's hooks of a lease.
func (b *Breaker) emitProbe(ctx context.Context, key string, released bool) {
	if h := events.From(ctx); h != nil && h.BreakerProbe != nil {
		h.BreakerProbe(ctx, events.BreakerProbe{Meta: events.MetaFrom(ctx), Key: key, Released: released})
	}
}

// emitChanged tells ctx's hooks and OnChange of a change of state.
func (b *Breaker) emitChanged(ctx context.Context, key string, c *Change) {
	if c.From == c.To {
		return
	}
	h := events.From(ctx)
	hooked := h != nil && h.BreakerChanged != nil
	if !hooked && b.cfg.OnChange == nil {
		return
	}
	e := c.event(events.MetaFrom(ctx), key)
	if hooked {
		h.BreakerChanged(ctx, e)
	}
	if b.cfg.OnChange != nil {
		b.cfg.OnChange(e)
	}
}

func (c *Change) event(m events.Meta, key string) events.BreakerChanged {
	return events.BreakerChanged{
		Meta: m, Key: key, From: c.From, To: c.To, Cause: c.Cause, Cooldown: c.Cooldown, RetryAfter: c.RetryAfter,
	}
}
