package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// countLocked adds an outcome to what will be flushed, and reports whether a
// flush is wanted at once.
func (r *replica) countLocked(o breaker.Outcome, p *breaker.Params) (urgent bool) {
	if o != breaker.Success && o != breaker.SuccessUncounted && o != breaker.Failure {
		return false
	}
	r.pending.Add(o)
	switch {
	case r.flushing != nil:
		return false // when it is over, it looks again
	case r.due != 0 && r.flawlessLocked():
		return false // on its way, and nothing can open
	}
	return r.scheduleLocked(p)
}

// flawlessLocked reports whether no failure is known of.
func (r *replica) flawlessLocked() bool {
	return r.gate.Failures+r.gate.PriorFailures+r.pending.Failures+r.sent.Failures == 0
}

// scheduleLocked sees to it that what is pending gets flushed, and reports
// whether that should be done at once.
func (r *replica) scheduleLocked(p *breaker.Params) (urgent bool) {
	s := r.store
	in := s.interval
	if _, a := r.mergedLocked(p); a.Changed {
		in = r.flushed + s.gap - s.stopwatch()
		if in <= 0 {
			return true
		}
	}
	r.armLocked(in)
	return false
}

// armLocked flushes after d, or earlier if that was agreed on already.
func (r *replica) armLocked(d time.Duration) {
	s := r.store
	at := s.stopwatch() + d
	if r.due != 0 && r.due <= at {
		return
	}
	r.due = at
	if r.timer == nil {
		r.timer = s.afterFunc(d, func() { s.flushNow(r) })
	} else {
		r.timer.Reset(d)
	}
}

// flush sends what is pending. It reports false if there is nothing to send,
// another flush is on its way, or the server is lost.
func (s *Store) flush(ctx context.Context, r *replica) (a answer, ok bool) {
	r.mu.Lock()
	r.due = 0
	if r.lost || r.flushing != nil || r.pending.Empty() {
		r.mu.Unlock()
		return a, false
	}
	batch := r.pending
	r.pending, r.sent = breaker.Batch{}, batch
	r.flushing = make(chan struct{})
	r.flushed = s.stopwatch()
	generation, rules := r.gate.Generation, r.rules
	r.mu.Unlock()

	got, err := s.run(ctx, r.name, &rules, "merge", append([]int64{generation}, numbersOfBatch(&batch)...)...)

	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.flushing)
	r.flushing = nil
	if err != nil {
		a.changes, a.lost = r.loseLocked(&rules)
		a.Result.State = r.gate.State
		if r.gate.State == breaker.Open {
			a.Result.RetryAfter = millis(max(0, r.gate.OpenUntil-r.nowLocked()))
		}
		return a, true
	}
	r.sent = breaker.Batch{}
	a = answer{Answer: got.answer, changes: r.adoptLocked(got)}
	if !r.pending.Empty() && r.scheduleLocked(&rules) {
		r.armLocked(0)
	}
	return a, true
}

// flushNow flushes on behalf of no call.
func (s *Store) flushNow(r *replica) {
	a, _ := s.flush(context.Background(), r)
	if a.lost {
		s.announce()
	}
	s.learnt(r.key, a.changes)
}

// Flush sends all outcomes that were settled before, in mode Batched, and
// returns when the server has counted them. It gives an error if the server is
// lost or ctx ends first.
func (s *Store) Flush(ctx context.Context) error {
	for _, r := range s.all() {
		for {
			r.mu.Lock()
			wait, lost, empty := r.flushing, r.lost, r.pending.Empty()
			r.mu.Unlock()
			switch {
			case lost:
				return errLost
			case wait != nil:
				select {
				case <-wait:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				continue
			case !empty:
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				s.flushNow(r)
				continue
			}
			break
		}
	}
	return nil
}

var errLost = errors.New("redisstore: the server cannot be reached; local gates decide until it is back")
