package otelbridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll-http/plimsoll/events"
)

// observation is what Observe was called with.
type observation struct {
	client  string
	sources Sources
}

// Observe makes the observed metrics of the named client ("" is "default")
// read from s whenever a reader collects, until stop is called or the Bridge
// is closed. Of sources that speak of the same series, counts are added up; of
// levels the lowest is reported, of breaker states the worst. A collection
// that has begun when stop is called may still read s. Stop is idempotent. The
// error says that the Bridge is closed.
func (b *Bridge) Observe(client string, s Sources) (stop func() error, err error) {
	o := &observation{client: clientName(client), sources: s}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, fmt.Errorf("otelbridge: Observe(%q) on a closed Bridge; make a new one", client)
	}
	b.observations = append(b.observations, o)
	b.mu.Unlock()
	b.owner(context.Background(), client)
	return sync.OnceValue(func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		// A collection may hold the old slice.
		b.observations = slices.DeleteFunc(slices.Clone(b.observations), func(x *observation) bool { return x == o })
		return nil
	}), nil
}

// collection gathers what the sources say in one collection, by what it is
// reported for.
type collection struct {
	b *Bridge

	tokens   map[*scope]TokenLevel
	breakers map[*scope]BreakerLevel
	requests map[*scope]int
	conns    map[*place]ConnCount
	panics   map[*owner]uint64
}

// collect is the callback of the observed instruments. A source that panics is
// counted, handed to OnPanic and left out.
func (b *Bridge) collect(ctx context.Context, out metric.Observer) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	all := b.observations
	b.collecting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.collecting--
	}()
	c := &collection{
		b:        b,
		tokens:   map[*scope]TokenLevel{},
		breakers: map[*scope]BreakerLevel{},
		requests: map[*scope]int{},
		conns:    map[*place]ConnCount{},
		panics:   map[*owner]uint64{},
	}
	var errs []error
	for _, o := range all {
		if err := c.read(ctx, o); err != nil {
			errs = append(errs, err)
		}
	}
	c.report(out)
	return errors.Join(errs...)
}

func (c *collection) read(ctx context.Context, o *observation) (err error) {
	owner := c.b.owner(ctx, o.client)
	c.panics[owner] += 0
	defer func() {
		if v := recover(); v != nil {
			c.b.panicked(ctx, o.client, v)
			err = fmt.Errorf("otelbridge: a source of client %q panicked", o.client)
		}
	}()
	if o.sources.HookPanics != nil {
		c.panics[owner] += o.sources.HookPanics()
	}
	if o.sources.Tokens != nil {
		o.sources.Tokens(func(l TokenLevel) bool {
			s := c.b.scope(ctx, o.client, l.Origin, l.Partition)
			if low, ok := c.tokens[s]; !ok || l.Tokens < low.Tokens {
				c.tokens[s] = l
			}
			return true
		})
	}
	if o.sources.Requests != nil {
		o.sources.Requests(func(r RequestCount) bool {
			c.requests[c.b.scope(ctx, o.client, r.Origin, r.Partition)] += r.Active
			return true
		})
	}
	if o.sources.Breakers != nil {
		o.sources.Breakers(func(l BreakerLevel) bool {
			s := c.b.scope(ctx, o.client, l.Origin, l.Partition)
			if before, ok := c.breakers[s]; ok {
				l = worse(before, l)
			}
			c.breakers[s] = l
			return true
		})
	}
	if o.sources.Conns != nil {
		o.sources.Conns(func(n ConnCount) bool {
			p := c.b.places.get(normal(o.client, n.Origin, ""))
			sum := c.conns[p]
			sum.Active += n.Active
			sum.Idle += n.Idle
			sum.Waiting += n.Waiting
			c.conns[p] = sum
			return true
		})
	}
	return nil
}

// worse joins two gates that are reported as one.
func worse(a, b BreakerLevel) BreakerLevel {
	severity := func(s events.BreakerState) int {
		return slices.Index([]events.BreakerState{events.BreakerClosed, events.BreakerHalfOpen, events.BreakerOpen}, s)
	}
	if severity(b.State) > severity(a.State) {
		a.State = b.State
	}
	a.Cooldown = max(a.Cooldown, b.Cooldown)
	return a
}

func (c *collection) report(out metric.Observer) {
	in := c.b.in
	for s, l := range c.tokens {
		out.ObserveInt64(in.budgetTokens, int64(l.Tokens), s.observe...)
		out.ObserveInt64(in.budgetCapacity, int64(l.Capacity), s.observe...)
	}
	for s, n := range c.requests {
		out.ObserveInt64(in.activeRequests, int64(n), s.observe...)
	}
	for s, l := range c.breakers {
		for i, state := range events.BreakerStates() {
			is := int64(0)
			if state == l.State {
				is = 1
			}
			out.ObserveInt64(in.breakerState, is, s.state[i]...)
		}
		out.ObserveFloat64(in.breakerCooldown, l.Cooldown.Seconds(), s.observe...)
	}
	for p, n := range c.conns {
		out.ObserveInt64(in.openConnections, int64(n.Active), p.active...)
		out.ObserveInt64(in.openConnections, int64(n.Idle), p.idle...)
		out.ObserveInt64(in.connWaiting, int64(n.Waiting), p.observe...)
	}
	for o, n := range c.panics {
		out.ObserveInt64(in.hookPanics, int64(n+o.panics.Load()), o.observe...)
	}
}
