package breakertest

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// Harness is a store under test.
type Harness struct {
	// Store is a store without keys.
	Store breaker.Store
	// Advance makes d pass for the store. It must be set.
	Advance func(d time.Duration)
	// Settled makes all settlements so far count; nil: each counts at once.
	Settled func()
	// Params are the rules; MinCalls 0 means [Defaults]. A store on a real
	// clock wants a short Cooldown and a long BucketWidth and ProbeLease.
	Params breaker.Params
	// Real says that time passes by itself too. Durations are then upper
	// bounds only, and the cases marked Still are skipped.
	Real bool
}

// Defaults returns the rules of a breaker.Config without any field set.
func Defaults() breaker.Params {
	return breaker.Params{
		ConsecutiveFailures: 5,
		FailureRate:         500_000,
		MinCalls:            20,
		BucketWidth:         30 * time.Second,
		Cooldown:            60 * time.Second,
		MaxCooldown:         10 * time.Minute,
		ProbeLease:          30 * time.Second,
		Timeout:             5 * time.Second,
	}
}

// Case is one rule.
type Case struct {
	Name string // a sentence
	Why  string // what goes wrong with a store that breaks the rule
	// Still says that the case needs a clock that moves by Advance alone.
	Still bool

	run func(*subject)
}

// Cases returns the whole suite.
func Cases() []Case { return slices.Concat(closedCases, openCases, probeCases, sharedCases) }

// Check runs the case on a fresh harness. It returns every violation, nil if
// there is none.
func (c Case) Check(h Harness) error {
	if h.Advance == nil {
		return errors.New("breakertest: Harness.Advance is nil; set it, or use RunVirtual")
	}
	if h.Params.MinCalls == 0 {
		h.Params = Defaults()
	}
	s := &subject{h: h, p: h.Params}
	s.p.Report = func(ch breaker.Change) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changes = append(s.changes, ch)
	}
	c.run(s)
	return errors.Join(s.errs...)
}

// Run runs the suite. newHarness is called once per case.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.report(t, newHarness(t)) })
	}
}

// RunVirtual runs the suite in bubbles of testing/synctest. newStore is called
// once per case, inside.
func RunVirtual(t *testing.T, newStore func(t *testing.T) breaker.Store) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.report(t, Harness{Store: newStore(t), Advance: pass})
			})
		})
	}
}

// pass lets time go by in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func (c Case) report(t *testing.T, h Harness) {
	if c.Still && h.Real {
		t.Skip("needs a clock that moves by Advance alone")
	}
	if err := c.Check(h); err != nil {
		t.Errorf("%v\nThe rule: %s", err, c.Why)
	}
}
