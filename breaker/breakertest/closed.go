package breakertest

import (
	"slices"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

const (
	success   = breaker.Success
	uncounted = breaker.SuccessUncounted
	failure   = breaker.Failure
	pushback  = breaker.Backpressure
	canceled  = breaker.Cancel
)

// fewer is one failure less than a streak needs.
func (s *subject) fewer() []breaker.Outcome { return repeat(s.p.ConsecutiveFailures-1, failure) }

// warm fills the window with at least MinCalls successes.
func (s *subject) warm(n int) { s.outcomes("warming up", repeat(n, success)...) }

var closedCases = []Case{
	{
		Name: "a streak opens a cold gate",
		Why: "ConsecutiveFailures failures in a row, with fewer than MinCalls samples in the window, open the gate. The settlement that " +
			"opened it says the whole cooldown.",
		Still: true,
		run: func(s *subject) {
			s.outcomes("before", s.fewer()...)
			s.reported("one failure too few")
			s.looks("one failure too few", breaker.Snapshot{Streak: s.p.ConsecutiveFailures - 1, Calls: s.p.ConsecutiveFailures - 1, Failures: s.p.ConsecutiveFailures - 1})
			g := s.admitted("last", false)
			s.settle("last", g, failure, breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
			s.reported("the streak is complete", breaker.Change{
				From: breaker.Closed, To: breaker.Open, Cause: events.BreakerStreak, Cooldown: s.p.Cooldown, RetryAfter: s.p.Cooldown,
			})
			s.looks("open", breaker.Snapshot{
				State: breaker.Open, Cooldown: s.p.Cooldown, Left: s.p.Cooldown,
				Streak: s.p.ConsecutiveFailures, Calls: s.p.ConsecutiveFailures, Failures: s.p.ConsecutiveFailures,
			})
			s.refused("right after", breaker.Open, s.p.Cooldown)
		},
	},
	{
		Name:  "a success ends a streak",
		Why:   "Only failures in a row are a streak.",
		Still: true,
		run: func(s *subject) {
			s.outcomes("with a success in between", slices.Concat(s.fewer(), repeat(1, success), s.fewer())...)
			s.looks("with a success in between", breaker.Snapshot{
				Streak: s.p.ConsecutiveFailures - 1, Calls: 2*s.p.ConsecutiveFailures - 1, Failures: 2 * (s.p.ConsecutiveFailures - 1),
			})
		},
	},
	{
		Name: "an uncounted success ends a streak and adds no sample",
		Why:  "SuccessUncounted says that the upstream lives, without a weight in the window.",
		run: func(s *subject) {
			s.outcomes("alone", repeat(50, uncounted)...)
			s.looks("50 uncounted successes", breaker.Snapshot{})
			s.outcomes("after failures", slices.Concat(s.fewer(), repeat(1, uncounted), s.fewer(), repeat(1, uncounted))...)
			s.looks("after failures", breaker.Snapshot{Calls: 2 * (s.p.ConsecutiveFailures - 1), Failures: 2 * (s.p.ConsecutiveFailures - 1)})
		},
	},
	{
		Name: "backpressure and cancellation leave no trace",
		Why: "A 429 says that the upstream lives and wants less; a caller that gave up says nothing at all. Neither counts, and neither ends " +
			"a streak.",
		run: func(s *subject) {
			s.outcomes("alone", repeat(100, pushback, canceled)...)
			s.looks("200 neutral outcomes", breaker.Snapshot{})
			s.outcomes("failures", s.fewer()...)
			s.outcomes("between failures", repeat(50, pushback, canceled)...)
			s.looks("between failures", breaker.Snapshot{
				Streak: s.p.ConsecutiveFailures - 1, Calls: s.p.ConsecutiveFailures - 1, Failures: s.p.ConsecutiveFailures - 1,
			})
			g := s.admitted("the streak goes on", false)
			s.settle("the streak goes on", g, failure, breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
		},
	},
	{
		Name: "a streak in a warm window is noise",
		Why: "With MinCalls samples and a rate below FailureRate, a streak of ConsecutiveFailures is what random noise does all the time; " +
			"a breaker that opens on it takes a healthy upstream away.",
		run: func(s *subject) {
			s.warm(4 * s.p.MinCalls)
			s.outcomes("the noise", repeat(s.p.ConsecutiveFailures+1, failure)...)
			s.outcomes("after the noise", success)
		},
	},
	{
		Name:  "the rate opens from MinCalls samples",
		Why:   "One sample fewer than MinCalls never opens by rate; with MinCalls, failures/total at FailureRate opens.",
		Still: true,
		run: func(s *subject) {
			for range (s.p.MinCalls - 1) / 2 {
				s.outcomes("too few samples", failure, success)
			}
			s.outcomes("too few samples", success)
			s.reported("too few samples")
			g := s.admitted("enough samples", false)
			s.settle("enough samples", g, failure, breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
			s.reported("enough samples", breaker.Change{
				From: breaker.Closed, To: breaker.Open, Cause: events.BreakerRate, Cooldown: s.p.Cooldown, RetryAfter: s.p.Cooldown,
			})
		},
	},
	{
		Name: "every sample is judged",
		Why:  "The rate holds or it does not, whichever kind of sample completed the window: a success can be the one that makes it MinCalls.",
		run: func(s *subject) {
			for range s.p.MinCalls/2 - 1 {
				s.outcomes("too few samples", failure, success)
			}
			s.outcomes("too few samples", failure)
			g := s.admitted("the last", false)
			s.settle("the last", g, success, breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
		},
	},
	{
		Name:  "sudden death of a warm key opens",
		Why:   "A streak of max(MinCalls, ConsecutiveFailures) is no noise, however many successes the window holds; it opens as a rate does.",
		Still: true,
		run: func(s *subject) {
			s.warm(10 * s.p.MinCalls)
			s.outcomes("dying", repeat(s.p.MinCalls-1, failure)...)
			s.reported("dying")
			g := s.admitted("dead", false)
			s.settle("dead", g, failure, breaker.Result{State: breaker.Open, RetryAfter: s.p.Cooldown})
			s.reported("dead", breaker.Change{
				From: breaker.Closed, To: breaker.Open, Cause: events.BreakerRate, Cooldown: s.p.Cooldown, RetryAfter: s.p.Cooldown,
			})
		},
	},
	{
		Name: "samples older than the window do not count",
		Why: "The window is the current bucket and the one before. What is older must neither keep a gate closed as a warm window nor open it " +
			"as a rate.",
		Still: true,
		run: func(s *subject) {
			s.warm(2 * s.p.MinCalls)
			s.h.Advance(s.p.BucketWidth)
			s.looks("one bucket later", breaker.Snapshot{Calls: 2 * s.p.MinCalls})
			s.outcomes("one bucket later", success)
			s.h.Advance(s.p.BucketWidth)
			s.looks("two buckets later", breaker.Snapshot{Calls: 1})
			s.h.Advance(2 * s.p.BucketWidth)
			s.looks("four buckets later", breaker.Snapshot{})
			s.open()
		},
	},
}
