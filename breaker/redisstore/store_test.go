package redisstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

func settle(t *testing.T, s *Store, p breaker.Params, key string, o breaker.Outcome) breaker.Result {
	t.Helper()
	g, err := s.Admit(t.Context(), key, p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Settle(t.Context(), key, g, o, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func snapshotOf(s *Store, key string) (found breaker.Snapshot, ok bool) {
	for k, snap := range s.Snapshots {
		if k == key {
			return snap, true
		}
	}
	return breaker.Snapshot{}, false
}

func TestAnInvalidConfigNamesItsField(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{}, "Config.Client is nil"},
		{Config{Client: client, Mode: 7}, "Config.Mode is Mode(7)"},
		{Config{Client: client, MaxKeys: -1}, "Config.MaxKeys is -1"},
	} {
		if _, err := New(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New gave %v, want %q", err, test.want)
		}
	}
	if s, err := New(Config{Client: client}); err != nil || s.mode != Batched || s.prefix != "plimsoll:breaker:" || s.max != 4096 {
		t.Errorf("the defaults are %+v, %v", s, err)
	}
}

// gobreaker v2 over Redis, measured: 10 of 20 refused, 1 counted.
func TestParallelCallsAreNeitherSerialisedNorLost(t *testing.T) {
	client := startServer(t).client()
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			s := open(t, Config{Client: client, Mode: mode, Prefix: t.Name()})
			b, err := breaker.New(breaker.Config{Store: s, StoreTimeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			const calls = 20
			var admitted, done sync.WaitGroup
			admitted.Add(calls)
			for range calls {
				done.Go(func() {
					p, err := b.Admit(context.Background(), "k")
					admitted.Done()
					if err != nil {
						t.Errorf("a parallel call was refused: %v", err)
						return
					}
					admitted.Wait() // all run at the same time, or this never ends
					<-time.After(50 * time.Millisecond)
					p.Success()
				})
			}
			done.Wait()
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := open(t, Config{Client: client, Mode: Strict, Prefix: t.Name()})
			if _, err := other.Admit(t.Context(), "k", rules()); err != nil {
				t.Fatal(err)
			}
			if snap, _ := snapshotOf(other, "k"); snap.Calls != calls {
				t.Errorf("the server counted %d calls, want %d", snap.Calls, calls)
			}
		})
	}
}

func TestARefusalByAnOpenGateAsksNobody(t *testing.T) {
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			srv := startServer(t)
			client := srv.client()
			w := watchWire(client)
			c := newClock()
			s := open(t, Config{Client: client, Mode: mode}, withClock(c), atOnce)
			p := rules()
			for range 5 {
				settle(t, s, p, "k", breaker.Failure)
			}
			w.take()
			refused := func(state breaker.State, left time.Duration) {
				t.Helper()
				_, err := s.Admit(t.Context(), "k", p)
				var rejected *breaker.RejectedError
				if !errors.As(err, &rejected) || rejected.State != state || rejected.RetryAfter != left {
					t.Errorf("Admit returned %v, want %v for %v", err, state, left)
				}
			}
			for range 100 {
				refused(breaker.Open, time.Minute)
			}
			c.advance(59_999 * time.Millisecond)
			refused(breaker.Open, time.Millisecond)
			if ops := w.take(); len(ops) != 0 {
				t.Errorf("101 refusals sent %v", ops)
			}

			// Somebody else probes. Half-open answers do not bring the memo back.
			c.advance(time.Millisecond)
			other := open(t, Config{Client: srv.client(), Mode: Strict}, withClock(c))
			g, err := other.Admit(t.Context(), "k", p)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				refused(breaker.HalfOpen, 0)
			}
			if ops := w.take(); len(ops) != 3 {
				t.Errorf("three questions about a half-open gate sent %v", ops)
			}
			if _, err := other.Settle(t.Context(), "k", g, breaker.Failure, p); err != nil {
				t.Fatal(err)
			}
			refused(breaker.Open, 2*time.Minute)
			c.advance(time.Minute)
			refused(breaker.Open, time.Minute)
			if ops := w.take(); len(ops) != 1 {
				t.Errorf("learning of the reopening sent %v", ops)
			}
			c.advance(time.Minute)
			if g, err = other.Admit(t.Context(), "k", p); err == nil {
				_, err = other.Settle(t.Context(), "k", g, breaker.Success, p)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Admit(t.Context(), "k", p); err != nil {
				t.Errorf("after the gate closed: %v", err)
			}
		})
	}
}

