package breaker

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// flaky is a shared store that can be switched off, and learns things.
type flaky struct {
	*Memory
	mu        sync.Mutex
	err       error
	calls     int
	observers map[*int]func(string, Change)
	losses    map[*int]func(bool)
}

func newFlaky() *flaky {
	return &flaky{Memory: NewMemory(0), observers: map[*int]func(string, Change){}, losses: map[*int]func(bool){}}
}

func (f *flaky) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *flaky) state() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return f.err
}

func (f *flaky) Admit(ctx context.Context, key string, p Params) (Grant, error) {
	if err := f.state(); err != nil {
		return Grant{}, err
	}
	return f.Memory.Admit(ctx, key, p)
}

func (f *flaky) Settle(ctx context.Context, key string, g Grant, o Outcome, p Params) (Result, error) {
	if err := f.state(); err != nil {
		return Result{}, err
	}
	return f.Memory.Settle(ctx, key, g, o, p)
}

func (f *flaky) Renew(ctx context.Context, key string, g Grant, p Params) (bool, error) {
	if err := f.state(); err != nil {
		return false, err
	}
	return f.Memory.Renew(ctx, key, g, p)
}

func (f *flaky) Observe(changed func(string, Change), available func(bool)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := new(int)
	f.observers[id], f.losses[id] = changed, available
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.observers, id)
		delete(f.losses, id)
	}
}

func (f *flaky) learn(key string, c Change) {
	for _, o := range f.observers {
		o(key, c)
	}
}

func TestAStoreThatFailsFailsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		var heard log
		b := newBreaker(t, Config{Store: store})
		b.Notify(heard.hooks())
		inFlight := admit(t, b, t.Context(), "k")
		admit(t, b, t.Context(), "k").Success()

		store.fail(errors.New("connection refused"))
		if r := inFlight.Success(); r != (Result{}) {
			t.Errorf("a settlement during the outage gave %+v", r)
		}
		same(t, "lost", heard.take(), "store false")
		for range 4 {
			admit(t, b, t.Context(), "k").Failure()
		}
		p := admit(t, b, t.Context(), "k")
		if r := p.Failure(); r.State != Open || r.RetryAfter != time.Minute {
			t.Errorf("five failures during the outage gave %+v, want the local gate open", r)
		}
		if s, ok := b.Snapshot("k"); !ok || s.State != Open {
			t.Errorf("during the outage the snapshot is %+v, want the local gate's", s)
		}
		if store.calls > 5 {
			t.Errorf("the failing store was asked %d times", store.calls)
		}

		store.fail(nil)
		pass(time.Second)
		admit(t, b, t.Context(), "k").Success()
		same(t, "back", heard.take(), "store true")
		if s, ok := b.Snapshot("k"); !ok || s.State != Closed || s.Calls != 2 {
			t.Errorf("after the outage the snapshot is %+v, want the store's", s)
		}
	})
}

func TestTheFailingStoreIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		b := newBreaker(t, Config{Store: store})
		store.fail(errors.New("timeout"))
		for range 100 {
			admit(t, b, t.Context(), "k").Success()
			pass(100 * time.Millisecond)
		}
		if store.calls < 8 || store.calls > 11 {
			t.Errorf("in 10 s the failing store was asked %d times, want about 10", store.calls)
		}
	})
}

func TestACallerThatHasGivenUpGetsItsOwnError(t *testing.T) {
	store := newFlaky()
	var heard log
	b := newBreaker(t, Config{Store: store})
	b.Notify(heard.hooks())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store.fail(ctx.Err())
	if _, err := b.Admit(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("Admit returned %v, want the caller's cancellation", err)
	}
	same(t, "the store works", heard.take())
}

func TestWhatASharedStoreLearnsGoesToSubscribers(t *testing.T) {
	store := newFlaky()
	var heard, second, changes log
	b := newBreaker(t, Config{Store: store, OnChange: changes.changed})
	stop := b.Notify(heard.hooks())
	b.Notify(second.hooks())
	b.Notify(nil)
	opened := Change{From: Closed, To: Open, Cause: events.BreakerRate, Cooldown: time.Minute, RetryAfter: time.Minute}
	store.learn("k", opened)
	store.learn("k", Change{From: HalfOpen, To: HalfOpen, Cause: events.BreakerLease})
	want := "changed k closed>open rate 1m0s 1m0s call 0"
	same(t, "heard", heard.take(), want)
	same(t, "second", second.take(), want)
	same(t, "OnChange", changes.take(), want)
	stop()
	stop()
	store.learn("k", opened)
	same(t, "after stop", heard.take())
	same(t, "second goes on", second.take(), want)
}

