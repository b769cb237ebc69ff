package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// attempt is one send, and the context of that send.
type attempt struct {
	context.Context // what AttemptStarted returned, with the attempt's own cancellation

	conn   pool.Attempt  // filled by the pool
	req    http.Request  // what is sent: a copy of the caller's
	since  time.Duration // from the call's start to the attempt's; set where open is
	cutoff *cutoff       // nil where nothing needs it
	number int32         // 1-based
	resend int32
	open   bool // AttemptStarted was emitted, AttemptDone was not
	queued bool // its context ended while it queued for a connection
}

// Value answers for the attempt; everything else is asked of the context
// inside.
func (a *attempt) Value(key any) any {
	if _, ok := key.(pool.AttemptKey); ok {
		return &a.conn
	}
	return a.Context.Value(key)
}

// release ends the attempt's own context.
func (a *attempt) release() {
	if a.cutoff != nil {
		a.cutoff.cancel(errCallOver)
	}
}

// result is how an attempt ended: with a response or an error.
type result struct {
	resp    *http.Response
	err     error
	class   events.ErrorClass // of err
	queued  bool              // it ended while queueing for a connection
	lost    bool              // resp's body was given up before it was read to its end
	unsent  bool              // certainly not processed by the server: the method does not matter
	timeout bool              // an attempt timeout, or the transport's own header timeout
	after   time.Duration     // Retry-After
	asked   bool              // after is valid
	dropped bool              // a stream's connection ended by err, or could not be made again
}

func (r *result) status() int {
	if r.resp == nil {
		return 0
	}
	return r.resp.StatusCode
}

// throttled reports whether the server asked for fewer requests.
func (r *result) throttled() bool {
	return r.status() == http.StatusTooManyRequests || r.status() == http.StatusServiceUnavailable && r.asked
}

// send makes attempt number n, of which a is the memory, with body.
func (c *call) send(a *attempt, n int, body io.ReadCloser) result {
	a.number, a.resend = int32(n), int32(c.off.resent+c.sends()) //nolint:gosec // nobody sends that often
	a.Context = c
	if before := c.attempt; before != nil {
		before.release()
	}
	c.attempt = a
	req := c.attemptRequest(a, body)
	c.attempts++
	resp, err := c.base().RoundTrip(req)
	return c.received(a, req, resp, err)
}

// attemptRequest makes the request of one attempt: a copy of the caller's with
// a body of its own, no Cancel, and a header that hooks may change.
func (c *call) attemptRequest(a *attempt, body io.ReadCloser) *http.Request {
	var header http.Header
	if h := c.hooks; h != nil && (h.AttemptStarted != nil || h.AttemptDone != nil) {
		a.open = true
		if h.AttemptDone != nil {
			a.since = c.started(a)
		}
		if h.AttemptStarted != nil {
			header = c.ownHeader()
			inner := h.AttemptStarted(c, events.AttemptStarted{
				Meta: c.meta(), Attempt: int(a.number), Resend: int(a.resend), Method: method(c.req), URL: events.URLOf(c.req.URL), Route: c.off.route, Header: header,
			})
			if inner != nil {
				a.Context = inner
			}
		}
	}
	bounds := c.bounds()
	if bounds.attempt > 0 || bounds.idle > 0 {
		ctx, cancel := context.WithCancelCause(a.Context)
		a.Context, a.cutoff = ctx, startCutoff(cancel, bounds.attempt)
	}
	if bounds.attempt > 0 || c.t.cfg.Breaker != nil {
		a.conn.Watch = a
	}
	a.conn.RetryNonIdempotent = c.policy().RetryNonIdempotent
	req := &a.req
	*req = *c.req.WithContext(a) // its copy stays on the stack
	req.Cancel = nil             //nolint:staticcheck // watchCancel turned it into the context's cancellation
	req.Body = body
	if header != nil {
		req.Header = header
	}
	c.bodyTaken = true // from here on the transport closes it
	return req
}

// ownHeader returns a copy of the caller's header for hooks to change. The
// bridge puts values in place of others and changes none, so it may share them.
func (c *call) ownHeader() http.Header {
	h := c.req.Header
	switch {
	case h == nil:
		return make(http.Header)
	case c.hooks == c.t.bridge:
		return maps.Clone(h)
	}
	return h.Clone()
}

// base sends the attempts.
func (c *call) base() http.RoundTripper {
	if c.off.stream != nil {
		return &c.off.stream.base
	}
	return c.gen.base
}

// started returns when attempt a starts, counted from the call's start: at
// once, where nothing has happened since then that could have taken time.
func (c *call) started(a *attempt) time.Duration {
	if a.number == 1 && c.hooks == c.t.bridge && c.t.cfg.Breaker == nil && c.off.throttled == 0 {
		return 0
	}
	return c.elapsed()
}

// firstBody returns the caller's own body for the first attempt.
func (c *call) firstBody() io.ReadCloser {
	body, guard := guardBody(c.req.Body)
	if guard != nil {
		c.detoured().body = guard
	}
	c.bodyTaken = guard != nil // the guard closes it, whoever asks for that
	return body
}

