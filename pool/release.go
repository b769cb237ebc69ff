package pool

import (
	"context"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// ending says how a use of a connection ended.
type ending struct {
	reusable bool             // as far as the request can tell
	cause    events.ConnCause // why not
	last     bool             // the request is over
	unused   bool             // nothing was tried on it: the use does not count
	spare    bool             // it was just seen to take more requests
}

// release ends one use of c on the goroutine of the request with context ctx:
// c goes to the next waiter, idles, or is closed. It returns why c was retired,
// "" if it was not.
func (t *Transport) release(ctx context.Context, h hooks, c *conn, end ending) events.ConnCause {
	var drop closing
	now := time.Now()
	t.mu.Lock()
	c.uses--
	c.g.requests--
	if end.unused {
		c.served--
		if c.served > 0 {
			c.g.count.Reuses--
		}
	}
	handed := false
	switch {
	case c.retired:
		if c.cause == "" { // its socket closed under it
			c.cause = orPeer(end.cause)
		}
	case !end.reusable && !c.h2:
		c.retire(end.cause)
	case !end.unused && !t.keepAlives():
		c.retire(events.ConnNoReuse)
	default:
		cause := c.expired(now)
		v := alive
		if !end.spare {
			v = c.vitality()
		}
		switch {
		case !c.slot || v == dead:
			c.retire(orPeer(end.cause))
		case !end.reusable:
			c.retire(end.cause)
		case v == leaving:
			c.retire(events.ConnGoAway)
		case cause != "":
			c.retire(cause)
		default:
			handed = t.offer(c, now, &drop)
		}
	}
	remaining, cause := c.uses, c.cause
	if c.retired && c.uses == 0 {
		drop.add(c)
	}
	if end.last {
		t.requestOver()
	}
	t.tidy(c.g)
	t.mu.Unlock()

	drop.close()
	if !end.unused {
		h.released(ctx, c, handed, remaining)
	}
	drop.emit(ctx, h, c)
	return cause
}

func orPeer(cause events.ConnCause) events.ConnCause {
	if cause == "" {
		return events.ConnPeer
	}
	return cause
}

// requestOver ends a request. Transport.mu is held.
func (t *Transport) requestOver() {
	t.inflight--
	if t.inflight == 0 && t.state != running && t.drained != nil {
		close(t.drained)
		t.drained = nil
	}
}

// closing collects connections under Transport.mu that are to be closed, and
// reported, after it has been released.
type closing struct {
	first *conn // most often there is one
	more  []*conn
}

// add adds a retired connection without uses. Transport.mu is held.
func (l *closing) add(c *conn) {
	if c.ended {
		return
	}
	c.ended = true
	if l.first == nil {
		l.first = c
	} else {
		l.more = append(l.more, c)
	}
}

// close closes the sockets.
func (l *closing) close() {
	if l.first == nil {
		return
	}
	l.first.close()
	for _, c := range l.more {
		c.close()
	}
}

// emit reports the closes: that of own, if not nil, as part of the request
// with context ctx; the others as idle ones.
func (l *closing) emit(ctx context.Context, h hooks, own *conn) {
	if l.first == nil {
		return
	}
	l.emitOne(ctx, h, own, l.first)
	for _, c := range l.more {
		l.emitOne(ctx, h, own, c)
	}
}

func (l *closing) emitOne(ctx context.Context, h hooks, own, c *conn) {
	if c == own {
		h.closed(ctx, c)
	} else {
		h.t.closedIdle(c)
	}
}
