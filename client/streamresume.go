package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
	"github.com/plimsoll-http/plimsoll/sse"
)

// leastLife is how long a connection without an event must hold at least, not
// to count as a failure.
const leastLife = time.Second

// outage is a row of attempts that gave nothing, the connection that was lost
// first included.
type outage struct {
	failed  int          // attempts
	clock   budget.Clock // of the waits between them
	running bool         // clock is started
}

// resumes reports whether the stream goes on after its connection ended with
// err.
func (s *Stream) resumes(err error) bool {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	return !closed && s.ctx.Err() == nil && s.cfg.Resume && mendable(err)
}

// mendable reports whether another connection could go on where err ended one.
func mendable(err error) bool {
	var (
		full   *sse.CapError
		silent *streamTimeoutError
	)
	return !errors.As(err, &full) && !errors.As(err, &silent) && !errors.Is(err, context.Canceled)
}

// goesOn reports whether the loss of the connection by err is not, or not yet,
// the end of the stream.
func (sc *streamConn) goesOn(err error) bool { return sc.stream.cfg.Resume && mendable(err) }

// resume makes another connection after the latest one ended with err.
func (s *Stream) resume(err error) error {
	if err == io.EOF {
		err = errStreamEnded
	}
	held := time.Since(s.conn.opened) >= max(s.call.policy().MaxDelay, leastLife)
	if s.conn.served || held {
		s.row = outage{failed: 1}
	} else {
		// All calls but the last one succeeded: they were redirects.
		s.row.failed += s.conn.attempts - s.conn.calls + 1
	}
	switch {
	case held || !errors.Is(err, errStreamEnded):
		s.ends = 0
	case s.ends < mostRetries:
		s.ends++
	}
	s.least = s.retry
	if s.ends > 0 && s.retry == 0 {
		s.least = backoff(s.call.policy(), s.ends)
	}
	return s.open(&result{err: err, class: pool.ClassOf(err), dropped: true})
}

// bounded is the reconnection time that counts where the server has set retry.
func (s *Stream) bounded(retry time.Duration) time.Duration {
	p := s.call.policy()
	return min(max(retry, p.BaseDelay), p.MaxDelay)
}

// outage returns the clock and the number of sends of the row of failed
// attempts that a call goes on with, where fresh is the clock of a call of its
// own.
func (sc *streamConn) outage(fresh budget.Clock) (budget.Clock, int) {
	row := &sc.stream.row
	if !sc.again {
		return fresh, 0
	}
	if !row.running {
		row.clock, row.running = fresh, true
	}
	return row.clock, row.failed
}

// redials reports whether an attempt that failed with class is to be made
// again because it is a reconnection: a server that restarts refuses
// connections for a while.
func (sc *streamConn) redials(class events.ErrorClass) bool {
	return sc.again && (class == events.ClassDial || class == events.ClassDNS)
}

// before is the number of the attempts that failed before the call began, in
// the row of those of a stream.
func (c *call) before() int {
	if c.off.stream == nil || !c.off.stream.again {
		return 0
	}
	return c.off.stream.stream.row.failed
}

// lost returns how the connection ended that the call is to replace, to the
// first call that asks; nil: the call is none of a stream, or not of one that
// reconnects.
func (c *call) lost() *result {
	if c.off.stream == nil {
		return nil
	}
	r := c.off.stream.lost
	c.off.stream.lost = nil
	return r
}

// reconnectionTime is the shortest wait before the call's next attempt because
// of the stream that it continues.
func (c *call) reconnectionTime() time.Duration {
	if c.off.stream == nil || !c.off.stream.again {
		return 0
	}
	return c.off.stream.stream.least
}
