package pool

import (
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// full reports whether all slots of g are taken. Transport.mu is held.
func (t *Transport) full(g *group) bool {
	limit := t.base.MaxConnsPerHost
	return limit > 0 && g.slots >= limit
}

// offer gives c, on which a use has ended, to the waiters it may serve, in
// their order, and parks it if it is left without a use. A waiter that cannot
// use c but needs a slot gets c's instead: c is retired in its favour. It
// reports whether a waiter got c or its slot. Afterwards c has a use, idles, or
// is retired. Transport.mu is held.
func (t *Transport) offer(c *conn, now time.Time, drop *closing) (handed bool) {
	g := c.g
	for w := g.queue.first; w != nil; {
		next := w.next
		switch {
		case w.fresh || !g.fits(c, w.flavour):
			if w.phase == queueing && c.uses == 0 && t.full(g) {
				t.replace(c, w, drop)
				return handed
			}
		case c.retired || t.weed(c, now, drop) != alive:
			return handed // perhaps it ended just now
		default:
			w.serve(c)
			handed = true
		}
		w = next
	}
	if c.uses == 0 {
		t.park(c, now, drop)
	}
	return handed
}

// replace retires c, which has no uses, and promises its slot to w.
// Transport.mu is held.
func (t *Transport) replace(c *conn, w *waiter, drop *closing) {
	c.retire(events.ConnReplaced)
	c.heir = w
	w.promised = true
	w.enter(dialling)
	drop.add(c)
}

// makeRoom closes the connection of w's group that has idled longest in w's
// favour, if w can only be helped by that. Transport.mu is held.
func (t *Transport) makeRoom(w *waiter, drop *closing) {
	if w.phase != queueing || w.g.idles == 0 || !t.full(w.g) {
		return
	}
	var oldest *conn
	for _, c := range w.g.conns {
		if c.idle && (oldest == nil || c.idleAt.Before(oldest.idleAt)) {
			oldest = c
		}
	}
	t.replace(oldest, w, drop)
}

// pump starts the dials for which there are waiters and slots. Transport.mu is
// held.
func (t *Transport) pump(g *group) {
	if t.state == closed {
		return
	}
	for w := g.queue.first; w != nil; w = w.next {
		switch {
		case w.dial != nil || w.promised || w.shared != nil:
		case !w.fresh && t.sharedDial(g, w) != nil:
			w.shared = g.shared
			w.enter(dialling)
		case !w.fresh && t.mustShare(g):
		case t.full(g):
			if !w.fresh {
				return
			}
		default:
			t.startDial(g, w)
		}
	}
}

// sharedDial returns the dial in progress that may well serve w too, because
// the server speaks, or may speak, HTTP/2. Transport.mu is held.
func (t *Transport) sharedDial(g *group, w *waiter) *dialing {
	if w.flavour != anyProtocol || g.speaks == speaksHTTP1 {
		return nil
	}
	return g.shared
}

// mustShare reports whether requests queue for the HTTP/2 connection that
// there is rather than dial another (HTTP2Config.StrictMaxConcurrentRequests).
// Transport.mu is held.
func (t *Transport) mustShare(g *group) bool {
	h2 := t.base.HTTP2
	return h2 != nil && h2.StrictMaxConcurrentRequests && len(g.h2) > 0
}

// socketClosed gives back the slot of c, whose socket has closed: to its heir,
// if that still waits, else to whoever is next. net/http may hold a lock of
// the connection.
func (t *Transport) socketClosed(c *conn) {
	t.mu.Lock()
	if !c.slot {
		t.mu.Unlock()
		return
	}
	c.slot = false
	g := c.g
	g.slots--
	report := false
	if c.cc != nil { // else its dial is not over, and fails
		switch {
		case c.uses > 0:
			c.retire("") // the request on it knows why
		case c.h2 && c.raw.unanswered():
			c.retire(events.ConnPing)
		default:
			c.retire(events.ConnPeer)
		}
		report = c.uses == 0 && c.announced && !c.ended
		c.ended = c.ended || report
	}
	if w := c.heir; w != nil {
		c.heir = nil
		w.promised = false
		if w.waiting() && t.state != closed {
			t.startDial(g, w)
		}
	}
	t.pump(g)
	t.tidy(g)
	t.mu.Unlock()
	if report && t.cfg.Hooks != nil && t.cfg.Hooks.ConnClosed != nil {
		// net/http may hold a lock, and its read loop should not wait.
		go t.background(func() { t.closedIdle(c) })
	}
}
