package breaker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// log collects breaker events as short lines.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) addf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func (l *log) changed(e events.BreakerChanged) {
	l.addf("changed %s %v>%v %s %v %v call %d", e.Key, e.From, e.To, e.Cause, e.Cooldown, e.RetryAfter, e.Call)
}

func (l *log) hooks() *events.Hooks {
	return &events.Hooks{
		BreakerChanged: func(_ context.Context, e events.BreakerChanged) { l.changed(e) },
		BreakerRejected: func(_ context.Context, e events.BreakerRejected) {
			l.addf("rejected %s %v %v call %d", e.Key, e.State, e.RetryAfter, e.Call)
		},
		BreakerProbe: func(_ context.Context, e events.BreakerProbe) {
			l.addf("probe %s released %t call %d", e.Key, e.Released, e.Call)
		},
		BreakerStoreChanged: func(_ context.Context, e events.BreakerStoreChanged) { l.addf("store %t", e.Available) },
	}
}

// call is a context on behalf of one call.
type call struct {
	context.Context
	meta events.Meta
}

func (c *call) Value(key any) any {
	if key == (events.MetaKey{}) {
		return &c.meta
	}
	return c.Context.Value(key)
}

func callContext(t *testing.T, l *log, number uint64) context.Context {
	return &call{events.With(t.Context(), l.hooks()), events.Meta{Client: "default", Call: number}}
}

func newBreaker(t testing.TB, c Config) *Breaker {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pass lets time go by in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func admit(t testing.TB, b *Breaker, ctx context.Context, key string) *Permit {
	t.Helper()
	p, err := b.Admit(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestEventsGoToTheContextOfTheAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooked, changes log
		b := newBreaker(t, Config{OnChange: changes.changed})
		stop := b.Notify(hooked.hooks()) // hears of nothing that happens inside calls
		defer stop()
		for i := range uint64(5) {
			p := admit(t, b, callContext(t, &hooked, i+1), "k")
			p.Failure()
		}
		same(t, "opening", hooked.take(), "changed k closed>open streak 1m0s 1m0s call 5")
		pass(20 * time.Second)
		if _, err := b.Admit(callContext(t, &hooked, 6), "k"); err == nil {
			t.Error("an open gate admitted")
		}
		same(t, "open", hooked.take(), "rejected k open 40s call 6")
		pass(40 * time.Second)
		p := admit(t, b, callContext(t, &hooked, 7), "k")
		same(t, "probe", hooked.take(), "changed k open>half_open cooldown 0s 0s call 7", "probe k released false call 7")
		if _, err := b.Admit(callContext(t, &hooked, 8), "k"); err == nil {
			t.Error("a second probe was admitted")
		}
		same(t, "half-open", hooked.take(), "rejected k half_open 0s call 8")
		p.Backpressure()
		same(t, "released", hooked.take(), "probe k released true call 7")
		p = admit(t, b, callContext(t, &hooked, 9), "k")
		same(t, "second probe", hooked.take(), "probe k released false call 9")
		pass(30 * time.Second)
		late := p
		p = admit(t, b, callContext(t, &hooked, 10), "k")
		same(t, "taken over", hooked.take(), "probe k released false call 10")
		late.Success()
		same(t, "fenced out", hooked.take())
		p.Success()
		same(t, "closed", hooked.take(), "changed k half_open>closed probe 0s 0s call 10")
		same(t, "OnChange", changes.take(),
			"changed k closed>open streak 1m0s 1m0s call 5",
			"changed k open>half_open cooldown 0s 0s call 7",
			"changed k half_open>closed probe 0s 0s call 10")
	})
}

