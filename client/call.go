package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
)

// call is one RoundTrip. It is also the context of all that happens inside it:
// it answers for the call's identity, its hooks and its report. Until RoundTrip
// returns, its fields belong to the caller's goroutine; afterwards what the
// report is made of is read-only and only ended changes.
//
// It is small: its memory is most of what a healthy call costs. What only some
// calls need is in its detour.
type call struct {
	context.Context // what CallStarted returned, or the request's, with its cancellation

	t      *Transport
	gen    *generation
	target *target
	req    *http.Request // the caller's; never changed
	hooks  *events.Hooks // the client's and the request's; may be nil
	off    *detour       // &straight until something is written to it; see detoured
	number uint64        // of the calls of this process, from 1
	start  time.Duration // since the Transport was made
	rest   time.Duration // from start to the context's deadline; -1: it has none

	attempts   int32 // that were sent
	recoveries int32 // inside the pool
	tokens     int32 // the budget's level when RoundTrip returned; -1 before, or without a budget

	roomTaken bool            // a permit was asked for
	bodyTaken bool            // a transport or body has the caller's body and closes it
	forced    bool            // RetryIf answered Retry for the result before
	forget    bool            // the throttle no longer holds for this call (Overrun Send)
	permit    *breaker.Permit // unsettled permit of the attempt that is running; nil if none
	room      breaker.Permit  // where the first permit may lie
	resp      *http.Response  // response in hand whose body nobody has taken yet; nil if none
	attempt   *attempt        // the attempt under way or the latest

	// Of the response that the caller has; the call is its body.
	body     io.ReadCloser // what it reads from
	status   int32
	answered answer      // unless the body fails
	sized    bool        // the response said how long its body is
	ended    atomic.Bool // CallDone is emitted or about to be, with a body or without
}

// bounds are what one attempt and the body of its response may take; 0: no
// bound.
type bounds struct {
	attempt time.Duration // from dial to headers, without queueing
	idle    time.Duration // longest silence while the body is read
	size    int64         // of the body
	lease   time.Duration // of a breaker's probe
}

const leastLease = 30 * time.Second

var callNumber atomic.Uint64

// Value answers for the call; everything else is asked of the context inside.
func (c *call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case events.MetaKey:
		return identified{c}
	}
	return c.Context.Value(key)
}

// meta is what every event of the call carries.
func (c *call) meta() events.Meta {
	return events.Meta{Client: c.t.cfg.Name, Origin: c.target.origin, Partition: c.target.partition, Call: c.number}
}

// identified says on whose behalf something happens: the call's.
type identified struct{ call *call }

func (i identified) Meta() events.Meta { return i.call.meta() }

var (
	errRequestCanceled = errors.New("client: request canceled through Request.Cancel")
	errCallOver        = errors.New("client: the call is over")
	errLateResponse    = errors.New("client: the response came too late") // replaced by what ended the wait for it
)

// begin prepares the call: identity, policy, clock, cancellation, CallStarted.
func (c *call) begin() error {
	req, t := c.req, c.t
	ctx := req.Context()
	c.Context = ctx
	deadline, bounded := ctx.Deadline()
	c.tokens, c.rest = -1, -1
	if bounded {
		now := time.Now() // on the wall clock, too, as the deadline may be
		c.start, c.rest = now.Sub(t.born), budget.StartClockAt(now, -1, deadline).RemainingAt(now)
	} else {
		c.start = time.Since(t.born) // half as expensive
	}
	c.hooks = t.hooks
	own := events.From(ctx)
	if own != nil {
		c.hooks = events.Join(t.hooks, own)
	}
	var policyErr error
	if o := overridesOf(ctx); o != nil {
		policyErr = c.override(o)
	}
	c.number = callNumber.Add(1)
	c.watchCancel()
	if before := redirectedFrom(req); before != nil {
		c.follow(before)
	} else if c.off.stream != nil {
		clock, resent := c.off.stream.outage(c.clock())
		off := c.detoured()
		off.clock, off.clocked, off.resent = clock, true, resent
	}
	if h := c.hooks; h != nil && h.CallStarted != nil {
		e := events.CallStarted{
			Meta: c.meta(), Method: method(req), URL: events.URLOf(req.URL), Route: c.off.route, Resend: c.off.resent,
		}
		c.tellStart(t.telemetry, &e)
		c.tellStart(t.user, &e)
		c.tellStart(own, &e)
	}
	return policyErr
}

