package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

// give ends RoundTrip with the last attempt's result.
func (c *call) give(r result) (*http.Response, error) {
	if r.err != nil {
		return c.fail(r)
	}
	return c.answer(r.resp)
}

// answer hands a response to the caller. The call ends with its body.
func (c *call) answer(resp *http.Response) (*http.Response, error) {
	status := resp.StatusCode
	again := c.attempts > 1 || c.before() > 0
	if !again && status >= 200 && status <= 399 {
		c.replenish()
	}
	c.count()
	a := answeredOK
	switch {
	case events.RetryableStatus(status):
		a = answeredEscaped
	case again || c.recoveries > 0:
		a = answeredRecovered
	}
	return c.deliver(resp, a)
}

// deliver makes the body's end the call's end, or ends the call where there is
// no body.
func (c *call) deliver(resp *http.Response, a answer) (*http.Response, error) {
	outcome, class := a.done()
	c.resp = resp // until nothing can panic any more
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// The stream belongs to the caller, and its context with it.
		c.finishOpen(outcome, resp.StatusCode, class)
		resp.Body = c.upgraded(resp.Body)
	case hasResponseBody(c.req, resp):
		c.body, c.answered = resp.Body, a
		c.status, c.sized = int32(resp.StatusCode), resp.ContentLength >= 0 //nolint:gosec // three digits of net/http
		resp.Body = (*callBody)(c)
	default:
		c.finish(outcome, resp.StatusCode, class)
	}
	c.resp = nil
	return resp, nil
}

// upgradedBody is the stream of a 101 response. The contexts that the call made
// end with it.
type upgradedBody struct {
	io.ReadWriteCloser
	call *call
}

// upgraded wraps the stream of a 101 response where something must end with it.
func (c *call) upgraded(body io.ReadCloser) io.ReadCloser {
	rwc, ok := body.(io.ReadWriteCloser)
	if !ok || c.off.cancel == nil && (c.attempt == nil || c.attempt.cutoff == nil) {
		return body
	}
	return &upgradedBody{rwc, c}
}

// CloseWrite ends the writing half where the stream can do that.
func (b *upgradedBody) CloseWrite() error {
	if w, ok := b.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("client: CloseWrite: %w", http.ErrNotSupported)
}

// Close closes the connection.
func (b *upgradedBody) Close() error {
	defer b.call.release()
	return b.ReadWriteCloser.Close()
}

// fail ends RoundTrip with an error.
func (c *call) fail(r result) (*http.Response, error) {
	outcome := events.OutcomeEscaped
	if r.class == events.ClassCanceled {
		outcome = events.OutcomeCanceled
	}
	return c.failAs(r, outcome)
}

func (c *call) failAs(r result, outcome events.Outcome) (*http.Response, error) {
	c.count()
	c.retire()
	c.awaitCancel(r.err)
	err := r.err
	if c.attempts > 1 || c.off.skipped != "" {
		err = &Error{Report: c.report(), Err: r.err}
	}
	c.finish(outcome, 0, r.class)
	return nil, err
}

// reject ends a call that was not sent because of the throttle, or because its
// context ended while it waited.
func (c *call) reject(err error) (*http.Response, error) {
	if _, ok := errors.AsType[*ThrottledError](err); ok {
		return c.failAs(result{err: err, class: events.ClassThrottled}, events.OutcomeRejected)
	}
	return c.fail(result{err: err, class: classOver(err)})
}

// rejected ends a call whose first attempt the breaker refused. rejected is nil
// where the breaker failed in another way.
func (c *call) rejected(rejected *breaker.RejectedError, err error) (*http.Response, error) {
	if rejected == nil {
		if over := c.over(); over != nil {
			return c.fail(result{err: over, class: classOver(over)})
		}
		return c.fail(result{err: err, class: events.ClassOther})
	}
	fallback := c.t.cfg.BreakerFallback
	if fallback == nil {
		return c.failAs(result{err: err, class: events.ClassBreaker}, events.OutcomeRejected)
	}
	c.closeRequestBody()
	resp, err := fallback(c.req, rejected)
	switch {
	case err != nil:
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return c.failAs(result{err: err, class: events.ClassBreaker}, events.OutcomeRejected)
	case resp == nil:
		err = fmt.Errorf("client: Config.BreakerFallback returned neither a response nor an error for %w", rejected)
		return c.failAs(result{err: err, class: events.ClassBreaker}, events.OutcomeRejected)
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if resp.Request == nil || callOf(resp.Request.Context()) != c {
		resp.Request = c.req.WithContext(c)
	}
	c.count()
	return c.deliver(resp, answeredRejected)
}

// replenish adds the tokens of a call that needed no retry.
func (c *call) replenish() {
	tokens := c.target.tokens
	if tokens == nil {
		return
	}
	added := tokens.Replenish()
	if h := c.hooks; added > 0 && h != nil && h.BudgetReplenished != nil {
		h.BudgetReplenished(c, events.BudgetReplenished{Meta: c.meta(), Added: added, Level: tokens.Level()})
	}
}

// count notes the budget's level in the report.
func (c *call) count() {
	if tokens := c.target.tokens; tokens != nil {
		c.tokens = int32(tokens.Level()) //nolint:gosec // at most budget.MaxCapacity
	}
}

// classOver is the class of what cut a wait short: a context's error, or
// ErrClosed.
func classOver(err error) events.ErrorClass {
	switch {
	case errors.Is(err, ErrClosed):
		return events.ClassOther
	case errors.Is(err, context.DeadlineExceeded):
		return events.ClassTimeout
	}
	return events.ClassCanceled
}
