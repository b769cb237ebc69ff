package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// randomRules vary everything that Transition looks at. Small numbers make
// every rule bite within a short sequence.
func randomRules(rng *rand.Rand) breaker.Params {
	p := breaker.Params{
		ConsecutiveFailures: rng.IntN(5),
		FailureRate:         []int{0, 250_000, 333_333, 500_000, 1_000_000}[rng.IntN(5)],
		MinCalls:            1 + rng.IntN(8),
		BucketWidth:         time.Duration(1+rng.IntN(50)) * time.Millisecond,
		Cooldown:            time.Duration(1+rng.IntN(60)) * time.Millisecond,
		ProbeLease:          time.Duration(1+rng.IntN(40)) * time.Millisecond,
		Timeout:             time.Minute,
	}
	if p.FailureRate == 0 && p.ConsecutiveFailures == 0 {
		p.ConsecutiveFailures = 2
	}
	p.MaxCooldown = p.Cooldown * time.Duration(1+rng.IntN(12))
	return p
}

func randomOutcome(rng *rand.Rand) breaker.Outcome {
	return []breaker.Outcome{
		breaker.Success, breaker.Success, breaker.Failure, breaker.Failure, breaker.Failure,
		breaker.SuccessUncounted, breaker.Backpressure, breaker.Cancel,
	}[rng.IntN(8)]
}

// tally counts what a differential test came across, so that one which never
// opens a gate cannot pass.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[what]++
}

func (c *tally) demand(t *testing.T, atLeast int, whats ...string) {
	t.Helper()
	t.Log(c.n)
	for _, what := range whats {
		if c.n[what] < atLeast {
			t.Errorf("%q came up %d times, want at least %d", what, c.n[what], atLeast)
		}
	}
}

// The script and the function are given the same 10,000 sequences of events
// with the time of each, and must agree on every answer and every number of
// every gate.
func TestTheScriptEqualsTheTransitionFunction(t *testing.T) {
	t.Parallel()
	client := startServer(t).client()
	if err := client.ScriptLoad(t.Context(), source).Err(); err != nil {
		t.Fatal(err)
	}
	const workers, sequences = 4, 10_000
	var seen tally
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			c := newClock()
			s := open(t, Config{Client: client}, withClock(c))
			for i := w; i < sequences; i += workers {
				if err := differ(s, c, uint64(i), &seen); err != nil {
					t.Errorf("sequence %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	seen.demand(t, 300, "closed>open", "open>half_open", "half_open>closed", "half_open>open", "half_open>half_open",
		"refused open", "refused half_open", "fenced", "renewed", "level above 1", "merged", "clock back")
}

func differ(s *Store, c *clock, seed uint64, seen *tally) error {
	rng := rand.New(rand.NewPCG(seed, 42))
	p := randomRules(rng)
	name := fmt.Sprintf("d{%d}", seed)
	type step struct {
		event breaker.Event
		now   int64
		want  breaker.Answer
		gate  breaker.Gate
		cmd   *redis.Cmd
	}
	steps := make([]step, 8+rng.IntN(12))
	var g breaker.Gate
	grants := []breaker.Grant{{}}
	pipe := s.client.Pipeline()
	for i := range steps {
		c.ms += rng.Int64N(20)
		if rng.IntN(40) == 0 {
			c.ms -= rng.Int64N(100)
			seen.add("clock back")
		}
		e := breaker.Event{
			Verb:    []breaker.Verb{breaker.DoAdmit, breaker.DoAdmit, breaker.DoSettle, breaker.DoSettle, breaker.DoSettle, breaker.DoRenew, breaker.DoMerge}[rng.IntN(7)],
			Grant:   grants[max(0, len(grants)-1-rng.IntN(3))],
			Outcome: randomOutcome(rng),
		}
		if e.Verb == breaker.DoMerge {
			for range rng.IntN(6) {
				e.Batch.Add(randomOutcome(rng))
			}
		}
		op, own := operation(&e)
		next, want := breaker.Transition(g, e, p, c.ms)
		count(seen, &e, &want, &next)
		// The numbers of a change follow from the gate.
		want.Change = breaker.Change{From: want.Change.From, To: want.Change.To}
		steps[i] = step{e, c.ms, want, next, pipe.Do(context.Background(), s.args(name, &p, op, own)...)}
		g = next
		if want.OK && e.Verb == breaker.DoAdmit {
			grants = append(grants, want.Grant)
		}
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		return err
	}
	for i, step := range steps {
		numbers, err := step.cmd.Int64Slice()
		if err != nil {
			return err
		}
		got, err := parse(numbers)
		if err != nil {
			return err
		}
		if got.gate != step.gate || got.answer != step.want || got.now != step.now {
			return fmt.Errorf("step %d, %+v at %d under %+v:\nscript   %+v\n         %+v\nfunction %+v\n         %+v",
				i, step.event, step.now, p, got.answer, got.gate, step.want, step.gate)
		}
	}
	return nil
}

// operation returns what the script is told of an event.
func operation(e *breaker.Event) (op string, own []int64) {
	switch e.Verb {
	case breaker.DoAdmit:
		return "admit", nil
	case breaker.DoSettle:
		return "settle", []int64{e.Grant.Generation, e.Grant.Lease, int64(e.Outcome)}
	case breaker.DoRenew:
		return "renew", []int64{e.Grant.Generation, e.Grant.Lease}
	default:
		return "merge", append([]int64{e.Grant.Generation}, numbersOfBatch(&e.Batch)...)
	}
}

func count(seen *tally, e *breaker.Event, a *breaker.Answer, g *breaker.Gate) {
	switch {
	case a.Changed:
		seen.add(fmt.Sprintf("%v>%v", a.Change.From, a.Change.To))
	case !a.OK && e.Verb == breaker.DoAdmit:
		seen.add(fmt.Sprintf("refused %v", a.Result.State))
	case !a.OK:
		seen.add("fenced")
	case e.Verb == breaker.DoRenew:
		seen.add("renewed")
	case e.Verb == breaker.DoMerge:
		seen.add("merged")
	}
	if g.Level > 1 {
		seen.add("level above 1")
	}
}

// Whole stores, with what they remember and batch: each answer, error and
// snapshot is that of a gate that sees the events one by one.
func TestAStoreEqualsTheTransitionFunctionInEveryMode(t *testing.T) {
	t.Parallel()
	client := startServer(t).client()
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var seen tally
			for seed := range uint64(200) {
				c := newClock()
				s := open(t, Config{Client: client, Mode: mode, Prefix: fmt.Sprint(mode, seed)}, withClock(c), atOnce)
				if err := differStore(s, c, seed, &seen); err != nil {
					t.Fatalf("sequence %d: %v", seed, err)
				}
			}
			seen.demand(t, 50, "closed>open", "open>half_open", "half_open>closed", "half_open>open", "half_open>half_open",
				"refused open", "refused half_open", "fenced", "renewed", "level above 1")
		})
	}
}

