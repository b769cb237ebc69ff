package breakertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// subject drives one store through one case and collects what it did wrong.
type subject struct {
	h    Harness
	p    breaker.Params
	errs []error

	mu      sync.Mutex
	changes []breaker.Change // guarded by mu; reported and not looked at yet
}

const key = "https://api.example:443"

func (s *subject) errorf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// admit asks for admission to k.
func (s *subject) admit(k string) (breaker.Grant, *breaker.RejectedError) {
	g, err := s.h.Store.Admit(context.Background(), k, s.p)
	var rejected *breaker.RejectedError
	if err != nil && !errors.As(err, &rejected) {
		s.errorf("Admit(%q) failed: %w", k, err)
		return g, &breaker.RejectedError{Key: k, State: 99}
	}
	return g, rejected
}

// admitted demands admission, as a probe or not.
func (s *subject) admitted(when string, probe bool) breaker.Grant {
	g, rejected := s.admit(key)
	switch {
	case rejected != nil:
		s.errorf("%s: Admit was refused (%v), want it granted", when, rejected)
	case probe != (g.Lease != 0):
		s.errorf("%s: Admit granted lease %d, want a probe: %t", when, g.Lease, probe)
	}
	return g
}

// refused demands a refusal with exactly that state and delay.
func (s *subject) refused(when string, state breaker.State, after time.Duration) {
	g, rejected := s.admit(key)
	if rejected == nil {
		s.errorf("%s: Admit granted (lease %d), want it refused as %v", when, g.Lease, state)
		return
	}
	if rejected.Key != key {
		s.errorf("%s: the refusal names key %q, want %q", when, rejected.Key, key)
	}
	s.compare(when+": Admit refused", breaker.Result{State: rejected.State, RetryAfter: rejected.RetryAfter},
		breaker.Result{State: state, RetryAfter: after})
}

// settle settles g and demands exactly that result.
func (s *subject) settle(when string, g breaker.Grant, o breaker.Outcome, want breaker.Result) {
	r, err := s.h.Store.Settle(context.Background(), key, g, o, s.p)
	if err != nil {
		s.errorf("%s: Settle(%v) failed: %w", when, o, err)
		return
	}
	s.flush()
	s.compare(fmt.Sprintf("%s: Settle(%v)", when, o), r, want)
}

func (s *subject) flush() {
	if s.h.Settled != nil {
		s.h.Settled()
	}
}

func (s *subject) compare(what string, got, want breaker.Result) {
	ok := got.State == want.State && got.RetryAfter == want.RetryAfter
	if s.h.Real && got.State == want.State {
		ok = got.RetryAfter >= 0 && got.RetryAfter <= want.RetryAfter && (want.RetryAfter == 0 || got.RetryAfter > 0)
	}
	if !ok {
		s.errorf("%s said %v and %v, want %v and %v", what, got.State, got.RetryAfter, want.State, want.RetryAfter)
	}
}

// outcomes admits and settles one after the other on a gate that stays closed.
func (s *subject) outcomes(when string, outcomes ...breaker.Outcome) {
	for i, o := range outcomes {
		g := s.admitted(fmt.Sprintf("%s, call %d", when, i+1), false)
		s.settle(fmt.Sprintf("%s, call %d", when, i+1), g, o, breaker.Result{})
		if len(s.errs) > 0 {
			return // what follows would only repeat it
		}
	}
}

// open opens a cold gate by a streak and returns how it did.
func (s *subject) open() {
	s.outcomes("opening", repeat(s.p.ConsecutiveFailures-1, breaker.Failure)...)
	g := s.admitted("opening", false)
	s.settle("the last failure of the streak", g, breaker.Failure,
		breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
}

// probe waits for the cooldown d to pass and takes the lease.
func (s *subject) probe(d time.Duration) breaker.Grant {
	s.h.Advance(d)
	return s.admitted("after the cooldown", true)
}

// reported demands exactly these changes since it was last called.
func (s *subject) reported(when string, want ...breaker.Change) {
	s.mu.Lock()
	got := s.changes
	s.changes = nil
	s.mu.Unlock()
	if !slices.Equal(got, want) {
		s.errorf("%s: reported %+v, want %+v", when, got, want)
	}
}

// snapshot returns the key's snapshot, generation left out.
func (s *subject) snapshot() breaker.Snapshot {
	var found breaker.Snapshot
	n := 0
	s.h.Store.Snapshots(func(k string, snap breaker.Snapshot) bool {
		if k == key {
			found = snap
			n++
		}
		return true
	})
	if n != 1 {
		s.errorf("Snapshots yielded %q %d times, want once", key, n)
	}
	found.Generation = 0
	return found
}

// looks demands a snapshot.
func (s *subject) looks(when string, want breaker.Snapshot) {
	if got := s.snapshot(); got != want {
		s.errorf("%s: the snapshot is %+v, want %+v", when, got, want)
	}
}

func repeat(n int, outcomes ...breaker.Outcome) []breaker.Outcome {
	return slices.Repeat(outcomes, n)
}