func TestStrictSendsOneCommandPerOperation(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client, Mode: Strict})
	settle(t, s, rules(), "k", breaker.Success) // the first one loads the script
	w.take()
	for range 10 {
		settle(t, s, rules(), "k", breaker.Success)
	}
	if ops := w.take(); len(ops) != 20 {
		t.Errorf("10 admissions and 10 settlements sent %d commands: %v", len(ops), ops)
	}
}

func TestAFlushedScriptIsSentAgain(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client, Mode: Strict})
	for range 3 {
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		settle(t, s, rules(), "k", breaker.Success)
	}
	if snap, _ := snapshotOf(s, "k"); snap.Calls != 3 {
		t.Errorf("%d calls were counted, want 3", snap.Calls)
	}
}

func TestKeysAreTaggedAndExpire(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client, Mode: Strict, Prefix: "app:"})
	settle(t, s, rules(), "https://api.example:443", breaker.Success)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 || keys[0] != "app:{https://api.example:443}" {
		t.Fatalf("the keys are %q, %v", keys, err)
	}
	if ttl, err := client.PTTL(t.Context(), keys[0]).Result(); err != nil || ttl < 24*time.Hour || ttl > 26*time.Hour {
		t.Errorf("the key lives for %v, %v; want a day and some cooldowns", ttl, err)
	}
}

func TestAWrongTypeHurtsItsKeyAlone(t *testing.T) {
	client := startServer(t).client()
	if err := client.Set(t.Context(), "plimsoll:breaker:{bad}", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Client: client, Mode: Strict})
	for range 5 {
		settle(t, s, rules(), "bad", breaker.Failure)
		settle(t, s, rules(), "good", breaker.Failure)
	}
	for _, key := range []string{"bad", "good"} {
		if snap, _ := snapshotOf(s, key); snap.State != breaker.Open {
			t.Errorf("%s is %v after five failures", key, snap.State)
		}
	}
	if n, err := client.HGet(t.Context(), "plimsoll:breaker:{good}", "state").Int(); err != nil || n != 1 {
		t.Errorf("the good key's state on the server is %d, %v", n, err)
	}
}

func TestReplicasAreBounded(t *testing.T) {
	client := startServer(t).client()
	for _, mode := range []Mode{Strict, Batched} {
		s := open(t, Config{Client: client, Mode: mode, MaxKeys: 10, Prefix: mode.String()})
		for i := range 100 {
			settle(t, s, rules(), strings.Repeat("x", i+1), breaker.Success)
		}
		if n := len(s.all()); n > 10 {
			t.Errorf("%v: %d replicas are kept, want at most 10", mode, n)
		}
		// An outcome that was not flushed when its replica went is not lost.
		settle(t, s, rules(), "a", breaker.Failure)
		for i := range 20 {
			settle(t, s, rules(), strings.Repeat("y", i+1), breaker.Success)
		}
		g, err := s.Admit(t.Context(), "a", rules())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Settle(t.Context(), "a", g, breaker.Cancel, rules()); err != nil || r.State != breaker.Closed {
			t.Errorf("%v: a key that was evicted gave %+v, %v", mode, r, err)
		}
	}
}

