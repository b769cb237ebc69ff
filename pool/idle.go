package pool

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// keepAlives reports whether connections serve more than one request.
func (t *Transport) keepAlives() bool {
	return !t.base.DisableKeepAlives && t.base.MaxIdleConnsPerHost >= 0
}

func (t *Transport) maxIdlePerHost() int {
	if n := t.base.MaxIdleConnsPerHost; n != 0 {
		return n
	}
	return http.DefaultMaxIdleConnsPerHost
}

// takeIdle returns the connection on which a request of flavour f may start at
// once, or nil: an HTTP/2 connection with room, else the HTTP/1 connection
// that idles for the shortest time. It retires dead and expired ones on the
// way. Transport.mu is held.
func (t *Transport) takeIdle(g *group, f flavour, now time.Time, drop *closing) *conn {
	if f == anyProtocol {
		// The oldest first, so that surplus ones run dry.
		for i := 0; i < len(g.h2); {
			c := g.h2[i]
			switch t.weed(c, now, drop) {
			case alive:
				return c
			case busy:
				i++
			}
		}
	}
	for _, c := range slices.Backward(g.idle) { // weed deletes behind it
		if t.weed(c, now, drop) == alive && g.fits(c, f) {
			return c
		}
	}
	return nil
}

// weed looks at c, and retires it if it takes no requests any more. Transport.mu
// is held.
func (t *Transport) weed(c *conn, now time.Time, drop *closing) vitality {
	v := c.vitality()
	var cause events.ConnCause
	switch v {
	case dead:
		cause = events.ConnPeer
	case leaving:
		cause = events.ConnGoAway
	default:
		if cause = c.expired(now); cause == "" {
			return v
		}
	}
	c.retire(cause)
	if c.uses == 0 {
		drop.add(c)
	}
	return dead
}

// park makes c, which has no uses, idle, or retires it. Transport.mu is held.
func (t *Transport) park(c *conn, now time.Time, drop *closing) {
	g := c.g
	var cause events.ConnCause
	switch {
	case !t.keepAlives():
		cause = events.ConnNoReuse
	case t.noPark || t.state != running:
		cause = events.ConnShutdown
	case g.idles >= t.maxIdlePerHost():
		cause = events.ConnLimit
	}
	if cause != "" {
		c.retire(cause)
		drop.add(c)
		return
	}
	c.idle, c.idleAt = true, now
	c.older, c.newer = t.lru.older, &t.lru
	c.older.newer, t.lru.older = c, c
	t.idles++
	g.idles++
	if !c.h2 {
		g.idle = append(g.idle, c)
	}
	if limit := t.base.MaxIdleConns; limit > 0 && t.idles > limit {
		oldest := t.lru.newer
		oldest.retire(events.ConnLimit)
		drop.add(oldest)
		t.tidy(oldest.g)
	}
	if c.idle {
		t.wake(c.expiry(), now)
	}
}

// unpark ends c's idling, if it idles. Transport.mu is held.
func (t *Transport) unpark(c *conn) {
	if !c.idle {
		return
	}
	c.idle = false
	c.older.newer, c.newer.older = c.newer, c.older
	c.older, c.newer = nil, nil
	t.idles--
	c.g.idles--
	if !c.h2 {
		idle := c.g.idle
		i := len(idle) - 1
		if idle[i] != c {
			i = slices.Index(idle, c)
		}
		c.g.idle = slices.Delete(idle, i, i+1)
	}
}

// expiry returns when an idle connection expires; zero: never. Transport.mu is
// held.
func (c *conn) expiry() time.Time {
	t := c.g.t
	var at time.Time
	if d := t.base.IdleConnTimeout; d > 0 {
		at = c.idleAt.Add(d)
	}
	if d := t.cfg.MaxConnLifetime; d > 0 {
		if end := c.opened.Add(d); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// wake lets the janitor run at the given time, or earlier. Transport.mu is
// held.
func (t *Transport) wake(at, now time.Time) {
	if at.IsZero() || !t.wakeAt.IsZero() && !at.Before(t.wakeAt) {
		return
	}
	t.wakeAt = at
	if t.janitor == nil {
		t.janitor = time.AfterFunc(at.Sub(now), t.sweep)
	} else {
		t.janitor.Reset(at.Sub(now))
	}
}

// sweep is the janitor: it closes the idle connections that have expired.
func (t *Transport) sweep() {
	var drop closing
	now := time.Now()
	t.mu.Lock()
	t.wakeAt = time.Time{}
	var next time.Time
	for c := t.lru.newer; c != &t.lru; {
		current := c
		c = c.newer
		if cause := current.expired(now); cause != "" {
			current.retire(cause)
			drop.add(current)
			t.tidy(current.g)
			continue
		}
		if at := current.expiry(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if t.cfg.MaxConnLifetime <= 0 {
			break // the ring is in the order of expiry
		}
	}
	t.wake(next, now)
	t.mu.Unlock()

	drop.close()
	t.background(func() { drop.emit(context.Background(), hooks{t: t}, nil) })
}
