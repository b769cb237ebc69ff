package breakertest

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// takenOver opens the gate, lets a probe's short lease run out and has the
// next caller take it over with a whole one.
func (s *subject) takenOver() (old, holder breaker.Grant) {
	s.open()
	whole := s.p.ProbeLease
	s.p.ProbeLease = s.p.Cooldown / 2
	old = s.probe(s.p.Cooldown)
	short := s.p.ProbeLease
	s.p.ProbeLease = whole
	s.h.Advance(short)
	return old, s.admitted("after the lease ran out", true)
}

var probeCases = []Case{
	{
		Name: "exactly one of many callers probes",
		Why: "When the cooldown is over, one caller gets the lease and all others are refused: half-open, 0. A second probe would hit an upstream " +
			"that has just come back (resilience4j#1432).",
		run: func(s *subject) {
			s.open()
			s.h.Advance(s.p.Cooldown)
			var wg sync.WaitGroup
			var mu sync.Mutex
			probes := 0
			for range 16 {
				wg.Go(func() {
					g, err := s.h.Store.Admit(context.Background(), key, s.p)
					mu.Lock()
					defer mu.Unlock()
					if err == nil && g.Lease != 0 {
						probes++
					} else if err == nil {
						s.errorf("a caller was admitted without a lease")
					}
				})
			}
			wg.Wait()
			if probes != 1 {
				s.errorf("%d of 16 callers probe, want 1", probes)
			}
			s.refused("while the probe runs", breaker.HalfOpen, 0)
			snap := s.snapshot()
			if snap.State != breaker.HalfOpen || !snap.Probing || snap.Left != 0 {
				s.errorf("while the probe runs, the snapshot is %+v; want half-open, probing, nothing left", snap)
			}
		},
	},
	{
		Name: "a probe's success closes",
		Why:  "The gate is as new, but for its level: the streak and the window begin again, with this success in it if it counts.",
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			s.settle("the probe", g, success, breaker.Result{})
			s.looks("closed by a success", breaker.Snapshot{Calls: 1})
			s.admitted("closed", false)
		},
	},
	{
		Name: "an uncounted success of a probe closes",
		Why:  "It says that the upstream lives, which is what the probe asked; it adds no sample.",
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			s.settle("the probe", g, uncounted, breaker.Result{})
			s.looks("closed", breaker.Snapshot{})
		},
	},
	{
		Name: "a probe's failure reopens for twice as long",
		Why:  "The settlement says the new cooldown, as every later caller hears.",
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			s.settle("the probe", g, failure, breaker.Result{State: breaker.Open, RetryAfter: 2 * s.p.Cooldown})
			s.refused("reopened", breaker.Open, 2*s.p.Cooldown)
		},
	},
	{
		Name: "an expired lease is taken over and its old holder fenced out",
		Why: "A probe that was forgotten, or takes too long, must not keep the gate shut. What its holder reports later is about a lease that " +
			"someone else holds: success and failure change nothing and say 0.",
		run: func(s *subject) {
			for _, o := range []breaker.Outcome{success, uncounted, failure, pushback, canceled} {
				old, holder := s.takenOver()
				s.settle("the old holder", old, o, breaker.Result{State: breaker.HalfOpen})
				s.refused("after the old holder's "+o.String(), breaker.HalfOpen, 0)
				s.settle("the new holder", holder, uncounted, breaker.Result{})
				if len(s.errs) > 0 {
					return
				}
			}
		},
	},
	{
		Name: "an expired lease that nobody took over still counts",
		Why:  "A late answer of the probe is the best that anyone knows about the upstream.",
		run: func(s *subject) {
			s.open()
			whole := s.p.ProbeLease
			s.p.ProbeLease = s.p.Cooldown / 2
			g := s.probe(s.p.Cooldown)
			s.h.Advance(s.p.ProbeLease)
			s.p.ProbeLease = whole
			s.settle("late", g, success, breaker.Result{})
		},
	},
	{
		Name: "backpressure and cancellation release the lease",
		Why: "They say nothing about whether the upstream is well, so the next caller may probe at once (gh-aw-mcpg#10686). The gate stays " +
			"half-open and nobody's.",
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			for _, o := range []breaker.Outcome{pushback, canceled} {
				s.settle("the probe", g, o, breaker.Result{State: breaker.HalfOpen})
				if snap := s.snapshot(); snap.State != breaker.HalfOpen || snap.Probing {
					s.errorf("after a released lease the snapshot is %+v; want half-open and not probing", snap)
				}
				g = s.admitted("after the release", true)
			}
			s.refused("while the last one probes", breaker.HalfOpen, 0)
		},
	},
	{
		Name: "a released lease is over",
		Why:  "What a holder says after it has given the lease back changes nothing, whether the lease was taken by another or not.",
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			s.settle("the probe", g, canceled, breaker.Result{State: breaker.HalfOpen})
			for _, o := range []breaker.Outcome{success, failure, canceled} {
				s.settle("after its release", g, o, breaker.Result{State: breaker.HalfOpen})
			}
			if s.renew(g) {
				s.errorf("Renew of a released lease reported true")
			}
			s.admitted("the next", true)
			for _, o := range []breaker.Outcome{success, failure, canceled} {
				s.settle("while another probes", g, o, breaker.Result{State: breaker.HalfOpen})
			}
			s.refused("while another probes", breaker.HalfOpen, 0)
		},
	},
	{
		Name: "a lease can be renewed by its holder alone",
		Why:  "Renew counts from now. It must refuse an old holder, or two probes run at once.",
		run: func(s *subject) {
			old, holder := s.takenOver()
			if s.renew(old) {
				s.errorf("Renew of a lease that was taken over reported true")
			}
			if !s.renew(holder) {
				s.errorf("Renew of the held lease reported false")
			}
			if g := (breaker.Grant{Generation: holder.Generation}); s.renew(g) {
				s.errorf("Renew of a grant without a lease reported true")
			}
			s.refused("renewed", breaker.HalfOpen, 0)
		},
	},
	{
		Name:  "a renewed lease lasts from its renewal",
		Why:   "A long operation renews now and then; its lease runs out one lease after the last renewal, and not before.",
		Still: true,
		run: func(s *subject) {
			s.open()
			g := s.probe(s.p.Cooldown)
			for range 3 {
				s.h.Advance(s.p.ProbeLease - time.Millisecond)
				if !s.renew(g) {
					s.errorf("Renew of the held lease reported false")
				}
			}
			s.h.Advance(s.p.ProbeLease - time.Millisecond)
			s.refused("a millisecond before its end", breaker.HalfOpen, 0)
			s.h.Advance(time.Millisecond)
			s.admitted("at its end", true)
		},
	},
}

func (s *subject) renew(g breaker.Grant) bool {
	ok, err := s.h.Store.Renew(context.Background(), key, g, s.p)
	if err != nil {
		s.errorf("Renew failed: %w", err)
	}
	return ok
}
