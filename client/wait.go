package client

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
)

// wait is the delay before a send, and whether it is shorter than the server
// asked for (Overrun Send).
type wait struct {
	delay     time.Duration
	truncated bool
}

// sleep waits for d, or until the call's context ends, whose error it returns,
// or until the client is closed.
func (c *call) sleep(d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.Done():
		case <-c.gen.closed:
			return ErrClosed
		}
	}
	return c.over()
}

// allows reports whether delay fits the total retry time and the context.
func (c *call) allows(delay time.Duration) bool {
	return c.clock().Allows(delay) && c.until().Allows(delay)
}

// remaining is the time left for waiting.
func (c *call) remaining() time.Duration { return min(c.clock().Remaining(), c.until().Remaining()) }

// truncate cuts a wait that does not fit to the rest of the total retry time.
// It is false where nothing may be cut: Overrun is Return, nothing is left, or
// the context ends first.
func (c *call) truncate() (wait, bool) {
	rest := c.clock().Remaining()
	if c.policy().Overrun != Send || rest <= 0 || !c.until().Allows(rest) {
		return wait{}, false
	}
	return wait{rest, true}, true
}

// throttle returns how long the partition is still to be left alone.
func (c *call) throttle() (time.Time, time.Duration) {
	if c.forget {
		return time.Time{}, 0
	}
	until, ok := c.t.throttles.Until(c.target.partition)
	if !ok {
		return time.Time{}, 0
	}
	return until, max(0, time.Until(until))
}

// awaitThrottle waits before the first attempt for what other calls were told
// by the server.
func (c *call) awaitThrottle() error {
	until, left := c.throttle()
	if left == 0 {
		return nil
	}
	w := wait{delay: left}
	if c.allows(left) {
		// Calls that waited together do not go together.
		if spread := budget.Spread(left, rand.Float64()); c.allows(spread) {
			w.delay = spread
		}
	} else {
		var ok bool
		if w, ok = c.truncate(); !ok {
			return &ThrottledError{Key: c.target.partition, Until: until}
		}
		c.forget = true
	}
	started := time.Now()
	err := c.sleep(w.delay)
	waited := time.Since(started)
	c.detoured().throttled += waited
	if h := c.hooks; h != nil && h.ThrottleWaited != nil {
		h.ThrottleWaited(c, events.ThrottleWaited{Meta: c.meta(), Key: c.target.partition, Wait: waited, Truncated: w.truncated})
	}
	return err
}

// remember records the Retry-After of r for the partition.
func (c *call) remember(r *result) {
	if !r.asked || r.after <= 0 || r.after > c.t.cfg.RetryAfterCeiling {
		return
	}
	until := time.Now().Add(r.after)
	c.t.throttles.Record(c.target.partition, until)
	if h := c.hooks; h != nil && h.ThrottleRecorded != nil {
		h.ThrottleRecorded(c, events.ThrottleRecorded{Meta: c.meta(), Key: c.target.partition, Until: until, Delay: r.after})
	}
}

// delay plans the wait before retry n: the larger of backoff, or Retry-After in
// its place, and the live throttle. false means that it does not fit; the wait
// then holds the delay that did not.
func (c *call) delay(r *result, n int) (wait, bool) {
	w := wait{delay: max(backoff(c.policy(), n), c.reconnectionTime())}
	if r.asked {
		w.delay = r.after
	}
	if _, left := c.throttle(); left > w.delay {
		w.delay = left
	}
	ceiling := c.t.cfg.RetryAfterCeiling
	tooLong := r.asked && r.after > ceiling
	if !tooLong && c.allows(w.delay) {
		return w, true
	}
	cut, ok := c.truncate()
	if !ok || tooLong && cut.delay > ceiling {
		return w, false
	}
	return cut, true
}
