package breakertest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

func TestTheMemoryStoreConforms(t *testing.T) {
	RunVirtual(t, func(*testing.T) breaker.Store { return breaker.NewMemory(0) })
}

func TestAStoreThatOnlyAppliesTransitionConforms(t *testing.T) {
	RunVirtual(t, func(*testing.T) breaker.Store { return newSimple(defect{}) })
}

// defect is one way to get a store wrong.
type defect struct {
	event  func(g breaker.Gate, e breaker.Event) breaker.Event
	rules  func(p breaker.Params) breaker.Params
	answer func(g breaker.Gate, e breaker.Event, a breaker.Answer) breaker.Answer
	key    func(string) string
}

// simple is a store of a mutex, a map and a defect.
type simple struct {
	defect
	start time.Time
	mu    sync.Mutex
	gates map[string]breaker.Gate
	rules breaker.Params
}

func newSimple(d defect) *simple {
	return &simple{defect: d, start: time.Now(), gates: make(map[string]breaker.Gate)}
}

func (s *simple) now() int64 { return s.start.UnixMilli() + time.Since(s.start).Milliseconds() }

func (s *simple) do(key string, e breaker.Event, p breaker.Params) breaker.Answer {
	s.mu.Lock()
	if s.key != nil {
		key = s.key(key)
	}
	g := s.gates[key]
	if s.event != nil {
		e = s.event(g, e)
	}
	s.rules = p
	if s.defect.rules != nil {
		s.rules = s.defect.rules(p)
	}
	next, a := breaker.Transition(g, e, s.rules, s.now())
	if s.answer != nil {
		a = s.answer(next, e, a)
	}
	s.gates[key] = next
	s.mu.Unlock()
	if a.Changed && p.Report != nil {
		p.Report(a.Change)
	}
	return a
}

func (s *simple) Admit(_ context.Context, key string, p breaker.Params) (breaker.Grant, error) {
	a := s.do(key, breaker.Event{Verb: breaker.DoAdmit}, p)
	if !a.OK {
		return breaker.Grant{}, &breaker.RejectedError{Key: key, State: a.Result.State, RetryAfter: a.Result.RetryAfter}
	}
	return a.Grant, nil
}

func (s *simple) Settle(_ context.Context, key string, g breaker.Grant, o breaker.Outcome, p breaker.Params) (breaker.Result, error) {
	return s.do(key, breaker.Event{Verb: breaker.DoSettle, Grant: g, Outcome: o}, p).Result, nil
}

func (s *simple) Renew(_ context.Context, key string, g breaker.Grant, p breaker.Params) (bool, error) {
	return s.do(key, breaker.Event{Verb: breaker.DoRenew, Grant: g}, p).OK, nil
}

func (s *simple) Snapshots(yield func(string, breaker.Snapshot) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.gates {
		if !yield(key, g.Snapshot(s.rules, s.now())) {
			return
		}
	}
}