// tellStart calls one of the joined hooks. If a later one panics, the context
// that this one returned is kept: what it began is ended by CallDone.
func (c *call) tellStart(h *events.Hooks, e *events.CallStarted) {
	if h == nil || h.CallStarted == nil {
		return
	}
	if inner := h.CallStarted(c.Context, *e); inner != nil {
		c.Context = inner
	}
}

// redirectedFrom returns the call whose response made http.Client send req, or
// nil.
func redirectedFrom(req *http.Request) *call {
	if req.Response == nil || req.Response.Request == nil {
		return nil
	}
	return callOf(req.Response.Request.Context())
}

// over returns the error of the call's context once it has ended: the deadline,
// or the cancellation with its cause reachable.
func (c *call) over() error { return overError(c.Context) }

func overError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, err) {
		if errors.Is(cause, context.DeadlineExceeded) {
			return cause
		}
		return &causedError{err, cause}
	}
	return err
}

// causedError is a context's error with the cause that its owner gave.
type causedError struct{ err, cause error }

func (e *causedError) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *causedError) Unwrap() []error { return []error{e.err, e.cause} }

// Timeout is what *url.Error asks of the error directly inside it.
func (e *causedError) Timeout() bool { return errors.Is(e.err, context.DeadlineExceeded) }

// retire gives back everything that the call still holds. It runs on every
// exit; on the ordinary ones nothing is left to give back.
func (c *call) retire() {
	if p := c.permit; p != nil {
		c.permit = nil
		p.Cancel()
	}
	c.settleCanceled()
	if c.resp != nil {
		c.resp.Body.Close()
		c.resp = nil
	}
	c.closeRequestBody()
}

// closeRequestBody closes the caller's body if no transport does.
func (c *call) closeRequestBody() {
	if body := c.off.body; body != nil {
		body.Close()
	}
	if !c.bodyTaken && c.req.Body != nil {
		c.bodyTaken = true
		c.req.Body.Close()
	}
}

// abort ends a call that a panic or Goexit in a callback cuts short. A hook
// that panics meanwhile cannot hide the first panic.
func (c *call) abort() {
	defer func() { _ = recover() }()
	defer c.release() // CallDone may be what panicked
	defer c.finish(events.OutcomeEscaped, 0, events.ClassOther)
	defer func() { _ = recover() }()
	defer c.attemptAborted()
	defer func() { _ = recover() }()
	c.retire()
}

// finish ends the call: CallDone, once, and everything that outlived RoundTrip
// for the body's sake.
func (c *call) finish(outcome events.Outcome, status int, class events.ErrorClass) {
	if c.ended.Load() {
		return
	}
	defer c.release()
	c.finishOpen(outcome, status, class)
}

// release ends the contexts that the call made, so that those of the caller
// forget them.
func (c *call) release() {
	if cancel := c.off.cancel; cancel != nil {
		cancel(errCallOver)
	}
	if a := c.attempt; a != nil {
		a.release()
	}
}

// finishOpen is finish for a call whose connection lives on as a stream: the
// context stays alive for it.
func (c *call) finishOpen(outcome events.Outcome, status int, class events.ErrorClass) {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	defer c.gen.leave(c.target)
	if h := c.hooks; h != nil && h.CallDone != nil {
		h.CallDone(c, events.CallDone{
			Meta: c.meta(), Method: method(c.req), Outcome: outcome, Attempts: int(c.attempts), Recoveries: int(c.recoveries),
			Skipped: c.off.skipped, Status: status, Class: class, Duration: c.elapsed(),
		})
	}
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}
