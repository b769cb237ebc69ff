package breakertest

import (
	"context"
	"strings"
	"sync"

	"github.com/plimsoll-http/plimsoll/breaker"
)

var sharedCases = []Case{
	{
		Name: "keys do not touch each other",
		Why:  "Every key has a gate of its own, whatever characters it is made of.",
		run: func(s *subject) {
			keys := []string{"", " ", "{", "}", "{}", "{a}b", "{a}c", "a b", "schlüssel", "line\nbreak", "nul\x00", strings.Repeat("long", 300)}
			s.open()
			for i, k := range keys {
				g, rejected := s.admit(k)
				if rejected != nil {
					s.errorf("key %q was refused because another one is open: %v", k, rejected)
					continue
				}
				for range i % s.p.ConsecutiveFailures {
					if _, err := s.h.Store.Settle(context.Background(), k, g, failure, s.p); err != nil {
						s.errorf("Settle of key %q failed: %w", k, err)
					}
				}
			}
			s.flush()
			found := make(map[string]breaker.Snapshot)
			s.h.Store.Snapshots(func(k string, snap breaker.Snapshot) bool {
				found[k] = snap
				return true
			})
			for i, k := range keys {
				want := i % s.p.ConsecutiveFailures
				if got := found[k]; got.State != breaker.Closed || got.Streak != want {
					s.errorf("key %q is %v with a streak of %d, want closed with %d", k, got.State, got.Streak, want)
				}
			}
			stopped := 0
			s.h.Store.Snapshots(func(string, breaker.Snapshot) bool {
				stopped++
				return false
			})
			if stopped != 1 {
				s.errorf("Snapshots yielded %d keys to a function that returned false", stopped)
			}
		},
	},
	{
		Name: "concurrent operations are all counted",
		Why: "Nothing is lost and nothing is held across an operation: callers that are admitted at the same time all run, and each outcome " +
			"is one sample.",
		run: func(s *subject) {
			const callers, each = 8, 25
			s.warm(2 * s.p.MinCalls)
			var wg sync.WaitGroup
			var mu sync.Mutex
			for range callers {
				wg.Go(func() {
					for i := range each {
						g, err := s.h.Store.Admit(context.Background(), key, s.p)
						if err == nil {
							o := success
							if i%5 == 4 {
								o = failure
							}
							_, err = s.h.Store.Settle(context.Background(), key, g, o, s.p)
						}
						if err != nil {
							mu.Lock()
							s.errorf("a caller failed: %w", err)
							mu.Unlock()
							return
						}
					}
				})
			}
			wg.Wait()
			s.flush()
			if snap := s.snapshot(); snap.Calls != 2*s.p.MinCalls+callers*each || snap.Failures != callers*each/5 {
				s.errorf("%d calls and %d failures were counted, want %d and %d", snap.Calls, snap.Failures, 2*s.p.MinCalls+callers*each, callers*each/5)
			}
		},
	},
	{
		Name: "a settlement counts though its context has ended",
		Why:  "The caller that gives up is exactly the one whose probe must be released (gh-aw-mcpg#10686).",
		run: func(s *subject) {
			b, err := breaker.New(breaker.Config{
				Store: s.h.Store, ConsecutiveFailures: s.p.ConsecutiveFailures, FailureRate: float64(s.p.FailureRate) / 1e6,
				MinCalls: s.p.MinCalls, BucketWidth: s.p.BucketWidth, Cooldown: s.p.Cooldown, MaxCooldown: s.p.MaxCooldown,
				ProbeLease: s.p.ProbeLease, StoreTimeout: s.p.Timeout,
			})
			if err != nil {
				s.errorf("breaker.New: %w", err)
				return
			}
			s.open()
			s.h.Advance(s.p.Cooldown)
			ctx, cancel := context.WithCancel(context.Background())
			permit, err := b.Admit(ctx, key)
			cancel()
			if err != nil || !permit.Probe() {
				s.errorf("after the cooldown: Admit returned %v, want a probe", err)
				return
			}
			s.compare("Cancel", permit.Cancel(), breaker.Result{State: breaker.HalfOpen})
			s.admitted("after the release", true)
		},
	},
}
