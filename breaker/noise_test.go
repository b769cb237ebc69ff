package breaker

import (
	"math/rand/v2"
	"testing"
	"time"
)

// openings simulates so many calls, ten milliseconds apart, that fail with
// that probability, on a gate with a warm window. A gate that opens is
// replaced by a warm one.
func openings(p Params, calls int, failing float64) int {
	rng := rand.New(rand.NewPCG(2024, 6))
	now := someTime
	warm := func() Gate {
		g := Gate{}
		for range 3000 {
			now += 10
			g, _ = Transition(g, Event{Verb: DoSettle, Grant: Grant{Generation: g.Generation}, Outcome: Success}, p, now)
		}
		return g
	}
	g, opened := warm(), 0
	for range calls {
		now += 10
		o := Success
		if rng.Float64() < failing {
			o = Failure
		}
		g, _ = Transition(g, Event{Verb: DoSettle, Grant: Grant{Generation: g.Generation}, Outcome: o}, p, now)
		if g.State != Closed {
			opened++
			g = warm()
		}
	}
	return opened
}

// A plain breaker that opens on five failures in a row opens every
// (1-p⁵)/((1-p)·p⁵) calls on noise alone: 3,905 at p = 0.2.
func TestNoiseNeverOpensAWarmGate(t *testing.T) {
	const calls = 100_000
	if n := openings(rulesOf(t, Config{}), calls, 0.2); n != 0 {
		t.Errorf("100,000 calls of which a fifth fails opened %d times, want never", n)
	}
	plain := openings(rulesOf(t, Config{FailureRate: -1}), calls, 0.2)
	if plain < 16 || plain > 36 {
		t.Errorf("a plain breaker opened %d times in the same noise, want about 26", plain)
	}
	t.Logf("a plain breaker opened every %d calls", calls/max(plain, 1))
	if n := openings(rulesOf(t, Config{}), calls, 0.6); n == 0 {
		t.Error("calls of which most fail never opened")
	}
}

func TestSuddenDeathOfAWarmKeyOpensWithinTwentyCalls(t *testing.T) {
	p := rulesOf(t, Config{})
	g, _, now := drive(Gate{}, p, someTime, repeatOutcome(5000, Success)...)
	for i := range 20 {
		var a Answer
		g, a, now = drive(g, p, now, Failure)
		if opened := g.State == Open; opened != (i == 19) {
			t.Fatalf("failure %d: %v", i+1, g.State)
		} else if opened && a.Result.RetryAfter != time.Minute {
			t.Errorf("it opened for %v", a.Result.RetryAfter)
		}
	}
}
