package redisstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

func TestHealthyOutcomesGoInOneFlush(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client})
	for range 1000 {
		settle(t, s, rules(), "k", breaker.Success)
	}
	settle(t, s, rules(), "k", breaker.Failure)
	settle(t, s, rules(), "k", breaker.Failure)
	if snap, _ := snapshotOf(s, "k"); snap.Calls != 1002 || snap.Failures != 2 || snap.Streak != 2 {
		t.Errorf("before the flush the snapshot is %+v, want all outcomes in it", snap)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ops := w.take()
	merges := 0
	for _, op := range ops {
		if op == "merge" {
			merges++
		}
	}
	if ops[0] != "admit" || slices.Contains(ops, "settle") || merges > 20 {
		t.Errorf("1002 calls sent %v, want one admission and few merges", ops)
	}
	if n, err := client.HGet(t.Context(), "plimsoll:breaker:{k}", "streak").Int(); err != nil || n != 2 {
		t.Errorf("the server's streak is %d, %v; want 2", n, err)
	}
}

func TestABatchIsFlushedWithoutFurtherCalls(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client})
	settle(t, s, rules(), "k", breaker.Success)
	w.await(t, "merge")
	if n, err := client.HGet(t.Context(), "plimsoll:breaker:{k}", "calls").Int(); err != nil || n != 1 {
		t.Errorf("the server counted %d calls, %v; want 1", n, err)
	}
}

func TestAFailureThatCouldOpenIsFlushedAtOnce(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client}, func(s *Store) { s.interval = time.Hour })
	var changes []breaker.Change
	p := rules()
	p.Report = func(c breaker.Change) { changes = append(changes, c) }
	for range 4 {
		settle(t, s, p, "k", breaker.Failure)
	}
	if r := settle(t, s, p, "k", breaker.Failure); r != (breaker.Result{State: breaker.Open, RetryAfter: time.Minute}) {
		t.Errorf("the fifth failure gave %+v, want open for a minute", r)
	}
	want := breaker.Change{From: breaker.Closed, To: breaker.Open, Cause: events.BreakerStreak, Cooldown: time.Minute, RetryAfter: time.Minute}
	if len(changes) != 1 || changes[0] != want {
		t.Errorf("it reported %+v", changes)
	}
}

func TestTwoFlushesKeepTheirDistance(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client}, func(s *Store) { s.gap, s.interval = 300*time.Millisecond, time.Hour })
	learnt := make(chan breaker.Change, 10)
	s.Observe(func(_ string, c breaker.Change) { learnt <- c }, func(bool) {})
	settle(t, s, rules(), "k", breaker.Failure)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := s.replica("k")
	r.mu.Lock()
	first := r.flushed
	r.mu.Unlock()
	var result breaker.Result
	for range 4 {
		result = settle(t, s, rules(), "k", breaker.Failure)
	}
	if result.State == breaker.Open && s.stopwatch()-first < s.gap {
		t.Error("the failure that could open was flushed right after the last flush")
	}
	if c := <-learnt; c.To != breaker.Open {
		t.Errorf("the observers learnt %+v, want the opening", c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.flushed - first; d < s.gap {
		t.Errorf("two flushes are %v apart, want at least %v", d, s.gap)
	}
}

func TestBatchedKeepsToFortyCommandsASecond(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client})
	p := rules()
	p.FailureRate, p.ConsecutiveFailures, p.MinCalls = 1_000_000, 1000, 1000 // noise that could always open, and never does
	start := time.Now()
	i := 0
	for time.Since(start) < time.Second {
		o := breaker.Success
		if i++; i%3 == 0 {
			o = breaker.Failure
		}
		settle(t, s, p, "k", o)
	}
	ops := w.take()
	if limit := int(40*time.Since(start)/time.Second) + 2; len(ops) > limit {
		t.Errorf("%d calls in %v sent %d commands, want at most %d", i, time.Since(start), len(ops), limit)
	}
	t.Logf("%d calls sent %d commands", i, len(ops))
}

func TestHalfOpenQuestionsKeepTheirDistance(t *testing.T) {
	client := startServer(t).client()
	c := newClock()
	s := open(t, Config{Client: client}, withClock(c), func(s *Store) { s.gap = time.Hour })
	s.replica("k").flushed = -time.Hour
	for range 5 {
		settle(t, s, rules(), "k", breaker.Failure)
	}
	c.advance(time.Minute)
	w := watchWire(client)
	g, err := s.Admit(t.Context(), "k", rules())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := s.Admit(t.Context(), "k", rules()); err == nil {
			t.Error("a second probe was admitted")
		}
	}
	if ops := w.take(); len(ops) != 1 {
		t.Errorf("a probe and ten refusals sent %v, want one question", ops)
	}
	// Our own release is known at once.
	if _, err := s.Settle(t.Context(), "k", g, breaker.Cancel, rules()); err != nil {
		t.Fatal(err)
	}
	if g, err = s.Admit(t.Context(), "k", rules()); err != nil || g.Lease != 2 {
		t.Errorf("after the release: %+v, %v; want the next lease", g, err)
	}
}

