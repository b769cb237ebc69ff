package client

import (
	"context"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
)

// detour is what a call needs that does not go straight through: one with
// overrides, of a redirect chain or a stream, with a body that is no buffer or
// a Request.Cancel, or whose first attempt was not the last.
type detour struct {
	stream    *streamConn  // the connection of a stream that the call opens; nil: an ordinary call
	policy    *RetryPolicy // nil: the client's
	total     time.Duration
	hasTotal  bool // total replaces the client's
	clocked   bool // clock is that of an earlier call, which goes on
	clock     budget.Clock
	route     string
	hops      time.Duration // from the start of the first call of a redirect chain to the call's
	resent    int           // sends of earlier hops of a redirect chain
	skipped   events.SkipReason
	backoff   time.Duration
	throttled time.Duration
	connWait  time.Duration

	held   *budget.Reservation     // tokens of the retry that is running or waited for; nil if none
	body   *sentBody               // request body of the latest attempt, if it is guarded
	cancel context.CancelCauseFunc // ends the call's context; nil where nothing needs it
}

// straight is the detour of all calls that have none. It is never written.
var straight detour

// detoured returns the call's detour for writing.
func (c *call) detoured() *detour {
	if c.off == &straight {
		c.off = new(detour)
	}
	return c.off
}

// override takes over what the context says. An error is about the policy.
func (c *call) override(o *overrides) error {
	off := c.detoured()
	off.route, off.total, off.hasTotal = o.route, o.total, o.hasTotal
	if o.policy == nil {
		return nil
	}
	p, err := o.policy.resolved("WithRetry: RetryPolicy.")
	off.policy = &p
	return err
}

// follow goes on where before, the call of the redirect, ended.
func (c *call) follow(before *call) {
	off := c.detoured()
	off.clock, off.clocked = before.clock(), true
	off.hops = before.off.hops + c.began().Sub(before.began())
	off.resent = before.off.resent + before.sends()
	c.forget = before.forget && before.target.partition == c.target.partition
}

func (c *call) policy() *RetryPolicy {
	if p := c.off.policy; p != nil {
		return p
	}
	return &c.t.cfg.Retry
}

// began is when the call did. It is for comparisons on the monotonic clock.
func (c *call) began() time.Time { return c.t.born.Add(c.start) }

// elapsed is how long ago that was.
func (c *call) elapsed() time.Duration { return time.Since(c.t.born) - c.start }

// clock bounds the total retry time. It goes on through a redirect chain.
func (c *call) clock() budget.Clock {
	switch off := c.off; {
	case off.clocked:
		return off.clock
	case off.hasTotal:
		return budget.StartClockAt(c.began(), off.total, time.Time{})
	}
	return budget.StartClockAt(c.began(), c.t.cfg.MaxTotalRetryDuration, time.Time{})
}

// until is the clock of the context's deadline.
func (c *call) until() budget.Clock { return budget.StartClockAt(c.began(), c.rest, time.Time{}) }

// bounds are those of each attempt and of the response's body.
func (c *call) bounds() *bounds {
	if c.off.stream != nil {
		return &c.t.patience
	}
	return &c.t.bounds
}

// sends are the attempts and the pool's recoveries.
func (c *call) sends() int { return int(c.attempts + c.recoveries) }

// report is what ReportOf gives.
func (c *call) report() Report {
	r := Report{
		Attempts: int(c.attempts), Recoveries: int(c.recoveries), Partition: c.target.partition, Generation: c.gen.number,
		Skipped: c.off.skipped, Backoff: c.off.backoff, Throttled: c.off.throttled, ConnWait: c.off.connWait,
	}
	if c.tokens >= 0 {
		r.Tokens, r.Capacity = int(c.tokens), c.t.cfg.Budget.Capacity()
	}
	return r
}
