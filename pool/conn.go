package pool

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// conn is one connection, from the moment its slot was taken.
//
// Its life: a slot is taken and the dial starts; the dial succeeds and the
// connection is in group.conns; it alternates between uses and idling; it is
// retired (no new uses, in no list); after its last use it is closed; the
// close of its socket gives the slot back. A failed dial jumps to the end.
type conn struct {
	g       *group
	id      uint64
	abort   func() // is close; made once, for the watches on the requests' contexts
	flavour flavour
	meta    events.Meta // of the request that dialled it, Call 0

	// Set by the dial before the connection is published.
	cc     *http.ClientConn
	raw    *rawConn  // nil where the base's DialTLSContext gave a *tls.Conn
	nc     net.Conn  // the socket as the base's dial function returned it
	over   *tls.Conn // the TLS connection over raw; nil where the pool did not make it
	h2     bool
	tls    bool
	opened time.Time
	took   time.Duration // dial and handshakes

	// guarded by Transport.mu:
	slot      bool             // a slot is held: from its taking to the close of the socket
	heir      *waiter          // gets the slot when the socket closes, if it still waits
	uses      int              // requests on it; at most 1 on HTTP/1
	served    uint64           // uses that ever began
	retired   bool             // takes no new use; in no list
	announced bool             // ConnOpened was given to someone to emit
	ended     bool             // ConnClosed was given to someone to emit
	cause     events.ConnCause // why it was retired; "": it was not, or the request on it will say
	index     int              // in group.conns
	idle      bool             // in the ring of idle connections, and on HTTP/1 in group.idle
	idleAt    time.Time
	older     *conn // the ring
	newer     *conn
}

func (c *conn) protocol() string {
	if c.h2 {
		return "2"
	}
	return "1.1"
}

// dead reports whether the connection is known to be unusable. It is safe
// under Transport.mu.
func (c *conn) dead() bool {
	return c.raw != nil && (c.raw.failure.Load() != nil || c.raw.closed.Load()) || c.cc.Err() != nil
}

// vitality is what a connection is good for at this moment.
type vitality uint8

const (
	alive   vitality = iota // takes a request
	busy                    // takes none now
	dead                    // ended, or was asked to go away, and takes none any more
	leaving                 // the same; the server asked (GOAWAY; RFC 9113, section 6.8)
)

// vitality looks at the connection. Transport.mu is held. It asks an HTTP/2
// connection as little as it can: each question takes that one's lock.
func (c *conn) vitality() vitality {
	if !c.h2 || c.served == 0 {
		// One that never served says that it is available even when it is closed.
		switch {
		case c.dead():
			return dead
		case c.h2 || c.uses == 0:
			return alive
		}
		return busy
	}
	if c.raw != nil && (c.raw.failure.Load() != nil || c.raw.closed.Load()) {
		return dead
	}
	// Available counts the streams that are open; uses also those whose
	// requests are about to open one.
	free := c.cc.Available()
	switch {
	case free > c.uses, free > 0 && free+c.cc.InFlight() > c.uses:
		return alive
	case free > 0:
		return busy
	case c.cc.Err() != nil:
		return dead
	case c.uses == 0:
		return leaving
	}
	return busy // or leaving: the last one out will see
}

// expired returns why the connection is too old for new requests, by its age
// or, if it idles, by how long; "" if it is not. Idle time is measured on the
// wall clock too, so that a machine that slept does not use what its servers
// have closed. Transport.mu is held.
func (c *conn) expired(now time.Time) events.ConnCause {
	t := c.g.t
	if d := t.cfg.MaxConnLifetime; d > 0 && now.Sub(c.opened) >= d {
		return events.ConnLifetime
	}
	if d := t.base.IdleConnTimeout; d > 0 && c.idle && (now.Sub(c.idleAt) >= d || now.Round(0).Sub(c.idleAt.Round(0)) >= d) {
		return events.ConnIdleTimeout
	}
	return ""
}

// begin starts a use. Transport.mu is held.
func (c *conn) begin() {
	c.g.t.unpark(c)
	c.g.requests++
	c.uses++
	c.served++
	if c.served > 1 {
		c.g.count.Reuses++
	}
}

// retire takes the connection out of all lists; the first cause counts.
// Transport.mu is held. Who retires it also closes it once it has no uses.
func (c *conn) retire(cause events.ConnCause) {
	if c.retired {
		return
	}
	c.retired, c.cause = true, cause
	c.g.t.unpark(c)
	c.g.remove(c)
}

// close closes the socket. No lock may be held. When it returns, the slot has
// been given back.
func (c *conn) close() {
	if c.raw != nil {
		c.raw.closed.Store(true) // how the server answers close_notify is no failure
		c.cc.Close()
		c.raw.Close() // after 101 the client connection leaves it open
		return
	}
	c.cc.Close()
	c.nc.Close()
	c.g.t.socketClosed(c)
}

// watch is the state hook of a connection whose socket is not the pool's own.
func (c *conn) watch(cc *http.ClientConn) {
	if cc.Err() != nil {
		c.g.t.socketClosed(c)
	}
}

// written returns how many bytes were written to the socket; -1: not known.
func (c *conn) written() int64 {
	if c.raw == nil {
		return -1
	}
	return c.raw.written.Load()
}
