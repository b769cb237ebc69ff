package breaker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

func rulesOf(t testing.TB, c Config) Params {
	t.Helper()
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return c.params()
}

// drive applies outcomes one after the other to a gate, one millisecond apart,
// and returns the gate, the last answer and the time.
func drive(g Gate, p Params, now int64, outcomes ...Outcome) (Gate, Answer, int64) {
	var a Answer
	for _, o := range outcomes {
		now++
		g, a = Transition(g, Event{Verb: DoAdmit}, p, now)
		if !a.OK {
			return g, a, now
		}
		g, a = Transition(g, Event{Verb: DoSettle, Grant: a.Grant, Outcome: o}, p, now)
	}
	return g, a, now
}

func repeatOutcome(n int, o Outcome) []Outcome {
	all := make([]Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

const someTime = int64(1_750_000_000_000)

func TestWithoutARateEveryStreakOpens(t *testing.T) {
	p := rulesOf(t, Config{FailureRate: -1})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(1000, Success)...)
	g, a, _ := drive(g, p, now, repeatOutcome(5, Failure)...)
	if g.State != Open || a.Change.Cause != events.BreakerStreak {
		t.Errorf("a streak of 5 without a rate: %v, cause %q", g.State, a.Change.Cause)
	}
}

func TestWithoutStreaksOnlyTheRateOpens(t *testing.T) {
	p := rulesOf(t, Config{ConsecutiveFailures: -1})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(19, Failure)...)
	if g.State != Closed {
		t.Fatalf("19 failures opened without a streak rule")
	}
	g, a, _ := drive(g, p, now, Failure)
	if g.State != Open || a.Change.Cause != events.BreakerRate {
		t.Errorf("20 failures: %v, cause %q; want open by rate", g.State, a.Change.Cause)
	}
}

func TestTheRateIsComparedExactly(t *testing.T) {
	p := rulesOf(t, Config{FailureRate: 1.0 / 3, MinCalls: 3})
	g, _, now := drive(Gate{}, p, someTime, Success, Success)
	if g, _, _ = drive(g, p, now, Failure); g.State != Open {
		t.Errorf("1 of 3 at a rate of 1/3 (333333 per million) is %v, want open", g.State)
	}
	p = rulesOf(t, Config{FailureRate: 0.34, MinCalls: 3})
	g, _, now = drive(Gate{}, p, someTime, Success, Success)
	if g, _, _ = drive(g, p, now, Failure); g.State != Closed {
		t.Errorf("1 of 3 at a rate of 0.34 is %v, want closed", g.State)
	}
}

func TestAFailedProbeAfterAFirstStreakOpeningDoubles(t *testing.T) {
	p := rulesOf(t, Config{})
	g, _, _ := drive(Gate{}, p, someTime, repeatOutcome(5, Failure)...)
	want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute}
	for i, w := range want {
		if got := millis(g.Cooldown); got != w {
			t.Fatalf("opening %d lasts %v, want %v", i+1, got, w)
		}
		g, _, _ = drive(g, p, g.OpenUntil-1, Failure)
	}
}

func TestAClockSteppedBackMakesNoCooldownLonger(t *testing.T) {
	p := rulesOf(t, Config{})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(5, Failure)...)
	back := now - time.Hour.Milliseconds()
	g, a := Transition(g, Event{Verb: DoAdmit}, p, back)
	if a.OK || a.Result.RetryAfter != time.Minute {
		t.Fatalf("an hour back: %+v, want a refusal for 60s", a)
	}
	if _, a = Transition(g, Event{Verb: DoAdmit}, p, back+time.Minute.Milliseconds()); !a.OK {
		t.Errorf("a cooldown later: %+v, want a probe", a)
	}
}

func TestALittleStepBackLosesNoSample(t *testing.T) {
	p := rulesOf(t, Config{})
	width := p.BucketWidth.Milliseconds()
	now := someTime / width * width
	g, _, _ := drive(Gate{}, p, now, Success, Success)
	g, _, _ = drive(g, p, now-10, Success)
	if s := g.Snapshot(p, now); s.Calls != 3 {
		t.Errorf("the window holds %d samples, want 3", s.Calls)
	}
}

