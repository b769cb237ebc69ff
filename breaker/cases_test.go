package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Reported in cerberus#738, and true of failsafe-go: cancellations by the
// caller open the breaker.
func TestCallersThatCancelDoNotOpen(t *testing.T) {
	b := newBreaker(t, Config{ConsecutiveFailures: 3})
	for range 3 {
		if r := admit(t, b, t.Context(), "k").Cancel(); r != (Result{}) {
			t.Errorf("Cancel gave %+v", r)
		}
	}
	if s, _ := b.Snapshot("k"); s.State != Closed || s.Calls != 0 {
		t.Errorf("three cancellations left %+v", s)
	}
}

// gh-aw-mcpg#10686: a canceled probe blocked the half-open gate for good.
func TestTheLeaseOfACanceledProbeIsFreeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		openKey(t, b, "k")
		pass(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		p := admit(t, b, ctx, "k")
		cancel()
		if r := p.Cancel(); r != (Result{State: HalfOpen}) {
			t.Errorf("Cancel gave %+v", r)
		}
		if next := admit(t, b, t.Context(), "k"); !next.Probe() {
			t.Error("the next caller is no probe")
		}
	})
}

// resilience4j#1432: a half-open gate let many through.
func TestOneOfTenCallersProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{})
		openKey(t, b, "k")
		pass(time.Minute)
		var sent atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if p, err := b.Admit(context.Background(), "k"); err == nil {
					sent.Add(1)
					pass(time.Second)
					p.Success()
				}
			})
		}
		wg.Wait()
		if n := sent.Load(); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
	})
}

// gobreaker#37: the callback deadlocked when it asked for the state.
func TestOnChangeMayUseTheBreaker(t *testing.T) {
	var b *Breaker
	var seen []State
	b = newBreaker(t, Config{Cooldown: time.Millisecond, ConsecutiveFailures: 1, OnChange: func(e events.BreakerChanged) {
		s, _ := b.Snapshot(e.Key)
		seen = append(seen, s.State)
		_ = b.Snapshots()
		if e.To == Open {
			// The gate may be half-open already; both answers are fine here.
			if p, err := b.Admit(context.Background(), "other"); err == nil {
				p.Success()
			}
		}
	}})
	admit(t, b, t.Context(), "k").Failure()
	if len(seen) != 1 || seen[0] != Open {
		t.Errorf("the callback saw %v, want open", seen)
	}
}
