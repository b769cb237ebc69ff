package breaker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The cell counts without its mutex where it can; the reference calls
// Transition for everything.
func TestTheMemoryStoreEqualsTheTransitionFunction(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			b, err := New(Config{MinCalls: 10, BucketWidth: 100 * time.Millisecond, Cooldown: 200 * time.Millisecond, MaxCooldown: 900 * time.Millisecond, ProbeLease: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			failing := rng.IntN(60)
			var want Gate
			var permits []*Permit
			for i := range 2000 {
				if rng.IntN(3) == 0 {
					pass(time.Duration(rng.IntN(30)) * time.Millisecond)
				}
				if rng.IntN(300) == 0 {
					failing = rng.IntN(101)
					pass(time.Duration(rng.IntN(3000)) * time.Millisecond)
				}
				now := b.local.now()
				var wantAnswer Answer
				if len(permits) == 0 || rng.IntN(2) == 0 {
					want, wantAnswer = Transition(want, Event{Verb: DoAdmit}, b.params, now)
					p, err := b.Admit(t.Context(), "k")
					var rejected *RejectedError
					switch {
					case wantAnswer.OK != (err == nil):
						t.Fatalf("step %d: Admit returned %v, want %+v", i, err, wantAnswer)
					case err == nil && p.grant() != wantAnswer.Grant:
						t.Fatalf("step %d: Admit granted %+v, want %+v", i, p.grant(), wantAnswer.Grant)
					case err == nil:
						permits = append(permits, p)
					case !errors.As(err, &rejected) || rejected.State != wantAnswer.Result.State || rejected.RetryAfter != wantAnswer.Result.RetryAfter:
						t.Fatalf("step %d: Admit refused with %v, want %+v", i, err, wantAnswer.Result)
					}
				} else {
					n := rng.IntN(len(permits))
					p := permits[n]
					permits = append(permits[:n], permits[n+1:]...)
					o := Success
					switch x := rng.IntN(100); {
					case x < failing:
						o = Failure
					case x > 95:
						o = []Outcome{SuccessUncounted, Backpressure, Cancel}[rng.IntN(3)]
					}
					if p.Probe() && rng.IntN(4) == 0 {
						var a Answer
						want, a = Transition(want, Event{Verb: DoRenew, Grant: p.grant()}, b.params, now)
						if got := p.Renew(t.Context()); got != a.OK {
							t.Fatalf("step %d: Renew reported %t", i, got)
						}
					}
					want, wantAnswer = Transition(want, Event{Verb: DoSettle, Grant: p.grant(), Outcome: o}, b.params, now)
					if got := p.Settle(o); got != wantAnswer.Result {
						t.Fatalf("step %d: Settle(%v) returned %+v, want %+v", i, o, got, wantAnswer.Result)
					}
				}
				if got, _ := b.local.table.Load().find("k").read(); got != want {
					t.Fatalf("step %d: the gate is\n%+v, want\n%+v", i, got, want)
				}
			}
		})
	}
}

