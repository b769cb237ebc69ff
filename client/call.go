package client

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
)

// call is one RoundTrip. It is also the context of all that happens inside it:
// it answers for the call's identity, its hooks and its report. Until RoundTrip
// returns, its fields belong to the caller's goroutine; afterwards report is
// read-only and only ended changes.
type call struct {
	context.Context // what CallStarted returned, or the request's, with its cancellation

	t      *Transport
	gen    *generation
	bounds *bounds     // of each attempt and of the response's body
	stream *streamConn // the connection of a stream that this call opens; nil: an ordinary call
	target *target
	req    *http.Request // the caller's; never changed
	policy *RetryPolicy
	hooks  *events.Hooks // the client's and the request's; may be nil
	meta   events.Meta
	clock  budget.Clock // total retry time; goes on through a redirect chain
	start  time.Time
	rest   time.Duration // from start to the context's deadline; -1: it has none
	hops   time.Duration // from the start of the first call of a redirect chain to start
	route  string

	report report // what ReportOf gives
	resent int    // sends of earlier hops of a redirect chain
	sends  int    // attempts and recoveries of this call

	held     *budget.Reservation // tokens of the retry that is running or waited for; nil if none
	permit   *breaker.Permit     // unsettled permit of the attempt that is running; nil if none
	room     breaker.Permit      // where the first permit may lie
	resp     *http.Response      // response in hand whose body nobody has taken yet; nil if none
	body     *sentBody           // request body of the latest attempt, if it is guarded
	attempt  *attempt            // the attempt under way or the latest
	answered callBody            // the response's body, once the caller has it

	cancel    context.CancelCauseFunc // ends the call's context; nil where nothing needs it
	ended     atomic.Bool             // CallDone is emitted or about to be
	roomTaken bool                    // a permit was asked for
	bodyTaken bool                    // a transport or body has the caller's body and closes it
	forced    bool                    // RetryIf answered Retry for the result before
	forget    bool                    // the throttle no longer holds for this call (Overrun Send)
}

type report = Report

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
		return &c.meta
	}
	return c.Context.Value(key)
}

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
	c.start = t.now(bounded)
	c.policy = &t.cfg.Retry
	c.hooks = t.hooks
	own := events.From(ctx)
	if own != nil {
		c.hooks = events.Join(t.hooks, own)
	}
	total := t.cfg.MaxTotalRetryDuration
	var policyErr error
	if o := overridesOf(ctx); o != nil {
		if o.policy != nil {
			p, err := o.policy.resolved("WithRetry: RetryPolicy.")
			c.policy, policyErr = &p, err
		}
		if o.hasTotal {
			total = o.total
		}
		c.route = o.route
	}
	c.meta = events.Meta{Client: t.cfg.Name, Origin: c.target.origin, Partition: c.target.partition, Call: callNumber.Add(1)}
	c.report = Report{Partition: c.target.partition, Generation: c.gen.number}
	c.watchCancel()
	c.rest = -1
	if bounded {
		c.rest = budget.StartClockAt(c.start, -1, deadline).RemainingAt(c.start)
	}
	if before := redirectedFrom(req); before != nil {
		c.clock, c.hops = before.clock, before.hops+c.start.Sub(before.start)
		c.resent = before.resent + before.sends
		c.forget = before.forget && before.target.partition == c.target.partition
	} else {
		c.clock = budget.StartClockAt(c.start, total, time.Time{})
		if c.stream != nil {
			c.clock, c.resent = c.stream.outage(c.clock)
		}
	}
	if h := c.hooks; h != nil && h.CallStarted != nil {
		e := events.CallStarted{
			Meta: c.meta, Method: method(req), URL: events.URLOf(req.URL), Route: c.route, Resend: c.resent,
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
	if c.body != nil {
		c.body.Close()
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
	if c.cancel != nil {
		c.cancel(errCallOver)
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
			Meta: c.meta, Method: method(c.req), Outcome: outcome, Attempts: c.report.Attempts, Recoveries: c.report.Recoveries,
			Skipped: c.report.Skipped, Status: status, Class: class, Duration: time.Since(c.start),
		})
	}
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}