func TestABrokenStoreFailsExactlyTheCasesOfItsDefect(t *testing.T) {
	for _, test := range []struct {
		name   string
		defect defect
		fails  []string
	}{
		{
			"backpressure is a failure",
			defect{event: func(_ breaker.Gate, e breaker.Event) breaker.Event {
				if e.Outcome == breaker.Backpressure {
					e.Outcome = breaker.Failure
				}
				return e
			}},
			[]string{
				"backpressure and cancellation leave no trace",
				"backpressure and cancellation release the lease",
			},
		},
		{
			"a canceled probe keeps its lease",
			defect{event: func(_ breaker.Gate, e breaker.Event) breaker.Event {
				if e.Outcome == breaker.Cancel && e.Grant.Lease != 0 {
					e.Grant.Generation = -1
				}
				return e
			}},
			[]string{
				"changes are reported with their cause",
				"backpressure and cancellation release the lease",
				"a released lease is over",
				"a settlement counts though its context has ended",
			},
		},
		{
			"old generations and leases count",
			defect{event: func(g breaker.Gate, e breaker.Event) breaker.Event {
				if e.Verb == breaker.DoSettle {
					e.Grant = breaker.Grant{Generation: g.Generation, Lease: g.Lease}
				}
				return e
			}},
			[]string{
				"results from before an opening are fenced out",
				"an expired lease is taken over and its old holder fenced out",
				"a released lease is over",
			},
		},
		{
			"half-open admits everyone",
			defect{answer: func(g breaker.Gate, e breaker.Event, a breaker.Answer) breaker.Answer {
				if e.Verb == breaker.DoAdmit && g.State == breaker.HalfOpen {
					a.OK, a.Grant = true, breaker.Grant{Generation: g.Generation, Lease: g.Lease}
				}
				return a
			}},
			[]string{
				"exactly one of many callers probes",
				"an expired lease is taken over and its old holder fenced out",
				"backpressure and cancellation release the lease",
				"a released lease is over",
				"a lease can be renewed by its holder alone",
				"a renewed lease lasts from its renewal",
			},
		},
		{
			"a half-open refusal guesses a delay",
			defect{answer: func(g breaker.Gate, e breaker.Event, a breaker.Answer) breaker.Answer {
				if e.Verb == breaker.DoAdmit && !a.OK && g.State == breaker.HalfOpen {
					a.Result.RetryAfter = time.Second
				}
				return a
			}},
			[]string{
				"exactly one of many callers probes",
				"an expired lease is taken over and its old holder fenced out",
				"backpressure and cancellation release the lease",
				"a released lease is over",
				"a lease can be renewed by its holder alone",
				"a renewed lease lasts from its renewal",
			},
		},
		{
			"the whole cooldown is said all the time",
			defect{answer: func(g breaker.Gate, _ breaker.Event, a breaker.Answer) breaker.Answer {
				if a.Result.RetryAfter > 0 {
					a.Result.RetryAfter = time.Duration(g.Cooldown) * time.Millisecond
				}
				return a
			}},
			[]string{"an open gate says what is left of its cooldown"},
		},
		{
			"a warm window is ignored",
			defect{rules: func(p breaker.Params) breaker.Params {
				p.FailureRate = 0
				return p
			}},
			[]string{
				"a streak in a warm window is noise",
				"the rate opens from MinCalls samples",
				"every sample is judged",
				"sudden death of a warm key opens",
				"a streak opening lasts the base cooldown",
				"the level halves per base cooldown spent closed",
			},
		},
		{
			"cooldowns do not grow",
			defect{rules: func(p breaker.Params) breaker.Params {
				p.MaxCooldown = p.Cooldown
				return p
			}},
			[]string{
				"failing probes double the cooldown up to its maximum",
				"a streak opening lasts the base cooldown",
				"the level halves per base cooldown spent closed",
				"changes are reported with their cause",
				"a probe's failure reopens for twice as long",
			},
		},
		{
			"leases never end",
			defect{rules: func(p breaker.Params) breaker.Params {
				p.ProbeLease = 24 * time.Hour
				return p
			}},
			[]string{
				"changes are reported with their cause",
				"an expired lease is taken over and its old holder fenced out",
				"a lease can be renewed by its holder alone",
				"a renewed lease lasts from its renewal",
			},
		},
		{
			"keys are cut at their first brace",
			defect{key: func(key string) string { head, _, _ := strings.Cut(key, "}"); return head }},
			[]string{"keys do not touch each other"},
		},
		{
			"nothing is reported",
			defect{answer: func(_ breaker.Gate, _ breaker.Event, a breaker.Answer) breaker.Answer {
				a.Changed = false
				return a
			}},
			[]string{
				"a streak opens a cold gate",
				"the rate opens from MinCalls samples",
				"sudden death of a warm key opens",
				"changes are reported with their cause",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var failed []string
			for _, c := range Cases() {
				synctest.Test(t, func(t *testing.T) {
					if err := c.Check(Harness{Store: newSimple(test.defect), Advance: pass}); err != nil {
						failed = append(failed, c.Name)
					}
				})
			}
			if !slices.Equal(failed, test.fails) {
				t.Errorf("failed:\n\t%s\nwant:\n\t%s", strings.Join(failed, "\n\t"), strings.Join(test.fails, "\n\t"))
			}
		})
	}
}

func TestEveryCaseHasAReasonAndAnUnmistakableName(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Cases() {
		if c.Why == "" || c.Name == "" || seen[c.Name] {
			t.Errorf("case %q: names must be unique and reasons given", c.Name)
		}
		seen[c.Name] = true
	}
}

func TestACaseNeedsAWayToMakeTimePass(t *testing.T) {
	if err := Cases()[0].Check(Harness{Store: breaker.NewMemory(0)}); err == nil {
		t.Error("Check without Advance returned nil")
	}
}

func TestAForgottenPermitIsReportedWithItsOrigin(t *testing.T) {
	w := Watch(t, nil)
	b, err := breaker.New(breaker.Config{Store: w})
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.Admit(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Admit(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	first.Success()
	got := w.Forgotten()
	if len(got) != 1 || !strings.Contains(got[0], `key "b"`) || !strings.Contains(got[0], "TestAForgottenPermitIsReportedWithItsOrigin") {
		t.Errorf("Forgotten returned %q, want key b and this test", got)
	}
	second.Cancel()
	if got := w.Forgotten(); len(got) != 0 {
		t.Errorf("Forgotten returned %q after all were settled", got)
	}
}

// recorder is a testing.TB that keeps its cleanups and errors.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, _ ...any) { r.errors = append(r.errors, format) }

func TestWatchFailsTheTestThatForgets(t *testing.T) {
	r := &recorder{TB: t}
	b, err := breaker.New(breaker.Config{Store: Watch(r, breaker.NewMemory(0))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Admit(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.cleanups {
		f()
	}
	if len(r.errors) != 1 {
		t.Errorf("the test that forgot a permit got %d errors, want 1", len(r.errors))
	}
}