// An upstream that answers every probe with 429.
func TestProbesWithoutAVerdictKeepToFortyCommandsASecond(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client})
	p := rules()
	p.Cooldown = time.Millisecond
	for range 5 {
		settle(t, s, p, "k", breaker.Failure)
	}
	<-time.After(2 * p.Cooldown)
	w := watchWire(client)
	probes := 0
	start := time.Now()
	for time.Since(start) < time.Second {
		g, err := s.Admit(t.Context(), "k", p)
		if err != nil {
			var rejected *breaker.RejectedError
			if !errors.As(err, &rejected) || rejected.State != breaker.HalfOpen || rejected.RetryAfter != 0 {
				t.Fatalf("Admit returned %v, want half-open and 0", err)
			}
			continue
		}
		probes++
		if r, err := s.Settle(t.Context(), "k", g, breaker.Backpressure, p); err != nil || r != (breaker.Result{State: breaker.HalfOpen}) {
			t.Fatalf("the probe's 429 gave %+v, %v; want half-open and 0", r, err)
		}
	}
	ops := w.take()
	if limit := int(40 * time.Since(start) / time.Second); len(ops) > limit {
		t.Errorf("%d probes in %v sent %d commands, want at most %d", probes, time.Since(start), len(ops), limit)
	}
	if probes < 10 {
		t.Errorf("%d probes in a second, want the next one to follow soon", probes)
	}
}

func TestWhoHasWaitedForAnAnswerTakesItHoweverOld(t *testing.T) {
	c := newClock()
	s := open(t, Config{Client: startServer(t).client()}, withClock(c), atOnce, func(s *Store) { s.stale, s.interval = 0, time.Hour })
	p := rules()
	p.Cooldown = time.Millisecond
	r := s.replica("k")
	settle(t, s, p, "k", breaker.Success)
	if a, _, done := r.admitHere(&p, true); !done || !a.OK {
		t.Errorf("at a closed gate: %+v, done %t; want admission", a, done)
	}
	for range 5 {
		settle(t, s, p, "k", breaker.Failure)
	}
	c.advance(time.Minute)
	if _, err := s.Admit(t.Context(), "k", p); err != nil {
		t.Fatal(err)
	}
	if a, _, done := r.admitHere(&p, true); !done || a.OK || a.Result.State != breaker.HalfOpen {
		t.Errorf("at a half-open gate: %+v, done %t; want a refusal", a, done)
	}
	if _, wait, done := r.admitHere(&p, false); done || wait != nil {
		t.Error("who has not waited does not ask")
	}
}

func TestCallersThatMeetAnUnknownGateAskOnce(t *testing.T) {
	client := startServer(t).client()
	w := watchWire(client)
	s := open(t, Config{Client: client})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Admit(context.Background(), "k", rules()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ops := w.take(); len(ops) != 1 {
		t.Errorf("50 callers sent %v, want one question", ops)
	}
}

func TestACallerMayGiveUpWhileAnotherAsks(t *testing.T) {
	srv := startServer(t)
	s := open(t, Config{Client: srv.client()})
	r := s.replica("k")
	r.mu.Lock()
	r.ask = make(chan struct{}) // somebody asks
	r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	cancel(mine)
	if _, err := s.Admit(ctx, "k", rules()); !errors.Is(err, mine) {
		t.Errorf("Admit returned %v, want the caller's own cause", err)
	}
}

func TestAnOldAnswerIsNotReliedOn(t *testing.T) {
	srv := startServer(t)
	client := srv.client()
	s := open(t, Config{Client: client}, func(s *Store) { s.stale = 0 })
	settle(t, s, rules(), "k", breaker.Success)
	other := open(t, Config{Client: srv.client(), Mode: Strict})
	for range 5 {
		settle(t, other, rules(), "k", breaker.Failure)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Admit(t.Context(), "k", rules())
	var rejected *breaker.RejectedError
	if !errors.As(err, &rejected) || rejected.State != breaker.Open {
		t.Errorf("Admit returned %v, want the opening that another process caused", err)
	}
}

func TestOutcomesOfAnEarlierGenerationAreNotSent(t *testing.T) {
	srv := startServer(t)
	s := open(t, Config{Client: srv.client()}, func(s *Store) { s.interval = time.Hour })
	p := rules()
	g, err := s.Admit(t.Context(), "k", p)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, s, p, "k", breaker.Failure) // pending
	other := open(t, Config{Client: srv.client(), Mode: Strict})
	for range 5 {
		settle(t, other, p, "k", breaker.Failure)
	}
	var learnt []breaker.Change
	s.Observe(func(_ string, c breaker.Change) { learnt = append(learnt, c) }, func(bool) {})
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(learnt) != 1 || learnt[0].To != breaker.Open || learnt[0].Cause != events.BreakerStreak {
		t.Errorf("the flush learnt %+v, want the opening", learnt)
	}
	if r, err := s.Settle(t.Context(), "k", g, breaker.Failure, p); err != nil || r != (breaker.Result{State: breaker.Open}) {
		t.Errorf("an old grant's failure gave %+v, %v; want open and 0", r, err)
	}
	r := s.replica("k")
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.pending.Empty() || r.gate.Failures+r.gate.PriorFailures != 5 {
		t.Errorf("fenced outcomes left %+v pending and %+v", r.pending, r.gate)
	}
}

func TestAHealthyBatchedCallIsCheap(t *testing.T) {
	client := startServer(t).client()
	s := open(t, Config{Client: client})
	settle(t, s, rules(), "k", breaker.Success)
	ctx, p := context.Background(), rules()
	if n := testing.AllocsPerRun(1000, func() {
		g, err := s.Admit(ctx, "k", p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Settle(ctx, "k", g, breaker.Success, p); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("a healthy call allocates %v times in the store, want hardly ever", n)
	}
}

func BenchmarkBatchedHealthyCall(b *testing.B) {
	client := startServer(b).client()
	s := open(b, Config{Client: client})
	br, err := breaker.New(breaker.Config{Store: s})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		p, err := br.Admit(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		p.Success()
	}
}

func BenchmarkStrictHealthyCall(b *testing.B) {
	client := startServer(b).client()
	s := open(b, Config{Client: client, Mode: Strict})
	br, err := breaker.New(breaker.Config{Store: s, StoreTimeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		p, err := br.Admit(ctx, "k")
		if err != nil {
			b.Fatal(err)
		}
		p.Success()
	}
}
