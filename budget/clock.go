package budget

import (
	"math"
	"time"
)

// unbounded as a Clock's limit stands for no end at all.
const unbounded time.Duration = math.MaxInt64

// A Clock bounds all waits of one call. It is anchored once, when the call
// begins, and from then on counts elapsed time on the monotonic clock: stepping
// the wall clock changes nothing, neither for the total nor for a deadline
// without a monotonic reading, which was turned into a span at the start. Time
// that the machine spends suspended counts as far as the platform's monotonic
// clock counts it; on Linux it does not.
//
// A Clock is a value: copies are equal, and none allocates. It is never changed
// after the start, so that it may be read concurrently. The zero Clock has run
// out.
type Clock struct {
	start time.Time
	limit time.Duration // from start, at least 0
}

// StartClock starts a clock now that stops after total or at deadline,
// whichever is first. A negative total is none, and so is the zero deadline;
// with neither, or with a stop more than 292 years away, the clock never stops.
// A total of 0, or a deadline that has passed, is a clock that has run out.
func StartClock(total time.Duration, deadline time.Time) Clock {
	return StartClockAt(time.Now(), total, deadline)
}

// StartClockAt is [StartClock] at a given time.
func StartClockAt(now time.Time, total time.Duration, deadline time.Time) Clock {
	limit := total
	if total < 0 {
		limit = unbounded
	}
	if !deadline.IsZero() {
		limit = min(limit, max(0, deadline.Sub(now))) // Sub saturates
	}
	return Clock{start: now, limit: limit}
}

// Stop returns the time at which the clock stops, and the zero Time if it never
// does. For a deadline that had passed at the start, that is the start.
func (c Clock) Stop() time.Time {
	if c.limit == unbounded {
		return time.Time{}
	}
	return c.start.Add(c.limit)
}

// Remaining returns the time left: at least 0, and math.MaxInt64 if the clock
// never stops.
func (c Clock) Remaining() time.Duration { return c.RemainingAt(time.Now()) }

// RemainingAt is [Clock.Remaining] at a given time. A time before the start
// counts as the start.
func (c Clock) RemainingAt(now time.Time) time.Duration {
	if c.limit == unbounded {
		return unbounded
	}
	elapsed := max(0, now.Sub(c.start)) // Sub saturates
	return max(0, c.limit-elapsed)      // both at least 0: no overflow
}

// Allows reports whether a wait of delay may begin now: the clock has not
// stopped, and does not stop before the wait is over. A wait that ends exactly
// at the stop is allowed; a negative delay counts as 0.
func (c Clock) Allows(delay time.Duration) bool { return c.AllowsAt(time.Now(), delay) }

// AllowsAt is [Clock.Allows] at a given time.
func (c Clock) AllowsAt(now time.Time, delay time.Duration) bool {
	left := c.RemainingAt(now)
	return left > 0 && delay <= left
}
