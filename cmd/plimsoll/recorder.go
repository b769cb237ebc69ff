package main

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// phase is a part of an attempt.
type phase int

// The phases, in their order.
const (
	dialPhase phase = iota // name lookup and connecting, the proxy included
	tlsPhase
	waitPhase // from having a connection to the response's header
	readPhase // to the end of the body, where it was read
	phases
)

// interval is a part of the time axis, which begins with the command.
type interval struct{ from, to time.Duration }

func (i interval) length() time.Duration { return i.to - i.from }

// attempt is one attempt on the time axis.
type attempt struct {
	interval
	number     int
	parts      [phases]interval
	stale      []time.Duration // when a reused connection turned out to be dead
	status     int             // 0: none
	class      events.ErrorClass
	reused     bool
	protocol   string
	recoveries int
	done       bool
}

// pause is a wait on the time axis, before attempt next.
type pause struct {
	interval
	next     int
	cause    events.RetryCause // "": for a remembered Retry-After
	cost     int
	level    int
	throttle bool
}

// step is an attempt or a pause.
type step struct {
	attempt *attempt
	pause   *pause
}

func (s step) interval() interval {
	if s.attempt != nil {
		return s.attempt.interval
	}
	return s.pause.interval
}

// callRecord is one call, a hop of a chain of redirects.
type callRecord struct {
	method, url string
	partition   string
	steps       []step
	skipped     events.RetrySkipped // its Reason is "" where none was
	rejected    bool
	outcome     events.Outcome
	status      int
}

// recorder puts attempts on one time axis, from events and from net/http's
// trace.
type recorder struct {
	now func() time.Duration // since the start

	mu    sync.Mutex
	calls []*callRecord          // guarded by mu, with all they point to; of the request under way
	byID  map[uint64]*callRecord // guarded by mu
}

func newRecorder(now func() time.Duration) *recorder {
	return &recorder{now: now, byID: map[uint64]*callRecord{}}
}

// take returns the finished record of the request under way and begins anew.
func (r *recorder) take() []*callRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	clear(r.byID)
	now := r.now()
	for _, c := range calls {
		if a := c.last(); a != nil && !a.done {
			a.finish(now) // canceled
		}
	}
	return calls
}

// skipped is the retry that the latest call wanted and did not make.
func (r *recorder) skipped() events.RetrySkipped {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == 0 {
		return events.RetrySkipped{}
	}
	return r.calls[len(r.calls)-1].skipped
}

// last returns the latest attempt, or nil.
func (c *callRecord) last() *attempt {
	for _, st := range slices.Backward(c.steps) {
		if st.attempt != nil {
			return st.attempt
		}
	}
	return nil
}

func (a *attempt) finish(at time.Duration) {
	a.to, a.done = at, true
	switch {
	case a.parts[waitPhase].from > 0:
		a.parts[waitPhase].to = at
	case a.parts[tlsPhase].from > 0 && a.parts[tlsPhase].to == 0:
		a.parts[tlsPhase].to = at
	case a.parts[dialPhase].from > 0 && a.parts[dialPhase].to == 0:
		a.parts[dialPhase].to = at
	}
}

// on runs f on the call of an event, under the lock.
func (r *recorder) on(m events.Meta, f func(c *callRecord, now time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.byID[m.Call]; c != nil {
		f(c, r.now())
	}
}

func (r *recorder) hooks() *events.Hooks {
	return &events.Hooks{
		CallStarted: func(_ context.Context, e events.CallStarted) context.Context {
			r.mu.Lock()
			defer r.mu.Unlock()
			c := &callRecord{method: e.Method, url: e.URL.String(), partition: e.Partition}
			r.calls = append(r.calls, c)
			r.byID[e.Call] = c
			return nil
		},
		AttemptStarted: func(ctx context.Context, e events.AttemptStarted) context.Context {
			a := &attempt{number: e.Attempt}
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				a.from = now
				c.steps = append(c.steps, step{attempt: a})
			})
			return httptrace.WithClientTrace(ctx, r.trace(a))
		},
		AttemptDone: func(_ context.Context, e events.AttemptDone) {
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				if a := c.last(); a != nil {
					a.finish(now)
					a.status, a.class, a.reused, a.protocol, a.recoveries = e.Status, e.Class, e.Reused, e.Protocol, e.Recoveries
				}
			})
		},
		ConnStale: func(_ context.Context, e events.ConnStale) {
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				if a := c.last(); a != nil {
					a.stale = append(a.stale, now)
					a.parts = [phases]interval{} // what counts is the connection that served
				}
			})
		},
		RetryArmed: func(_ context.Context, e events.RetryArmed) {
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				c.steps = append(c.steps, step{pause: &pause{interval{max(0, now-e.Waited), now}, e.Next, e.Cause, e.Cost, e.Level, false}})
			})
		},
		ThrottleWaited: func(_ context.Context, e events.ThrottleWaited) {
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				c.steps = append(c.steps, step{pause: &pause{interval: interval{max(0, now-e.Wait), now}, throttle: true}})
			})
		},
		RetrySkipped: func(_ context.Context, e events.RetrySkipped) {
			r.on(e.Meta, func(c *callRecord, _ time.Duration) { c.skipped = e })
		},
		BreakerRejected: func(_ context.Context, e events.BreakerRejected) {
			r.on(e.Meta, func(c *callRecord, _ time.Duration) { c.rejected = true })
		},
		CallDone: func(_ context.Context, e events.CallDone) {
			r.on(e.Meta, func(c *callRecord, now time.Duration) {
				c.outcome, c.status = e.Outcome, e.Status
				if a := c.last(); a != nil && a.done && a.status != 0 && c.endsWith(a) {
					a.parts[readPhase] = interval{a.to, now}
					a.to = now
				}
			})
		},
	}
}

// endsWith reports whether nothing came after a, so that its body is what
// the call gave.
func (c *callRecord) endsWith(a *attempt) bool {
	return len(c.steps) > 0 && c.steps[len(c.steps)-1].attempt == a
}

// trace fills in the phases of a. Its functions may run on the goroutine of a
// dial, also after the attempt.
func (r *recorder) trace(a *attempt) *httptrace.ClientTrace {
	begin := func(p phase) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !a.done && a.parts[p].from == 0 {
			a.parts[p].from = r.now()
		}
	}
	end := func(p phase) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !a.done && a.parts[waitPhase].from == 0 {
			a.parts[p].to = r.now()
		}
	}
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { begin(dialPhase) },
		DNSDone:           func(httptrace.DNSDoneInfo) { end(dialPhase) },
		ConnectStart:      func(_, _ string) { begin(dialPhase) },
		ConnectDone:       func(_, _ string, _ error) { end(dialPhase) },
		TLSHandshakeStart: func() { begin(tlsPhase) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { end(tlsPhase) },
		GotConn: func(httptrace.GotConnInfo) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if a.done {
				return
			}
			a.parts[waitPhase].from = r.now()
		},
	}
}
