package pool

import (
	"context"
	"net/url"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// phase is what a waiter waits for.
type phase uint8

const (
	queueing phase = iota // for a slot, or a connection that becomes free
	dialling              // for a dial, its own or a shared one, or for a socket that closes in its favour
	served                // for nothing: it has a connection or an error
	left                  // for nothing: its request gave up
)

// waiter is a request that waits for a connection. It is in its group's queue
// while its phase is queueing or dialling.
type waiter struct {
	g       *group
	place   uint64 // its rank in the queue: of the request's first acquisition
	flavour flavour
	fresh   bool // takes a connection dialled for it alone, and no other
	ctx     context.Context
	meta    events.Meta
	to      endpoint
	proxy   *url.URL
	wake    chan struct{} // receives when the phase changed; capacity 1

	// guarded by Transport.mu:
	prev, next *waiter
	phase      phase
	since      time.Time     // when it began to queue; zero: it does not
	queued     time.Duration // time spent in queueing
	dial       *dialing      // the dial that was started for it
	shared     *dialing      // the dial of another waiter that it waits for
	promised   bool          // a closing connection has it as its heir

	conn     *conn // the result
	reused   bool  // conn had served before
	announce bool  // ConnOpened of conn is the waiter's to emit
	err      error
	panicked bool // the dial ended in a panic or Goexit
	panicVal any  // nil: Goexit
}

// waiting reports whether w is in the queue. Transport.mu is held.
func (w *waiter) waiting() bool { return w.phase < served }

// enter moves w to phase p. Transport.mu is held.
func (w *waiter) enter(p phase) {
	if w.phase == queueing && !w.since.IsZero() && p != queueing {
		w.queued += time.Since(w.since)
		w.since = time.Time{}
	}
	if p == queueing && w.since.IsZero() {
		w.since = time.Now()
	}
	w.phase = p
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// leave takes w out of the queue, in phase p. Transport.mu is held.
func (w *waiter) leave(p phase) {
	w.g.queue.remove(w)
	if w.dial != nil && w.dial.w == w {
		w.dial.w = nil
	}
	w.enter(p)
}

// serve gives c to w. Transport.mu is held.
func (w *waiter) serve(c *conn) {
	w.conn, w.reused = c, c.served > 0
	c.begin()
	if !c.announced {
		c.announced, w.announce = true, true
	}
	w.leave(served)
}

// fail gives err to w. Transport.mu is held.
func (w *waiter) fail(err error) {
	w.err = err
	w.leave(served)
}

// queue is the waiters of a group, by place.
type queue struct {
	first, last *waiter
	n           int
}

func (q *queue) insert(w *waiter) {
	at := q.last // w goes behind it
	for at != nil && at.place > w.place {
		at = at.prev
	}
	w.prev = at
	if at == nil {
		w.next, q.first = q.first, w
	} else {
		w.next, at.next = at.next, w
	}
	if w.next == nil {
		q.last = w
	} else {
		w.next.prev = w
	}
	q.n++
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.n--
}
