package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
)

// run is one call from its begin to its return.
func (c *call) run(first *attempt) (*http.Response, error) {
	if err := c.begin(); err != nil {
		return c.fail(result{err: err, class: events.ClassOther})
	}
	var (
		body io.ReadCloser
		ok   bool
	)
	n := c.before()
	if r := c.lost(); r != nil {
		if body, ok = c.again(r, n, breaker.Result{}); !ok {
			return c.give(*r)
		}
	} else {
		if err := c.over(); err != nil {
			return c.reject(err) // nothing is sent, and the breaker learns nothing
		}
		if err := c.awaitThrottle(); err != nil {
			return c.reject(err)
		}
		if rejected, err := c.admit(); err != nil {
			return c.rejected(rejected, err)
		}
		body = c.firstBody()
	}
	for a := first; ; a = new(attempt) {
		n++
		r := c.send(a, n, body)
		gate := c.tellBreaker(&r)
		c.remember(&r)
		if body, ok = c.again(&r, n, gate); !ok {
			return c.give(r)
		}
	}
}

// again decides about r, what attempt n came to, and settles the tokens of the
// retry that it was. It returns true and the body of another attempt when that
// is paid for and waited for and launches now; else r is what the caller gets.
func (c *call) again(r *result, n int, gate breaker.Result) (io.ReadCloser, bool) {
	d := c.decide(r, n)
	c.settle(r, d)
	if !d.retry {
		if d.skip != "" {
			c.skip(r, n, skipped{reason: d.skip})
		}
		return nil, false
	}
	w, ok := c.reserve(r, n, gate)
	if !ok {
		return nil, false
	}
	body, ok := c.pause(r, n, w)
	if !ok {
		return nil, false
	}
	c.armed(r, n, w, d)
	return body, true
}

// gateContext is the call's context for the breaker: it answers for all hooks,
// since the breaker has none of its own.
type gateContext struct{ *call }

func (g gateContext) Value(key any) any {
	if key == events.Key() {
		return g.hooks
	}
	return g.call.Value(key)
}

// admit asks the breaker for the next attempt. It returns the breaker's own
// refusal, if it is one, and the error.
func (c *call) admit() (*breaker.RejectedError, error) {
	b := c.t.cfg.Breaker
	if b == nil {
		return nil, nil
	}
	room := &c.room
	if c.roomTaken {
		room = new(breaker.Permit)
	}
	c.roomTaken = true
	permit, err := b.AdmitIn(room, gateContext{c}, c.target.partition, c.bounds().lease)
	if err != nil {
		var rejected *breaker.RejectedError
		errors.As(err, &rejected)
		return rejected, err
	}
	c.permit = permit
	return nil, nil
}

// tellBreaker settles the attempt's permit and returns what the gate says now.
func (c *call) tellBreaker(r *result) breaker.Result {
	if c.permit == nil {
		return breaker.Result{}
	}
	outcome := c.outcome(r) // Classify may panic: the permit is still the call's
	permit := c.permit
	c.permit = nil
	return permit.Settle(outcome)
}

// reserve pays for retry n and plans its wait: bucket first, then deadline,
// then a gate that is known to be shut for longer than the wait. A refusal is
// reported here and leaves nothing reserved.
func (c *call) reserve(r *result, n int, gate breaker.Result) (wait, bool) {
	var held *budget.Reservation
	if tokens := c.target.tokens; tokens != nil {
		var err error
		if held, err = tokens.Reserve(r.kind()); err != nil {
			var exhausted *budget.ExhaustedError
			errors.As(err, &exhausted)
			s := skipped{reason: events.SkipBucket}
			if exhausted != nil {
				s.level, s.needed, s.counted = exhausted.Available, exhausted.Need, true
			}
			c.skip(r, n, s)
			return wait{}, false
		}
	}
	w, fits := c.delay(r, n)
	shut := gate.State == breaker.Open && gate.RetryAfter > w.delay
	if !fits || shut {
		s := skipped{reason: events.SkipBreaker, needed: held.Tokens(), delay: w.delay}
		if !fits {
			s.reason = events.SkipDeadline
		}
		held.Cancel()
		c.skip(r, n, s)
		return w, false
	}
	if held != nil {
		c.detoured().held = held
	}
	if h := c.hooks; held != nil && h != nil && h.BudgetReserved != nil {
		h.BudgetReserved(c, events.BudgetReserved{Meta: c.meta(), Reserved: held.Tokens(), Level: held.Level()})
	}
	return w, true
}

