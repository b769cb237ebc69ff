package breakertest

import (
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

// reopen fails the probe d after the last opening and demands the next
// cooldown.
func (s *subject) reopen(when string, d, next time.Duration) {
	g := s.probe(d)
	s.settle(when, g, failure, breaker.Result{State: breaker.Open, RetryAfter: next})
}

// heal closes the gate d after its opening, without a sample.
func (s *subject) heal(d time.Duration) {
	g := s.probe(d)
	s.settle("the probe", g, uncounted, breaker.Result{})
}

// openByRate opens a closed gate with an empty window by its rate and demands
// the cooldown.
func (s *subject) openByRate(when string, cooldown time.Duration) {
	for range s.p.MinCalls/2 - 1 {
		s.outcomes(when, failure, success)
	}
	s.outcomes(when, success)
	g := s.admitted(when, false)
	s.settle(when, g, failure, breaker.Result{State: breaker.Open, RetryAfter: cooldown})
}

var openCases = []Case{
	{
		Name:  "an open gate says what is left of its cooldown",
		Why:   "RetryAfter is how long until a retry is certainly worth attempting, so it shrinks with time and is never longer than that.",
		Still: true,
		run: func(s *subject) {
			s.open()
			s.h.Advance(s.p.Cooldown / 3)
			s.refused("a third later", breaker.Open, s.p.Cooldown*2/3)
			s.looks("a third later", breaker.Snapshot{
				State: breaker.Open, Cooldown: s.p.Cooldown, Left: s.p.Cooldown * 2 / 3,
				Streak: s.p.ConsecutiveFailures, Calls: s.p.ConsecutiveFailures, Failures: s.p.ConsecutiveFailures,
			})
			s.h.Advance(s.p.Cooldown*2/3 - time.Millisecond)
			s.refused("a millisecond before the end", breaker.Open, time.Millisecond)
			s.h.Advance(time.Millisecond)
			s.admitted("at the end", true)
		},
	},
	{
		Name: "results from before an opening are fenced out",
		Why: "Operations that were admitted while the gate was closed end while it is open, half-open or closed again. They belong to an " +
			"earlier generation: they change nothing and say 0.",
		run: func(s *subject) {
			early := make([]breaker.Grant, 3*5)
			for i := range early {
				early[i] = s.admitted("early", false)
			}
			s.open()
			late := func(when string, state breaker.State) {
				for _, o := range []breaker.Outcome{success, uncounted, failure, pushback, canceled} {
					s.settle("late, "+when, early[0], o, breaker.Result{State: state})
					early = early[1:]
				}
			}
			late("while open", breaker.Open)
			g := s.probe(s.p.Cooldown)
			late("while half-open", breaker.HalfOpen)
			s.settle("the probe", g, uncounted, breaker.Result{})
			late("when closed again", breaker.Closed)
			s.looks("when closed again", breaker.Snapshot{})
		},
	},
	{
		Name:  "failing probes double the cooldown up to its maximum",
		Why:   "An upstream that stays dead is asked less and less often: 60 s, 120 s, 240 s and so on, and never less often than MaxCooldown.",
		Still: true,
		run: func(s *subject) {
			s.open()
			cooldown := s.p.Cooldown
			for range 6 {
				next := min(2*cooldown, s.p.MaxCooldown)
				s.reopen("the probe failed", cooldown, next)
				cooldown = next
			}
			if cooldown != s.p.MaxCooldown {
				s.errorf("after six failed probes the cooldown is %v, want %v", cooldown, s.p.MaxCooldown)
			}
		},
	},
	{
		Name: "a streak opening lasts the base cooldown",
		Why: "Only the rate and failed probes raise the level. A streak opening lasts Cooldown however often it happens, and leaves the level " +
			"as it is.",
		Still: true,
		run: func(s *subject) {
			s.open()
			s.heal(s.p.Cooldown)
			s.open()
			s.heal(s.p.Cooldown)
			s.looks("after two streaks", breaker.Snapshot{})
			s.openByRate("a first rate opening", s.p.Cooldown)
			s.heal(s.p.Cooldown)
			s.open()
			s.looks("a streak after a rate opening", breaker.Snapshot{
				State: breaker.Open, Cooldown: s.p.Cooldown, Left: s.p.Cooldown, Level: 1,
				Streak: s.p.ConsecutiveFailures, Calls: s.p.ConsecutiveFailures, Failures: s.p.ConsecutiveFailures,
			})
			s.heal(s.p.Cooldown)
			s.openByRate("a rate opening before the level is gone", 2*s.p.Cooldown)
		},
	},
	{
		Name: "the level halves per base cooldown spent closed",
		Why: "An upstream that has been well for a while is trusted again: with level 4, a rate opening after one closed Cooldown lasts 4 " +
			"Cooldowns instead of 8, after three it is a first opening again. Closed time adds up across streak openings.",
		Still: true,
		run: func(s *subject) {
			rise := func() { // to level 4
				s.openByRate("level 1", s.p.Cooldown)
				s.reopen("level 2", s.p.Cooldown, 2*s.p.Cooldown)
				s.reopen("level 4", 2*s.p.Cooldown, 4*s.p.Cooldown)
				s.heal(4 * s.p.Cooldown)
			}
			rise()
			s.looks("closed again", breaker.Snapshot{Level: 4})
			s.h.Advance(s.p.Cooldown)
			s.looks("one cooldown closed", breaker.Snapshot{Level: 2})
			s.openByRate("one cooldown closed", 4*s.p.Cooldown)
			s.heal(4 * s.p.Cooldown)
			s.h.Advance(3 * s.p.Cooldown)
			s.looks("three cooldowns closed", breaker.Snapshot{})
			rise()
			s.h.Advance(s.p.Cooldown / 2)
			s.open()
			s.heal(s.p.Cooldown)
			s.h.Advance(s.p.Cooldown / 2)
			s.looks("two halves of a cooldown closed", breaker.Snapshot{Level: 2})
		},
	},
	{
		Name:  "changes are reported with their cause",
		Why:   "The caller whose event changed the gate hears of it once, before its call returns: from, to, cause and cooldown.",
		Still: true,
		run: func(s *subject) {
			s.open()
			s.reported("opened", breaker.Change{From: breaker.Closed, To: breaker.Open, Cause: events.BreakerStreak, Cooldown: s.p.Cooldown, RetryAfter: s.p.Cooldown})
			s.refused("open", breaker.Open, s.p.Cooldown)
			s.reported("a refusal changes nothing")
			g := s.probe(s.p.Cooldown)
			s.reported("a probe", breaker.Change{From: breaker.Open, To: breaker.HalfOpen, Cause: events.BreakerCooldown})
			s.settle("the probe failed", g, failure, breaker.Result{State: breaker.Open, RetryAfter: 2 * s.p.Cooldown})
			s.reported("the probe failed", breaker.Change{From: breaker.HalfOpen, To: breaker.Open, Cause: events.BreakerByProbe, Cooldown: 2 * s.p.Cooldown, RetryAfter: 2 * s.p.Cooldown})
			g = s.probe(2 * s.p.Cooldown)
			s.reported("a probe", breaker.Change{From: breaker.Open, To: breaker.HalfOpen, Cause: events.BreakerCooldown})
			s.settle("released", g, canceled, breaker.Result{State: breaker.HalfOpen})
			s.reported("released", breaker.Change{From: breaker.HalfOpen, To: breaker.HalfOpen, Cause: events.BreakerLease})
			s.admitted("the next probe", true)
			s.reported("the next probe")
			s.h.Advance(s.p.ProbeLease)
			g = s.admitted("taken over", true)
			s.reported("taken over", breaker.Change{From: breaker.HalfOpen, To: breaker.HalfOpen, Cause: events.BreakerLease})
			s.settle("the probe", g, success, breaker.Result{})
			s.reported("closed", breaker.Change{From: breaker.HalfOpen, To: breaker.Closed, Cause: events.BreakerByProbe})
		},
	},
}
