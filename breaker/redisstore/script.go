package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

//go:embed gate.lua
var source string

var sourceSHA = func() string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}()

// reply is what the script returned.
type reply struct {
	answer breaker.Answer // without the change's numbers
	now    int64          // the server's time, in milliseconds
	// version rises with every change of the gate on the server.
	version int64
	sent    time.Duration // when it was asked for, on the store's stopwatch
	gate    breaker.Gate  // as it is afterwards
}

// once is a command that the client must not send a second time by itself: a
// settlement whose reply was lost must not count twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// defaultTimeout bounds operations whose rules do not.
const defaultTimeout = 250 * time.Millisecond

// run runs one operation on the server, within p.Timeout. The end of ctx does
// not cut it short: an admission whose answer nobody heard would keep a lease.
func (s *Store) run(ctx context.Context, name string, p *breaker.Params, op string, own ...int64) (reply, error) {
	if s.closed.Load() {
		return reply{}, errClosed
	}
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	sent := s.stopwatch()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	args := s.args(name, p, op, own)
	if s.inline {
		defer cancel()
		r, err := s.eval(ctx, args)
		r.sent = sent
		return r, err
	}
	// The client does not apply deadlines of contexts to its connections.
	type result struct {
		reply reply
		err   error
	}
	done := make(chan result, 1)
	rules := *p
	go func() {
		defer cancel()
		r, err := s.eval(ctx, args)
		r.sent = sent
		select {
		case done <- result{r, err}:
		default: // nobody waits any more
			if err == nil && op == "admit" && r.answer.Grant.Lease != 0 {
				s.release(name, &rules, r.answer.Grant)
			}
		}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-timer.C:
	}
	select {
	case done <- result{}: // from now on nobody waits
		return reply{}, fmt.Errorf("redisstore: %s of %q: no answer within %v: %w", op, name, timeout, context.DeadlineExceeded)
	case r := <-done:
		return r.reply, r.err
	}
}

// args returns the command that runs op.
func (s *Store) args(name string, p *breaker.Params, op string, own []int64) []any {
	args := make([]any, 0, 13+len(own))
	args = append(args, "evalsha", sourceSHA, 1, name, op)
	if s.pinned {
		args = append(args, s.now())
	} else {
		args = append(args, "")
	}
	args = append(args, p.ConsecutiveFailures, p.FailureRate, p.MinCalls, p.BucketWidth.Milliseconds(),
		p.Cooldown.Milliseconds(), p.MaxCooldown.Milliseconds(), p.ProbeLease.Milliseconds())
	for _, n := range own {
		args = append(args, n)
	}
	return args
}

// release gives back a lease whose grant came too late for its caller.
func (s *Store) release(name string, p *breaker.Params, g breaker.Grant) {
	late := *p
	late.Timeout = max(late.Timeout, time.Second) // nobody waits
	if _, err := s.run(context.Background(), name, &late, "settle", g.Generation, g.Lease, int64(breaker.Cancel)); err != nil {
		return // it runs out
	}
}

// eval sends the script by its digest, and whole if the server does not have
// it.
func (s *Store) eval(ctx context.Context, args []any) (reply, error) {
	cmd := once{redis.NewCmd(ctx, args...)}
	cmd.SetFirstKeyPos(3)
	err := s.client.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		whole := append([]any{"eval", source}, args[2:]...)
		cmd = once{redis.NewCmd(ctx, whole...)}
		cmd.SetFirstKeyPos(3)
		err = s.client.Process(ctx, cmd)
	}
	if err != nil {
		return reply{}, fmt.Errorf("redisstore: %v of %v: %w", args[4], args[3], err)
	}
	numbers, err := cmd.Int64Slice()
	if err != nil {
		return reply{}, fmt.Errorf("redisstore: %v of %v: %w", args[4], args[3], err)
	}
	return parse(numbers)
}

// head is how many numbers of a reply stand before the gate's fields.
const head = 9

var errReply = errors.New("redisstore: the script returned something unexpected; do different versions share a prefix?")

func parse(n []int64) (reply, error) {
	if len(n) != head+gateFields {
		return reply{}, errReply
	}
	r := reply{now: n[7], version: n[8], gate: gateOf(n[head:])}
	r.answer = breaker.Answer{
		OK:      n[0] == 1,
		Result:  breaker.Result{State: breaker.State(n[1]), RetryAfter: millis(n[2])},
		Grant:   breaker.Grant{Generation: n[3], Lease: n[4]},
		Changed: n[6] >= 0,
	}
	if r.answer.Changed {
		r.answer.Change = breaker.Change{From: breaker.State(n[5]), To: breaker.State(n[6])}
	}
	return r, nil
}

const gateFields = 17

var causes = [...]events.BreakerCause{"", events.BreakerStreak, events.BreakerRate}

func gateOf(n []int64) breaker.Gate {
	g := breaker.Gate{
		State: breaker.State(n[0]), Generation: n[2], Streak: n[3],
		Bucket: n[4], Calls: n[5], Failures: n[6], PriorCalls: n[7], PriorFailures: n[8],
		Level: n[9], ClosedAt: n[10], ClosedFor: n[11], Cooldown: n[12], OpenUntil: n[13],
		Lease: n[14], LeaseUntil: n[15], LeaseFor: n[16],
	}
	if n[1] >= 0 && n[1] < int64(len(causes)) {
		g.Cause = causes[n[1]]
	}
	return g
}

// numbersOf is the reverse of gateOf.
func numbersOf(g *breaker.Gate) []int64 {
	cause := int64(0)
	for i, c := range causes {
		if c == g.Cause {
			cause = int64(i)
		}
	}
	return []int64{
		int64(g.State), cause, g.Generation, g.Streak, g.Bucket, g.Calls, g.Failures, g.PriorCalls, g.PriorFailures,
		g.Level, g.ClosedAt, g.ClosedFor, g.Cooldown, g.OpenUntil, g.Lease, g.LeaseUntil, g.LeaseFor,
	}
}

func numbersOfBatch(b *breaker.Batch) []int64 {
	broken := int64(0)
	if b.Broken {
		broken = 1
	}
	return []int64{b.Successes, b.Failures, b.Lead, b.Trail, b.Longest, broken}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