func TestNoCountIsLostBetweenGoroutines(t *testing.T) {
	b, err := New(Config{BucketWidth: time.Hour, FailureRate: 0.9, MinCalls: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	// A streak cannot grow to 5: failures are at most 4 at a time.
	const goroutines, each = 8, 5000
	var failures atomic.Int64
	turn := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				p, err := b.Admit(context.Background(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				if i%50 != 0 {
					p.Success()
					continue
				}
				turn <- struct{}{}
				p.Failure()
				p, err = b.Admit(context.Background(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				p.Success()
				<-turn
				failures.Add(1)
			}
		})
	}
	wg.Wait()
	s, ok := b.Snapshot("k")
	if want := goroutines*each + int(failures.Load()); !ok || s.Calls != want || s.Failures != int(failures.Load()) {
		t.Errorf("the window holds %d calls and %d failures, want %d and %d", s.Calls, s.Failures, want, failures.Load())
	}
}

func TestKeysAreBounded(t *testing.T) {
	b, err := New(Config{MaxKeys: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		p, err := b.Admit(t.Context(), fmt.Sprintf("https://host-%d.example:443", i))
		if err != nil {
			t.Fatal(err)
		}
		p.Success()
	}
	if n := len(b.Snapshots()); n == 0 || n > 100 {
		t.Errorf("%d keys are kept, want at most 100", n)
	}
}

// openKey opens a gate by a streak.
func openKey(t *testing.T, b *Breaker, key string) {
	t.Helper()
	for range 5 {
		p, err := b.Admit(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		p.Failure()
	}
}

func TestOpenGatesOutliveAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := New(Config{MaxKeys: 4})
		if err != nil {
			t.Fatal(err)
		}
		touch := func(key string) {
			if p, err := b.Admit(t.Context(), key); err == nil {
				p.Success()
			}
		}
		has := func(key string) bool { _, ok := b.Snapshot(key); return ok }

		openKey(t, b, "dead-1")
		pass(time.Second)
		openKey(t, b, "dead-2")
		touch("busy")
		touch("idle")
		pass(59 * time.Second)
		// dead-1 has become half-open, and idle and busy have nothing in their windows.
		probe, err := b.Admit(t.Context(), "dead-1")
		if err != nil || !probe.Probe() {
			t.Fatal("no probe after the cooldown:", err)
		}
		touch("busy")

		touch("new-1")
		if has("idle") || !has("busy") || !has("dead-1") || !has("dead-2") {
			t.Errorf("for the first new key went something else than the clean one: %v", b.Snapshots())
		}
		pass(31 * time.Second)
		touch("new-2") // busy and new-1 both are a bucket old
		if !has("dead-1") || !has("dead-2") {
			t.Errorf("a half-open or an open gate went while a closed one was left: %v", b.Snapshots())
		}
		for i := range 3 {
			openKey(t, b, fmt.Sprint("dead-", 3+i))
		}
		if has("dead-1") {
			t.Errorf("the half-open gate outlived all closed ones and %v", b.Snapshots())
		}
		if !has("dead-5") || !has("dead-4") || !has("dead-3") || !has("dead-2") {
			t.Errorf("an open gate went before the others: %v", b.Snapshots())
		}
		touch("new-3")
		if has("dead-2") || !has("new-3") {
			t.Errorf("among open gates the one that ends first has to go: %v", b.Snapshots())
		}
	})
}

func TestAPermitOfAnEvictedKeyStillCounts(t *testing.T) {
	b, err := New(Config{MaxKeys: 1})
	if err != nil {
		t.Fatal(err)
	}
	var permits []*Permit
	for range 5 {
		p, err := b.Admit(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		permits = append(permits, p)
	}
	if _, err := b.Admit(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Snapshot("a"); ok {
		t.Fatal("a was not evicted")
	}
	var r Result
	for _, p := range permits {
		r = p.Failure()
	}
	if r.State != Open {
		t.Errorf("five failures of an evicted key gave %+v, want it open", r)
	}
}

func TestKeysAreFoundWhileTheTableGrowsAndShrinks(t *testing.T) {
	b, err := New(Config{MaxKeys: 64})
	if err != nil {
		t.Fatal(err)
	}
	openKey(t, b, "dead")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				if p, err := b.Admit(context.Background(), fmt.Sprint(g, "-", i)); err != nil {
					t.Error(err)
				} else {
					p.Success()
				}
				if _, err := b.Admit(context.Background(), "dead"); err == nil {
					t.Error("the open gate was lost")
				}
			}
		})
	}
	wg.Wait()
	if n := len(b.Snapshots()); n > 64 {
		t.Errorf("%d keys are kept, want at most 64", n)
	}
}

func TestGatesCanBeSharedBetweenBreakers(t *testing.T) {
	m := NewMemory(0)
	strict, err := New(Config{Store: m})
	if err != nil {
		t.Fatal(err)
	}
	lenient, err := New(Config{Store: m, ConsecutiveFailures: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		b := lenient
		if i == 4 {
			b = strict
		}
		p, err := b.Admit(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Failure(); (r.State == Open) != (i == 4) {
			t.Errorf("failure %d: %+v", i+1, r)
		}
	}
	if _, err := lenient.Admit(t.Context(), "k"); err == nil {
		t.Error("the other breaker admits to the gate that is open")
	}
}

func TestAHealthyCallAllocatesItsPermitAlone(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		p, err := b.AdmitLease(ctx, "https://api.example:443", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		p.Success()
	}); n > 1 {
		t.Errorf("admission and success allocate %v times, want once", n)
	}
}