func TestOnlyTheFirstSettlementCounts(t *testing.T) {
	b := newBreaker(t, Config{ConsecutiveFailures: 1})
	p := admit(t, b, t.Context(), "k")
	if got := p.Result(); got != (Result{}) {
		t.Errorf("the result before the settlement is %+v, want closed", got)
	}
	want := Result{State: Open, RetryAfter: time.Minute}
	if got := p.Failure(); got != want {
		t.Fatalf("Failure returned %+v, want %+v", got, want)
	}
	for name, again := range map[string]func() Result{
		"Success": p.Success, "SuccessUncounted": p.SuccessUncounted, "Failure": p.Failure,
		"Backpressure": p.Backpressure, "Cancel": p.Cancel, "Result": p.Result,
	} {
		if got := again(); got != want {
			t.Errorf("%s after the settlement returned %+v, want the first result %+v", name, got, want)
		}
	}
	if s, _ := b.Snapshot("k"); s.Calls != 1 || s.Failures != 1 {
		t.Errorf("one permit left %d samples and %d failures", s.Calls, s.Failures)
	}
}

func TestConcurrentSettlementsAgree(t *testing.T) {
	b := newBreaker(t, Config{ConsecutiveFailures: 1, FailureRate: -1, Cooldown: time.Millisecond})
	for range 200 {
		p, err := b.Admit(t.Context(), "k")
		if err != nil {
			continue
		}
		var results [4]Result
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i] = p.Settle([]Outcome{Success, Failure}[i%2]) })
		}
		wg.Wait()
		for _, r := range results {
			if r != results[0] || r != p.Result() {
				t.Fatalf("concurrent settlements returned %+v", results)
			}
		}
	}
}

func TestAnUnsetOutcomeLeavesNoTrace(t *testing.T) {
	b := newBreaker(t, Config{})
	var none Outcome
	for _, o := range []Outcome{none, Outcome(200)} {
		if r := admit(t, b, t.Context(), "k").Settle(o); r != (Result{}) {
			t.Errorf("Settle(%v) returned %+v", o, r)
		}
	}
	if s, _ := b.Snapshot("k"); s.Calls != 0 || s.Streak != 0 {
		t.Errorf("unset outcomes left %+v", s)
	}
}

func TestARefusalIsAnErrorWithNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		openKey(t, b, "https://api.example:443")
		pass(20 * time.Second)
		_, err := b.Admit(t.Context(), "https://api.example:443")
		err = fmt.Errorf("wrapped: %w", err)
		var rejected *RejectedError
		if !errors.As(err, &rejected) || *rejected != (RejectedError{Key: "https://api.example:443", State: Open, RetryAfter: 40 * time.Second}) {
			t.Errorf("the refusal is %#v", rejected)
		}
		if want := `breaker: "https://api.example:443" is open for another 40s`; rejected.Error() != want {
			t.Errorf("it reads %q, want %q", rejected, want)
		}
		pass(40 * time.Second)
		admit(t, b, t.Context(), "https://api.example:443")
		_, err = b.Admit(t.Context(), "https://api.example:443")
		if want := `breaker: "https://api.example:443" is half-open and another call probes it`; err == nil || err.Error() != want {
			t.Errorf("the half-open refusal reads %q, want %q", err, want)
		}
	})
}

func TestACallerCanAskForALongerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		openKey(t, b, "k")
		pass(time.Minute)
		p, err := b.AdmitLease(t.Context(), "k", 2*time.Minute)
		if err != nil || !p.Probe() || p.Result().State != HalfOpen {
			t.Fatal("no probe:", err)
		}
		pass(2*time.Minute - time.Millisecond)
		if _, err := b.Admit(t.Context(), "k"); err == nil {
			t.Fatal("the lease of 2 minutes was taken over before its end")
		}
		if !p.Renew(t.Context()) {
			t.Fatal("Renew of the held lease reported false")
		}
		pass(2*time.Minute - time.Millisecond)
		if _, err := b.Admit(t.Context(), "k"); err == nil {
			t.Fatal("the renewed lease was shorter than what was asked for")
		}
		pass(time.Millisecond)
		// A lease shorter than the configured one is not given.
		q, err := b.AdmitLease(t.Context(), "k", time.Second)
		if err != nil || !q.Probe() {
			t.Fatal("no takeover at the lease's end:", err)
		}
		if p.Renew(t.Context()) {
			t.Error("Renew of the lost lease reported true")
		}
		pass(30*time.Second - time.Millisecond)
		if _, err := b.Admit(t.Context(), "k"); err == nil {
			t.Error("the lease was shorter than ProbeLease")
		}
	})
}