func differStore(s *Store, c *clock, seed uint64, seen *tally) error {
	rng := rand.New(rand.NewPCG(seed, 43))
	p := randomRules(rng)
	ctx := context.Background()
	var changes []breaker.Change
	p.Report = func(ch breaker.Change) { changes = append(changes, ch) }
	var g breaker.Gate
	grants := []breaker.Grant{}
	for i := range 60 {
		c.ms += rng.Int64N(20)
		e := breaker.Event{Verb: breaker.DoAdmit, Outcome: randomOutcome(rng)}
		if len(grants) > 0 && rng.IntN(5) > 1 {
			e.Verb = []breaker.Verb{breaker.DoSettle, breaker.DoSettle, breaker.DoSettle, breaker.DoRenew}[rng.IntN(4)]
			e.Grant = grants[max(0, len(grants)-1-rng.IntN(3))]
		}
		next, want := breaker.Transition(g, e, p, c.ms)
		var got breaker.Answer
		var err error
		changes = nil
		switch e.Verb {
		case breaker.DoAdmit:
			got.Grant, err = s.Admit(ctx, "k", p)
			var rejected *breaker.RejectedError
			if got.OK = err == nil; errors.As(err, &rejected) {
				got.Result, err = breaker.Result{State: rejected.State, RetryAfter: rejected.RetryAfter}, nil
			} else if got.Grant.Lease != 0 {
				got.Result.State = breaker.HalfOpen
			}
		case breaker.DoSettle:
			got.Result, err = s.Settle(ctx, "k", e.Grant, e.Outcome, p)
			got.OK = want.OK
		default:
			got.OK, err = s.Renew(ctx, "k", e.Grant, p)
			got.Result = want.Result
		}
		if err == nil {
			err = s.Flush(ctx)
		}
		if err != nil {
			return err
		}
		if len(changes) == 1 {
			got.Changed, got.Change = true, changes[0]
		}
		var snap breaker.Snapshot
		for _, snap = range s.Snapshots {
		}
		if got != want || len(changes) > 1 || snap != next.Snapshot(p, c.ms) {
			return fmt.Errorf("step %d, %+v on %+v at %d under %+v:\nstore    %+v %+v %+v\nfunction %+v %+v",
				i, e, g, c.ms, p, got, changes, snap, want, next.Snapshot(p, c.ms))
		}
		count(seen, &e, &want, &next)
		g = next
		if want.OK && e.Verb == breaker.DoAdmit {
			grants = append(grants, want.Grant)
		}
	}
	return nil
}
