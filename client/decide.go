package client

import (
	"fmt"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// decision is what policy says about a result, before budget, deadline and
// breaker are asked.
type decision struct {
	retry   bool              // the effective verdict
	skip    events.SkipReason // a wanted retry that a gate refused
	last    bool              // no retries remained, so RetryIf was not asked
	builtIn bool              // the built-in verdict, whether or not it was reached
	asked   bool              // the retry is RetryIf's wish, whether or not the built-in agreed
}

// decide runs the gates in order: enabled, retries remain, body replayable,
// built-in verdict, RetryIf. Skip reasons are given only where the built-in
// class of the result is retryable.
func (c *call) decide(r *result, n int) decision {
	p := c.policy()
	retryable := r.retryable()
	d := decision{builtIn: retryable && (r.unsent || pool.Idempotent(c.req, p.RetryNonIdempotent))}
	refuse := func(reason events.SkipReason) decision {
		if retryable {
			d.skip = reason
		}
		return d
	}
	switch {
	case p.MaxRetries < 0 || !c.t.retries.Load():
		d.last = true
		return refuse(events.SkipDisabled)
	case n > p.MaxRetries:
		d.last = true
		return refuse(events.SkipAttempts)
	case r.class == events.ClassCanceled:
		return d // the caller wants nothing any more
	case !pool.Replayable(c.req):
		return refuse(events.SkipBody)
	}
	verdict := Default
	if p.RetryIf != nil {
		verdict = p.RetryIf(c, Try{
			Request: c.req, Response: r.resp, Err: r.err, Class: r.class, Attempt: n, BuiltIn: builtIn(d.builtIn),
		})
	}
	switch verdict {
	case Retry:
		d.retry, d.asked = true, true
	case Stop:
	case Default:
		d.retry = d.builtIn
		if !d.builtIn {
			return refuse(events.SkipMethod)
		}
	default:
		panic(fmt.Sprintf("client: RetryIf returned %v: return client.Default, client.Retry or client.Stop", verdict))
	}
	return d
}

func builtIn(retry bool) Verdict {
	if retry {
		return Retry
	}
	return Stop
}

// retryable reports whether the built-in classification wants another attempt,
// method and body aside.
func (r *result) retryable() bool {
	if r.dropped {
		return true
	}
	if r.resp != nil {
		return events.RetryableStatus(r.resp.StatusCode)
	}
	switch r.class {
	case events.ClassCanceled:
		return false
	case events.ClassTimeout:
		return r.timeout
	}
	return pool.Recoverable(r.err)
}

// cause names what a retry of r answers.
func (r *result) cause(builtIn bool) events.RetryCause {
	switch {
	case !builtIn:
		return events.CauseForced
	case r.throttled():
		return events.CauseThrottled
	case r.resp != nil:
		return events.CauseStatus
	case r.timeout:
		return events.CauseTimeout
	}
	return events.CauseTransport
}

// kind says what a retry of r costs.
func (r *result) kind() budget.Kind {
	if r.throttled() {
		return budget.Throttled
	}
	return budget.Transient
}

// settle closes the reservation of the retry that produced r, by the decision
// about r. c.forced still speaks of the result before.
func (c *call) settle(r *result, d decision) {
	switch {
	case c.off.held == nil:
	case r.class == events.ClassCanceled:
		c.settleCanceled()
	case r.err != nil:
		c.settleAs(budget.Charge, events.SettledCharge)
	case d.retry, d.last && d.builtIn, d.last && c.forced && (r.status() < 200 || r.status() > 399):
		c.settleAs(budget.Partial, events.SettledPartial)
	default:
		c.settleAs(budget.Refund, events.SettledRefund)
	}
}

func (c *call) settleAs(o budget.Outcome, name events.Settlement) {
	held := c.off.held
	c.off.held = nil
	c.settled(name, held.Settle(o))
}

// settleCanceled gives everything back: the retry was not sent, or its caller
// gave it up.
func (c *call) settleCanceled() {
	if held := c.off.held; held != nil {
		c.off.held = nil
		c.settled(events.SettledRefund, held.Cancel())
	}
}

func (c *call) settled(name events.Settlement, s budget.Settlement) {
	if h := c.hooks; h != nil && h.BudgetSettled != nil {
		h.BudgetSettled(c, events.BudgetSettled{
			Meta: c.meta(), Outcome: name, Reserved: s.Reserved, Kept: s.Kept, Refunded: s.Reserved - s.Kept, Level: s.Level,
		})
	}
}
