package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

// heard collects what a breaker tells its subscribers.
type heard struct {
	store   chan bool
	changed chan events.BreakerChanged
}

func listen(b *breaker.Breaker) *heard {
	h := &heard{make(chan bool, 100), make(chan events.BreakerChanged, 100)}
	b.Notify(&events.Hooks{
		BreakerStoreChanged: func(_ context.Context, e events.BreakerStoreChanged) { h.store <- e.Available },
		BreakerChanged:      func(_ context.Context, e events.BreakerChanged) { h.changed <- e },
	})
	return h
}

func (h *heard) next(t *testing.T) bool {
	t.Helper()
	select {
	case available := <-h.store:
		return available
	case <-time.After(time.Minute):
		t.Fatal("nobody was told about the store")
		return false
	}
}

func (h *heard) nothing(t *testing.T) {
	t.Helper()
	select {
	case available := <-h.store:
		t.Errorf("the subscribers were told again: available %t", available)
	default:
	}
}

// One instance of a fleet loses Redis, as with gobreaker's Redis store: there
// every call failed.
func TestAnInstanceThatLosesRedisGoesOnAndRejoins(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			srv := startServer(t)
			s := open(t, Config{Client: srv.client(), Mode: mode}, func(s *Store) { s.retry = 50 * time.Millisecond })
			b, err := breaker.New(breaker.Config{Store: s, StoreTimeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			h := listen(b)
			call := func(key string, o breaker.Outcome) breaker.Result {
				t.Helper()
				p, err := b.Admit(t.Context(), key)
				if err != nil {
					t.Fatalf("a call failed: %v", err)
				}
				return p.Settle(o)
			}
			for _, key := range []string{"dying", "healthy"} {
				for range 3 {
					call(key, breaker.Success)
				}
			}
			inFlight, err := b.Admit(t.Context(), "healthy")
			if err != nil {
				t.Fatal(err)
			}
			srv.kill()
			inFlight.Success()
			for range 4 {
				call("dying", breaker.Failure)
			}
			if r := call("dying", breaker.Failure); r != (breaker.Result{State: breaker.Open, RetryAfter: time.Minute}) {
				t.Errorf("without Redis the fifth failure gave %+v, want the local gate open", r)
			}
			for range 100 {
				call("healthy", breaker.Success)
			}
			_ = s.Flush(t.Context()) // Batched may not have noticed for every key
			if h.next(t) {
				t.Error("the subscribers were told that the store is back before it was lost")
			}
			h.nothing(t)

			srv.start() // empty
			if !h.next(t) {
				t.Error("the subscribers were told twice that the store is lost")
			}
			h.nothing(t)
			var rejected *breaker.RejectedError
			if _, err := b.Admit(t.Context(), "dying"); !errors.As(err, &rejected) || rejected.State != breaker.Open {
				t.Errorf("after the outage the gate said %v, want it still open", err)
			}
			// The opening that this instance saw alone is everybody's now.
			other := open(t, Config{Client: srv.client(), Mode: Strict})
			if _, err := other.Admit(t.Context(), "dying", rules()); !errors.As(err, &rejected) || rejected.State != breaker.Open {
				t.Errorf("another instance heard %v, want the restored opening", err)
			}
			call("healthy", breaker.Success)
			if err := s.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheNewerOfTwoGatesSurvivesAnOutage(t *testing.T) {
	srv := startServer(t)
	c := newClock()
	p := rules()
	instance := func() *Store {
		return open(t, Config{Client: srv.client(), Mode: Strict}, withClock(c), func(s *Store) { s.retry = time.Hour })
	}
	first, second := instance(), instance()
	settle(t, first, p, "k", breaker.Success)
	settle(t, second, p, "k", breaker.Success)
	srv.kill()
	fail := func(s *Store) {
		for range 5 {
			settle(t, s, p, "k", breaker.Failure)
		}
	}
	fail(first)
	c.advance(10 * time.Second)
	fail(second)
	srv.start()
	for _, s := range []*Store{second, first} {
		if !s.restore(s.replica("k")) {
			t.Fatal("the gate could not be restored")
		}
	}
	for name, s := range map[string]*Store{"first": first, "second": second, "a new one": instance()} {
		_, err := s.Admit(t.Context(), "k", p)
		var rejected *breaker.RejectedError
		if !errors.As(err, &rejected) || rejected.RetryAfter != time.Minute {
			t.Errorf("%s heard %v, want what is left of the later opening: 60s", name, err)
		}
	}
}

// A probe that a local gate gave settles with the server once that is back.
func TestAProbeOfTheOutageSettlesWithTheServer(t *testing.T) {
	srv := startServer(t)
	c := newClock()
	p := rules()
	s := open(t, Config{Client: srv.client(), Mode: Strict}, withClock(c), func(s *Store) { s.retry = time.Hour })
	settle(t, s, p, "k", breaker.Failure)
	srv.kill()
	for range 4 {
		settle(t, s, p, "k", breaker.Failure)
	}
	c.advance(time.Minute)
	g, err := s.Admit(t.Context(), "k", p)
	if err != nil || g.Lease != 1 {
		t.Fatalf("the local gate gave %+v, %v", g, err)
	}
	if ok, err := s.Renew(t.Context(), "k", g, p); !ok || err != nil {
		t.Errorf("the local gate renewed %t, %v", ok, err)
	}
	srv.start()
	if !s.restore(s.replica("k")) {
		t.Fatal("the gate could not be restored")
	}
	other := open(t, Config{Client: srv.client(), Mode: Strict}, withClock(c))
	var rejected *breaker.RejectedError
	if _, err := other.Admit(t.Context(), "k", p); !errors.As(err, &rejected) || rejected.State != breaker.HalfOpen {
		t.Errorf("another instance heard %v, want half-open", err)
	}
	if r, err := s.Settle(t.Context(), "k", g, breaker.Success, p); err != nil || r != (breaker.Result{}) {
		t.Errorf("the probe's success gave %+v, %v", r, err)
	}
	if _, err := other.Admit(t.Context(), "k", p); err != nil {
		t.Errorf("another instance heard %v, want it closed", err)
	}
}

func TestAServerThatForgetsEverythingIsBelieved(t *testing.T) {
	srv := startServer(t)
	client := srv.client()
	c := newClock()
	p := rules()
	s := open(t, Config{Client: client, Mode: Strict}, withClock(c))
	g, err := s.Admit(t.Context(), "k", p)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		settle(t, s, p, "k", breaker.Failure)
	}
	srv.forget(client)
	c.advance(time.Minute)
	if probe, err := s.Admit(t.Context(), "k", p); err != nil || probe.Lease != 0 {
		t.Errorf("Admit gave %+v, %v; want a closed gate's grant", probe, err)
	}
	// A generation begins with the time, so that an old one cannot return.
	for range 5 {
		settle(t, s, p, "k", breaker.Failure)
	}
	c.advance(time.Minute)
	probe, err := s.Admit(t.Context(), "k", p)
	if err != nil || probe.Generation <= g.Generation {
		t.Errorf("Admit gave %+v, %v", probe, err)
	}
	if r, err := s.Settle(t.Context(), "k", g, breaker.Failure, p); err != nil || r != (breaker.Result{State: breaker.HalfOpen}) {
		t.Errorf("a grant from before gave %+v, %v; want it fenced out", r, err)
	}
}

func TestObserversHearOfOutagesInOrderAndMayUseTheStore(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s := open(t, Config{Client: srv.client(), Mode: Strict}, func(s *Store) { s.retry = 20 * time.Millisecond })
	told := make(chan bool, 10)
	s.Observe(func(string, breaker.Change) {}, func(available bool) {
		// A second key is lost, or asked for, from within the observer.
		if _, err := s.Admit(context.Background(), "second", rules()); err != nil {
			t.Error(err)
		}
		told <- available
	})
	for round := range 3 {
		srv.kill()
		if _, err := s.Admit(t.Context(), "first", rules()); err != nil {
			t.Error(err)
		}
		for _, want := range []bool{false, true} {
			select {
			case got := <-told:
				if got != want {
					t.Fatalf("round %d: the observers heard %t, want %t", round, got, want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("round %d: the observers were not told %t", round, want)
			}
			if !want {
				srv.start()
			}
		}
	}
}