// pause gives the rejected response's connection back, waits, and makes sure
// that the next attempt will launch: the deadline still holds, its body is
// there, the breaker admits it. Otherwise the tokens go back and r is what the
// caller gets.
func (c *call) pause(r *result, n int, w wait) (io.ReadCloser, bool) {
	started := time.Now() // the drain is part of the wait
	if resp := c.resp; resp != nil && !c.drain(resp, min(drainTime, c.remaining())) {
		r.lost = true
	}
	err := c.sleep(w.delay - time.Since(started))
	c.detoured().backoff += time.Since(started)
	if w.truncated {
		c.forget = true // whatever the server said, this call goes now
	}
	switch {
	case err != nil:
		c.cutShort(r, n, w, err)
		return nil, false
	case !w.truncated && !c.allows(0):
		c.unlaunched(r, n, skipped{reason: events.SkipDeadline, delay: w.delay})
		return nil, false
	case !c.t.retries.Load(): // switched off meanwhile
		c.unlaunched(r, n, skipped{reason: events.SkipDisabled})
		return nil, false
	}
	body, err := c.nextBody()
	switch over := c.over(); {
	case err != nil && over != nil:
		c.cutShort(r, n, w, over)
		return nil, false
	case err != nil:
		c.unlaunched(r, n, skipped{reason: events.SkipBody})
		if r.err != nil {
			r.err = fmt.Errorf("%w; %w", r.err, err)
		}
		return nil, false
	}
	if !c.launch(r, n, body) {
		return nil, false
	}
	return body, true
}

// cutShort ends a wait whose context ended with err, which is what the caller
// gets.
func (c *call) cutShort(r *result, n int, w wait, err error) {
	c.settleCanceled()
	over := result{err: err, class: classOver(err)}
	if over.class == events.ClassTimeout {
		c.skip(r, n, skipped{reason: events.SkipDeadline, delay: w.delay})
	}
	c.dropResponse()
	*r = over
}

// launch gets the breaker's permit for the next attempt, or closes its body.
func (c *call) launch(r *result, n int, body io.ReadCloser) bool {
	admitted := false
	defer func() {
		if !admitted && body != nil {
			body.Close() // a hook may have panicked
		}
	}()
	if _, err := c.admit(); err != nil {
		c.unlaunched(r, n, skipped{reason: events.SkipBreaker})
		return false
	}
	admitted = true
	return true
}

// unlaunched gives the tokens of a retry back that was paid for and waited for
// and will not launch.
func (c *call) unlaunched(r *result, n int, s skipped) {
	c.settleCanceled()
	c.skip(r, n, s)
	if r.lost {
		*r = result{err: &lostResponseError{r.status()}, class: events.ClassOther}
		c.dropResponse()
	}
}

// dropResponse closes the response in hand.
func (c *call) dropResponse() {
	if resp := c.resp; resp != nil {
		c.resp = nil
		resp.Body.Close()
	}
}

// armed announces the retry that launches now.
func (c *call) armed(r *result, n int, w wait, d decision) {
	c.dropResponse()
	c.forced = d.asked
	if h := c.hooks; h != nil && h.RetryArmed != nil {
		h.RetryArmed(c, events.RetryArmed{
			Meta: c.meta(), Attempt: n, Next: n + 1, Waited: w.delay, Cause: r.cause(d.builtIn), Cost: c.off.held.Tokens(), Level: c.off.held.Level(),
		})
	}
}

// skipped is why a wanted retry was not armed, with the numbers that decided.
type skipped struct {
	reason  events.SkipReason
	level   int
	needed  int
	counted bool // level and needed are from the refusal itself
	delay   time.Duration
}

func (c *call) skip(r *result, n int, s skipped) {
	c.detoured().skipped = s.reason
	h := c.hooks
	if h == nil || h.RetrySkipped == nil {
		return
	}
	if tokens := c.target.tokens; tokens != nil && !s.counted {
		s.level = tokens.Level()
	}
	h.RetrySkipped(c, events.RetrySkipped{
		Meta: c.meta(), Reason: s.reason, Attempt: n, Status: r.status(), Class: r.class,
		Level: s.level, Needed: s.needed, Remaining: c.remaining(), Delay: s.delay,
	})
}