// nextBody makes the body of a later attempt through GetBody, after the one
// before is out of every other goroutine's hands. The caller of nextBody hands
// it to send or closes it.
func (c *call) nextBody() (io.ReadCloser, error) {
	if !hasBody(c.req) {
		return c.req.Body, nil
	}
	if old := c.off.body; old != nil {
		if !old.revoke(c.Done(), c.remaining()) {
			return nil, errBodyBusy
		}
		c.off.body = nil
	}
	body, err := c.req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("client: GetBody for another attempt: %w", err)
	}
	body, guard := guardBody(body)
	if guard != nil {
		c.detoured().body = guard
	}
	return body, nil
}

// received ends the attempt at its headers or its error.
func (c *call) received(a *attempt, req *http.Request, resp *http.Response, err error) result {
	c.recoveries += int32(a.conn.Recoveries) //nolint:gosec // the pool's own bound is smaller
	if a.conn.Wait > 0 {
		c.detoured().connWait += a.conn.Wait
	}
	timedOut := a.cutoff.stop()
	r := result{resp: resp, err: err, queued: a.queued}
	switch {
	case err != nil && resp != nil:
		if resp.Body != nil {
			resp.Body.Close()
		}
		r.resp = nil
	case err == nil && resp == nil:
		r.err = fmt.Errorf("client: Config.Base (%T) returned neither a response nor an error", c.base())
	case resp != nil && (timedOut || c.over() != nil):
		// Too late for the caller, with a body that is cut off, and proof of
		// nothing: a server that is told by close_notify that the client leaves
		// may answer for that reason.
		if resp.Body != nil {
			resp.Body.Close()
		}
		r.resp, r.err = nil, errLateResponse
	case resp != nil:
		if resp.Body == nil {
			resp.Body = http.NoBody
		}
		if resp.Request != req && (resp.Request == nil || callOf(resp.Request.Context()) != c) {
			resp.Request = req
		}
		c.resp = resp
		r.after, r.asked = retryAfter(resp)
	}
	if r.err != nil {
		c.classify(a, &r, timedOut)
	} else {
		c.guardResponse(a, resp)
	}
	c.emitAttemptDone(a, r.status(), r.class)
	if r.err != nil {
		a.release()
	}
	return r
}

// classify names the attempt's error. What the call's own context did comes
// before what the connection made of it.
func (c *call) classify(a *attempt, r *result, timedOut bool) {
	var wait *pool.WaitError
	switch over := c.over(); {
	case over != nil:
		if !errors.Is(r.err, over) {
			r.err = over
		}
		r.class = events.ClassCanceled
		if errors.Is(over, context.DeadlineExceeded) {
			r.class = events.ClassTimeout
		}
	case timedOut:
		r.err = &attemptTimeoutError{c.bounds().attempt}
		r.class, r.timeout = events.ClassTimeout, true
	case errors.As(r.err, &wait):
		r.class, r.queued = events.ClassTimeout, true
	default:
		r.class = pool.ClassOf(r.err)
		r.timeout = r.class == events.ClassTimeout
		r.unsent = a.conn.NothingWritten || pool.Unprocessed(r.err)
		if errors.Is(r.err, pool.ErrClosed) {
			r.err = fmt.Errorf("%w: %w", ErrClosed, r.err)
		}
		r.err = withoutQuote(r.err)
		r.dropped = c.off.stream != nil && c.off.stream.redials(r.class)
	}
}

func (c *call) emitAttemptDone(a *attempt, status int, class events.ErrorClass) {
	if !a.open {
		return
	}
	a.open = false
	if h := c.hooks; h.AttemptDone != nil {
		h.AttemptDone(a, events.AttemptDone{
			Meta: c.meta(), Attempt: int(a.number), Resend: int(a.resend) + a.conn.Recoveries, Status: status, Class: class,
			Reused: a.conn.Reused, Conn: a.conn.Conn, Protocol: a.conn.Protocol, Recoveries: a.conn.Recoveries, Duration: c.elapsed() - a.since,
		})
	}
}

// attemptAborted ends an attempt that a panic cut short.
func (c *call) attemptAborted() {
	if a := c.attempt; a != nil {
		a.cutoff.stop()
		c.emitAttemptDone(a, 0, events.ClassOther)
	}
}

// Queueing stops the attempt timeout while the request queues. It runs on
// RoundTrip's goroutine.
func (a *attempt) Queueing(begin bool) {
	a.cutoff.pause(begin)
	a.queued = !begin && a.Err() != nil
}

// outcome says what the breaker is told of the result.
func (c *call) outcome(r *result) breaker.Outcome {
	switch {
	case r.class == events.ClassCanceled || r.queued:
		return breaker.Cancel
	case c.t.cfg.Classify != nil:
		return c.t.cfg.Classify(r.resp, r.err)
	case r.err != nil:
		return breaker.Failure
	case r.status() == http.StatusTooManyRequests:
		return breaker.Backpressure
	case events.RetryableStatus(r.status()):
		return breaker.Failure
	}
	return breaker.Success
}