func TestHooksThatPanicInTheBackgroundAreRecovered(t *testing.T) {
	store := newFlaky()
	var caught []any
	var after log
	b := newBreaker(t, Config{
		Store: store, OnPanic: func(v any) { caught = append(caught, v) },
		OnChange: func(events.BreakerChanged) { panic("second") },
	})
	b.Notify(&events.Hooks{BreakerChanged: func(context.Context, events.BreakerChanged) { panic("first") }})
	b.Notify(after.hooks())
	store.learn("k", Change{From: Open, To: HalfOpen, Cause: events.BreakerCooldown})
	if n := b.HookPanics(); n != 2 || len(caught) != 2 || caught[0] != "first" || caught[1] != "second" {
		t.Errorf("%d panics were counted and %v handed on, want first and second", n, caught)
	}
	if len(after.take()) != 1 {
		t.Error("the hooks after the one that panicked heard nothing")
	}
}

func TestAStoreKeepsNoBreakerAlive(t *testing.T) {
	store := newFlaky()
	func() { newBreaker(t, Config{Store: store}) }()
	for range 100 {
		runtime.GC()
		store.mu.Lock()
		n := len(store.observers)
		store.mu.Unlock()
		if n == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the store still observes for a Breaker that nobody holds")
}

// held is a store whose next settlement waits.
type held struct {
	*flaky
	entered, leave chan struct{}
}

func (h *held) Settle(ctx context.Context, key string, g Grant, o Outcome, p Params) (Result, error) {
	h.entered <- struct{}{}
	<-h.leave
	return h.flaky.Settle(ctx, key, g, o, p)
}

func TestASecondSettlementWaitsForTheFirst(t *testing.T) {
	store := &held{newFlaky(), make(chan struct{}), make(chan struct{})}
	b := newBreaker(t, Config{Store: store, ConsecutiveFailures: 1})
	p := admit(t, b, t.Context(), "k")
	results := make(chan Result, 3)
	go func() { results <- p.Failure() }()
	<-store.entered
	go func() { results <- p.Success() }()
	go func() { results <- p.Result() }()
	close(store.leave)
	for range 3 {
		if r := <-results; r.State != Open || r.RetryAfter != time.Minute {
			t.Errorf("a settlement returned %+v, want the first one's", r)
		}
	}
}

func TestAPanickingHookTakesASharedAdmissionBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, Config{Store: newFlaky()})
		openKey(t, b, "k")
		pass(time.Minute)
		armed := true
		ctx := events.With(t.Context(), &events.Hooks{BreakerProbe: func(_ context.Context, e events.BreakerProbe) {
			if armed {
				armed = false
				panic("boom")
			}
		}})
		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("Admit panicked with %v", v)
				}
			}()
			_, _ = b.Admit(ctx, "k")
		}()
		if p := admit(t, b, ctx, "k"); !p.Probe() || p.Result().State != HalfOpen {
			t.Error("the lease was not given back")
		}
	})
}

func TestEventsOfASharedStoreAreThoseOfTheMemoryStore(t *testing.T) {
	lines := func(store Store) (got []string) {
		synctest.Test(t, func(t *testing.T) {
			var l log
			b := newBreaker(t, Config{Store: store})
			for i := range uint64(5) {
				admit(t, b, callContext(t, &l, i), "k").Failure()
			}
			_, _ = b.Admit(callContext(t, &l, 6), "k")
			pass(time.Minute)
			p := admit(t, b, callContext(t, &l, 7), "k")
			_, _ = b.Admit(callContext(t, &l, 8), "k")
			p.Cancel()
			p = admit(t, b, callContext(t, &l, 9), "k")
			if !p.Renew(t.Context()) {
				t.Error("Renew reported false")
			}
			p.Success()
			got = l.take()
		})
		return got
	}
	same(t, "shared store", lines(newFlaky()), lines(nil)...)
}
