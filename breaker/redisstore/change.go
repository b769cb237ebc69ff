package redisstore

import (
	"slices"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

// path returns the changes that lead from the state of old to the newer gate g:
// those that this process saw happen, or that must have happened elsewhere in
// between.
func path(old, g *breaker.Gate, now int64) []breaker.Change {
	if old.State == breaker.Closed && g.State == breaker.Closed {
		return nil
	}
	var changes []breaker.Change
	from := old.State
	for {
		to := breaker.Open
		switch {
		case from == breaker.Open:
			to = breaker.HalfOpen
		case from == breaker.HalfOpen && g.State == breaker.Closed:
			to = breaker.Closed
		}
		changes = append(changes, step(from, to, g, now))
		if to == g.State {
			return changes
		}
		from = to
	}
}

// step describes one change on the way to g.
func step(from, to breaker.State, g *breaker.Gate, now int64) breaker.Change {
	c := breaker.Change{From: from, To: to}
	switch {
	case from == to:
		c.Cause = events.BreakerLease
	case to == breaker.HalfOpen:
		c.Cause = events.BreakerCooldown
	case from == breaker.HalfOpen:
		c.Cause = events.BreakerByProbe
	default:
		c.Cause = g.Cause
	}
	if to == breaker.Open {
		c.Cooldown = millis(g.Cooldown)
		if g.State == breaker.Open {
			c.RetryAfter = millis(max(0, g.OpenUntil-now))
		}
	}
	return c
}

// observers are the breakers that want to hear what happens outside calls.
type observer struct {
	changed   func(string, breaker.Change)
	available func(bool)
}

// Observe implements [breaker.Observable].
func (s *Store) Observe(changed func(string, breaker.Change), available func(bool)) (stop func()) {
	o := &observer{changed, available}
	s.observerMu.Lock()
	defer s.observerMu.Unlock()
	s.observers = append(slices.Clip(s.observers), o)
	return func() {
		s.observerMu.Lock()
		defer s.observerMu.Unlock()
		kept := make([]*observer, 0, len(s.observers))
		for _, other := range s.observers {
			if other != o {
				kept = append(kept, other)
			}
		}
		s.observers = kept
	}
}

func (s *Store) observing() []*observer {
	s.observerMu.Lock()
	defer s.observerMu.Unlock()
	return s.observers
}

// learnt tells the observers of changes that no call brought about.
func (s *Store) learnt(key string, changes []breaker.Change) {
	for _, o := range s.observing() {
		for _, c := range changes {
			o.changed(key, c)
		}
	}
}

// report tells the caller of its changes.
func report(p *breaker.Params, changes []breaker.Change) {
	if p.Report == nil {
		return
	}
	for _, c := range changes {
		p.Report(c)
	}
}

const (
	flushInterval = 50 * time.Millisecond // from a first outcome to its flush
	flushGap      = 25 * time.Millisecond // between two flushes, or two questions about a half-open gate
	staleAfter    = time.Second           // how old an answer of Closed may be that admissions rely on
	retryInterval = time.Second           // between two attempts to reach a lost server

	// Commands about a half-open gate: 17 at once and 20 a second, so at most 37
	// in any second. That leaves room, within 40, for the probe that ended the
	// cooldown and for a settlement that was paid for in the second before.
	halfOpenPace  = 50 * time.Millisecond
	halfOpenBurst = 17
)