// The reference judges the definition literally over a list of samples.
func TestTheWindowAgreesWithAListOfSamples(t *testing.T) {
	p := rulesOf(t, Config{ConsecutiveFailures: -1, FailureRate: 1, MinCalls: 1000, BucketWidth: 10 * time.Millisecond})
	rng := rand.New(rand.NewPCG(1, 2))
	type sample struct {
		bucket int64
		failed bool
	}
	var all []sample
	var g Gate
	now := someTime
	for range 20_000 {
		now += rng.Int64N(8)
		if rng.IntN(200) == 0 {
			now += rng.Int64N(60)
		}
		o, failed := Success, rng.IntN(3) == 0
		if failed {
			o = Failure
		}
		g, _ = Transition(g, Event{Verb: DoSettle, Grant: Grant{Generation: g.Generation}, Outcome: o}, p, now)
		all = append(all, sample{now / 10, failed})
		calls, failures := 0, 0
		for i := len(all) - 1; i >= 0 && all[i].bucket >= now/10-1; i-- {
			calls++
			if all[i].failed {
				failures++
			}
		}
		if s := g.Snapshot(p, now); s.Calls != calls || s.Failures != failures {
			t.Fatalf("at %d the window holds %d calls and %d failures, want %d and %d", now, s.Calls, s.Failures, calls, failures)
		}
	}
}

func TestABatchOfOneIsASettlement(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := rulesOf(t, Config{MinCalls: 8, BucketWidth: 50 * time.Millisecond, Cooldown: 100 * time.Millisecond})
	var g Gate
	now := someTime
	for i := range 50_000 {
		now += rng.Int64N(5)
		if g.State != Closed {
			var a Answer
			g, a = Transition(g, Event{Verb: DoAdmit}, p, now)
			if a.OK {
				g, _ = Transition(g, Event{Verb: DoSettle, Grant: a.Grant, Outcome: Success}, p, now)
			}
			continue
		}
		o := []Outcome{Success, Success, Failure, Failure, SuccessUncounted, Backpressure, Cancel}[rng.IntN(7)]
		var b Batch
		b.Add(o)
		single, x := Transition(g, Event{Verb: DoSettle, Grant: Grant{Generation: g.Generation}, Outcome: o}, p, now)
		batch, y := Transition(g, Event{Verb: DoMerge, Grant: Grant{Generation: g.Generation}, Batch: b}, p, now)
		if single != batch || x != y {
			t.Fatalf("step %d, %v on %+v:\nsettled %+v %+v\nmerged  %+v %+v", i, o, g, single, x, batch, y)
		}
		g = single
	}
}

// A batch is judged once. Where no outcome within it would have opened the
// gate, its end is the same as that of its outcomes one by one.
func TestABatchCountsAsItsOutcomesDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := rulesOf(t, Config{MinCalls: 8})
	same, opened := 0, 0
	for range 20_000 {
		g, _, now := drive(Gate{}, p, someTime, repeatOutcome(rng.IntN(12), Success)...)
		g, _, now = drive(g, p, now, repeatOutcome(rng.IntN(4), Failure)...)
		var b Batch
		single := g
		for range rng.IntN(12) {
			o := []Outcome{Success, Failure, SuccessUncounted, Cancel}[rng.IntN(4)]
			b.Add(o)
			single, _ = Transition(single, Event{Verb: DoSettle, Grant: Grant{Generation: g.Generation}, Outcome: o}, p, now)
		}
		merged, _ := Transition(g, Event{Verb: DoMerge, Grant: Grant{Generation: g.Generation}, Batch: b}, p, now)
		if single.State == Closed && merged.State == Closed {
			if single != merged {
				t.Fatalf("batch %+v on %+v:\none by one %+v\nmerged     %+v", b, g, single, merged)
			}
			same++
		} else {
			opened++
		}
	}
	if same < 1000 || opened < 1000 {
		t.Errorf("%d batches stayed closed and %d opened; the test wants many of both", same, opened)
	}
}

func TestAppendedBatchesAreOneBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20_000 {
		var whole, joined Batch
		for range 1 + rng.IntN(4) {
			var part Batch
			for range rng.IntN(6) {
				o := []Outcome{Success, Failure, Failure, SuccessUncounted}[rng.IntN(4)]
				whole.Add(o)
				part.Add(o)
			}
			joined.Append(part)
		}
		if joined != whole {
			t.Fatalf("appended %+v, want %+v", joined, whole)
		}
	}
}

func TestAClockSteppedBackMakesNoLeaseLonger(t *testing.T) {
	p := rulesOf(t, Config{})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(5, Failure)...)
	now += time.Hour.Milliseconds()
	g, a := Transition(g, Event{Verb: DoAdmit}, p, now)
	back := now - time.Hour.Milliseconds()
	g, b := Transition(g, Event{Verb: DoAdmit}, p, back)
	if !a.OK || b.OK {
		t.Fatalf("the lease was given %t and taken over at once %t", a.OK, b.OK)
	}
	if _, b = Transition(g, Event{Verb: DoAdmit}, p, back+30_000); !b.OK {
		t.Error("an hour back, the lease outlasts its length")
	}
}

func TestABatchOpensByTheLongestStreakWithinIt(t *testing.T) {
	p := rulesOf(t, Config{})
	var b Batch
	for _, o := range []Outcome{Success, Failure, Failure, Failure, Failure, Failure, Success} {
		b.Add(o)
	}
	if want := (Batch{Successes: 2, Failures: 5, Longest: 5, Broken: true}); b != want {
		t.Fatalf("the batch is %+v, want %+v", b, want)
	}
	g, _ := Transition(Gate{}, Event{Verb: DoMerge, Batch: b}, p, someTime)
	if g.State != Open || g.Cause != events.BreakerStreak {
		t.Errorf("a batch with a streak of 5: %v, cause %q", g.State, g.Cause)
	}
}

func TestABatchOfAnEarlierGenerationIsFencedOut(t *testing.T) {
	p := rulesOf(t, Config{})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(5, Failure)...)
	after, a := Transition(g, Event{Verb: DoMerge, Batch: Batch{Failures: 3, Lead: 3, Trail: 3}}, p, now)
	if after != g || a.OK || a.Result != (Result{State: Open}) {
		t.Errorf("an old batch changed %+v to %+v and was told %+v", g, after, a)
	}
}

func TestNoSequenceOfEventsBreaksTheInvariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	p := rulesOf(t, Config{MinCalls: 6, BucketWidth: 40 * time.Millisecond, Cooldown: 100 * time.Millisecond, MaxCooldown: time.Second, ProbeLease: 30 * time.Millisecond})
	var g Gate
	grants := []Grant{{}}
	now := someTime
	for i := range 200_000 {
		now += rng.Int64N(20)
		if rng.IntN(500) == 0 {
			now -= rng.Int64N(100)
		}
		before := g
		gr := grants[len(grants)-1-rng.IntN(min(len(grants), 6))]
		e := Event{Verb: Verb(rng.IntN(4)), Grant: gr, Outcome: Outcome(1 + rng.IntN(5))}
		if e.Verb == DoMerge {
			for range rng.IntN(5) {
				e.Batch.Add(Outcome(1 + rng.IntN(5)))
			}
		}
		var a Answer
		g, a = Transition(g, e, p, now)
		if a.OK && e.Verb == DoAdmit {
			grants = append(grants, a.Grant)
		}
		switch {
		case g.Generation < before.Generation,
			(g.State != before.State) != (g.Generation != before.Generation),
			g.Failures > g.Calls || g.PriorFailures > g.PriorCalls || g.Failures < 0 || g.PriorFailures < 0,
			g.Streak < 0 || g.Level < 0 || g.Level > 16,
			g.State == Open && (g.Cooldown < 100 || g.Cooldown > 1000 || g.LeaseUntil != 0),
			g.State == HalfOpen && g.Lease < 1,
			a.Changed && (a.Change.To != g.State || a.Change.From != before.State),
			a.Result.State != g.State,
			a.Result.RetryAfter < 0 || a.Result.RetryAfter > time.Second,
			a.Result.RetryAfter > 0 && g.State != Open,
			!a.OK && e.Verb != DoAdmit && g != before:
			t.Fatalf("step %d: %+v of %+v gave %+v and %+v", i, e, before, g, a)
		}
	}
}