func TestAClosedStoreGoesOnLocally(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client})
	heard := 0
	s.Observe(func(string, breaker.Change) { heard++ }, func(bool) { heard++ })
	settle(t, s, rules(), "k", breaker.Success)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if ops := w.take(); len(ops) == 0 || ops[len(ops)-1] != "merge" {
		t.Errorf("Close sent %v, want the last batch flushed", ops)
	}
	for range 5 {
		settle(t, s, rules(), "other", breaker.Failure)
	}
	if snap, _ := snapshotOf(s, "other"); snap.State != breaker.Open {
		t.Errorf("five failures on a closed store: %+v", snap)
	}
	if ops := w.take(); len(ops) != 0 || heard != 0 {
		t.Errorf("a closed store sent %v and told its observers %d things", ops, heard)
	}
}

func TestChangesElsewhereAreReportedStepByStep(t *testing.T) {
	const minute = int64(60_000)
	at := func(s breaker.State) *breaker.Gate {
		g := &breaker.Gate{State: s, Cause: events.BreakerRate}
		if s != breaker.Closed {
			g.Cooldown, g.OpenUntil = minute, 1000+minute
		}
		return g
	}
	opened := breaker.Change{From: breaker.Closed, To: breaker.Open, Cause: events.BreakerRate, Cooldown: time.Minute}
	halved := breaker.Change{From: breaker.Open, To: breaker.HalfOpen, Cause: events.BreakerCooldown}
	failed := breaker.Change{From: breaker.HalfOpen, To: breaker.Open, Cause: events.BreakerByProbe, Cooldown: time.Minute}
	closed := breaker.Change{From: breaker.HalfOpen, To: breaker.Closed, Cause: events.BreakerByProbe}
	left := func(c breaker.Change) breaker.Change {
		c.RetryAfter = time.Minute
		return c
	}
	for _, test := range []struct {
		from, to breaker.State
		want     []breaker.Change
	}{
		{breaker.Closed, breaker.Closed, nil},
		{breaker.Closed, breaker.Open, []breaker.Change{left(opened)}},
		{breaker.Closed, breaker.HalfOpen, []breaker.Change{opened, halved}},
		{breaker.Open, breaker.Open, []breaker.Change{halved, left(failed)}},
		{breaker.Open, breaker.HalfOpen, []breaker.Change{halved}},
		{breaker.Open, breaker.Closed, []breaker.Change{halved, closed}},
		{breaker.HalfOpen, breaker.Closed, []breaker.Change{closed}},
		{breaker.HalfOpen, breaker.Open, []breaker.Change{left(failed)}},
		{breaker.HalfOpen, breaker.HalfOpen, []breaker.Change{failed, halved}},
	} {
		got := path(at(test.from), at(test.to), 1000)
		if len(got) != len(test.want) {
			t.Errorf("%v to %v: %+v, want %+v", test.from, test.to, got, test.want)
			continue
		}
		for i := range got {
			if got[i].Cooldown != 0 && test.to == breaker.Closed {
				got[i].Cooldown = time.Minute
			}
			if got[i] != test.want[i] {
				t.Errorf("%v to %v, change %d: %+v, want %+v", test.from, test.to, i, got[i], test.want[i])
			}
		}
	}
}

func TestAnAnswerThatWasOvertakenIsIgnored(t *testing.T) {
	s := open(t, Config{Client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})})
	r := s.replica("k")
	r.mu.Lock()
	defer r.mu.Unlock()
	opened := reply{now: 1000, version: 7, gate: breaker.Gate{State: breaker.Open, Generation: 1000, Cooldown: 60_000, OpenUntil: 61_000}}
	r.adoptLocked(opened)
	for _, late := range []int64{999, 1000} {
		if changes := r.adoptLocked(reply{now: late, version: 6}); len(changes) != 0 || r.gate.State != breaker.Open || r.memo == 0 {
			t.Errorf("an answer of %d replaced one of 1000: %+v, %+v", late, r.gate, changes)
		}
	}
	if r.adoptLocked(reply{now: 1001}); r.gate.State != breaker.Closed || r.memo != 0 {
		t.Errorf("a newer answer did not count: %+v", r.gate)
	}
	r.at = 1_000_000
	if r.adoptLocked(opened); r.gate.State != breaker.Open {
		t.Error("a server whose clock is far behind is never believed")
	}
}