func TestRenewOfAnOrdinaryPermitReportsFalse(t *testing.T) {
	b := newBreaker(t, Config{})
	p := admit(t, b, t.Context(), "k")
	if p.Probe() || p.Renew(t.Context()) {
		t.Error("a permit of a closed gate is a probe")
	}
	p.Success()
}

func TestAForgottenProbeFreesItselfByItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		openKey(t, b, "k")
		pass(time.Minute)
		admit(t, b, t.Context(), "k") // and never settled
		pass(30 * time.Second)
		p := admit(t, b, t.Context(), "k")
		if !p.Probe() {
			t.Error("the next caller is no probe")
		}
		if r := p.Success(); r != (Result{}) {
			t.Errorf("its success gave %+v, want closed", r)
		}
	})
}

func TestAPanickingHookGivesTheLeaseBack(t *testing.T) {
	for _, where := range []string{"BreakerChanged", "BreakerProbe", "OnChange"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				armed := false
				boom := func(name string) {
					if armed && name == where {
						armed = false
						panic("boom")
					}
				}
				b := newBreaker(t, Config{OnChange: func(events.BreakerChanged) { boom("OnChange") }})
				ctx := events.With(t.Context(), &events.Hooks{
					BreakerChanged: func(context.Context, events.BreakerChanged) { boom("BreakerChanged") },
					BreakerProbe:   func(context.Context, events.BreakerProbe) { boom("BreakerProbe") },
				})
				openKey(t, b, "k")
				pass(time.Minute)
				armed = true
				func() {
					defer func() {
						if v := recover(); v != "boom" {
							t.Errorf("Admit panicked with %v, want the hook's own value", v)
						}
					}()
					_, _ = b.Admit(ctx, "k")
				}()
				p, err := b.Admit(ctx, "k")
				if err != nil || !p.Probe() {
					t.Fatalf("after a hook's panic: %v, want the lease free", err)
				}
				if where == "BreakerProbe" {
					return
				}
				armed = true
				func() {
					defer func() {
						if v := recover(); v != "boom" {
							t.Errorf("Success panicked with %v, want the hook's own value", v)
						}
					}()
					p.Success()
				}()
				if s, _ := b.Snapshot("k"); s.State != Closed || p.Result() != (Result{}) {
					t.Errorf("after a hook's panic the gate is %v and the result %+v; want closed", s.State, p.Result())
				}
			})
		})
	}
}

func TestSnapshotsShowEveryKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		admit(t, b, t.Context(), "fine").Success()
		openKey(t, b, "dead")
		all := b.Snapshots()
		if len(all) != 2 || all["fine"].State != Closed || all["fine"].Calls != 1 || all["dead"].State != Open || all["dead"].Left != time.Minute {
			t.Errorf("Snapshots returned %+v", all)
		}
		if s, ok := b.Snapshot("dead"); !ok || s != all["dead"] {
			t.Errorf("Snapshot returned %+v, %t", s, ok)
		}
		if s, ok := b.Snapshot("unknown"); ok || s != (Snapshot{}) {
			t.Errorf("Snapshot of an unknown key returned %+v, %t", s, ok)
		}
	})
}

func TestOutcomesHaveNames(t *testing.T) {
	var names []string
	for o := range Outcome(7) {
		names = append(names, o.String())
	}
	same(t, "names", names, "none", "success", "success_uncounted", "failure", "backpressure", "cancel", "invalid")
}
