package faultserver

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// conn is one accepted connection: its life and what may be done to it. The
// fields below Server.mu's mark are guarded by the server's mutex, so that
// counts over all connections are exact.
type conn struct {
	s      *Server
	n      int // 1 is the first connection
	sock   socket
	wire   *wire
	remote string    // the client's address
	tls    *tls.Conn // nil without TLS
	app    net.Conn  // tls or wire: what HTTP is spoken on

	done  chan struct{} // closed when the connection was ended or the peer has closed
	ended chan struct{} // closed when the server has ended the connection

	// guarded by Server.mu:
	h2         *h2conn // nil on HTTP/1.1
	proto      string  // "HTTP/1.1" or "HTTP/2.0" once served
	open       bool    // counted in Server.open
	clientGone bool    // the client's end has closed, as its Sockets said
	shaken     bool    // the TLS handshake has succeeded
	ready      bool    // requests can come
	busy       int     // requests that are not over; on HTTP/1.1 0 or 1, from the first byte on
	finishing  int     // those of busy whose last byte is being written
	taken      bool    // a handler has hijacked it
	hole       bool    // black-holed
	killed     bool    // ended by the server
	how        How     // valid if killed
	over       bool    // done is closed
	requests   int
	pings      int
	goAway     bool // the client sent GOAWAY
	handshake  error
	settings   Settings
}

// idle reports whether the connection is parked. The caller holds Server.mu.
func (c *conn) idle() bool {
	return c.open && c.ready && c.busy == 0 && !c.taken && !c.hole && !c.killed && !c.over
}

// settling reports whether the connection is about to become idle: only last
// bytes are being written, and the socket takes them. The caller holds
// Server.mu.
func (c *conn) settling() bool {
	return c.busy > 0 && c.busy == c.finishing && !c.killed && !c.over && !c.hole && !c.wire.isBlocked()
}

// finish closes done. The caller holds Server.mu.
func (c *conn) finish() {
	if !c.over {
		c.over = true
		close(c.done)
	}
}

// uncount takes the connection out of the open ones. The caller holds
// Server.mu.
func (c *conn) uncount() {
	if c.open {
		c.open = false
		c.s.open--
	}
}

// peerEnded is called when the peer's FIN or reset has been seen.
func (c *conn) peerEnded() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.uncount()
	c.finish()
	c.s.changed.fire()
}

// bytesArrived is called by the pump before it hands over bytes. On HTTP/1.1
// the first byte begins a request; HTTP/2 counts streams instead.
func (c *conn) bytesArrived() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.ready && c.h2 == nil && !c.taken && c.busy == 0 {
		c.busy = 1
		c.s.changed.fire()
	}
}

// claim decides that the connection ends in this way; only one caller wins, and
// must then call end. The caller holds Server.mu.
func (c *conn) claim(how How) bool {
	if c.killed {
		return false
	}
	c.killed = true
	c.how = how
	close(c.ended)
	c.finish()
	c.s.changed.fire()
	return true
}

// kill ends the connection and reports whether it was this call that did.
func (c *conn) kill(how How) bool {
	c.s.mu.Lock()
	won := c.claim(how)
	c.s.mu.Unlock()
	if won {
		c.end(how)
	}
	return won
}

// killRaced is kill for a connection that RaceIdle has armed.
func (c *conn) killRaced(how How) {
	c.s.mu.Lock()
	won := c.claim(how)
	if won {
		c.s.raced++
	}
	c.s.mu.Unlock()
	if won {
		c.end(how)
	}
}

// end does on the wire what claim has decided.
func (c *conn) end(how How) {
	switch how {
	case CloseNotify:
		c.wire.giveUpWaiting()
		if c.tls != nil {
			c.tls.CloseWrite() // fails before the handshake is over; FIN follows in any case
		}
	case TruncatedRecord:
		// A record of 64 bytes, half of them: application data, or handshake.
		kind := byte(22)
		c.s.mu.Lock()
		if c.shaken {
			kind = 23
		}
		c.s.mu.Unlock()
		c.wire.sendLast(append([]byte{kind, 3, 3, 0, 64}, Pattern(32)...))
	}
	c.wire.setMode(wireDead)
	switch how {
	case RST:
		c.sock.Reset()
		c.closedHere()
	case Shut:
		c.sock.Discard()
		c.sock.Close()
		c.closedHere()
	default:
		c.sock.CloseWrite()
	}
}

// abandon closes the socket of a connection that was ended before.
func (c *conn) abandon() {
	c.wire.setMode(wireDead)
	c.sock.Close()
	c.closedHere()
}

func (c *conn) closedHere() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.uncount()
	c.s.changed.fire()
}

// polite ends the connection as a well-behaved server does.
func (c *conn) polite() {
	if c.tls != nil {
		c.kill(CloseNotify)
	} else {
		c.kill(FIN)
	}
}

// blackHole makes the connection deaf and mute.
func (c *conn) blackHole() bool {
	c.s.mu.Lock()
	if c.hole || c.killed || c.over {
		c.s.mu.Unlock()
		return false
	}
	c.hole = true
	c.s.changed.fire()
	c.s.mu.Unlock()
	c.wire.setMode(wireHole)
	return true
}

// lastBytes announces that what is written next ends a response. The client can
// see the response's end before the server's own code goes on, so that whoever
// looks for idle connections has to wait for these.
func (c *conn) lastBytes() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.finishing++
}

// notLast takes lastBytes back.
func (c *conn) notLast() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.finishing--
	c.s.changed.fire()
}

// parkH1 takes back lastBytes and ends the request, unless bytes of the next
// one are there.
func (c *conn) parkH1(buffered bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.finishing--
	if !buffered && !c.wire.pending() {
		c.busy = 0
	}
	c.s.changed.fire()
}

// requestOver ends an HTTP/2 request and, if last says so, takes lastBytes back.
func (c *conn) requestOver(last bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.busy--
	if last {
		c.finishing--
	}
	c.s.changed.fire()
}

// setReady ends the handshake phase.
func (c *conn) setReady(proto string, h2 *h2conn, buffered bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.ready = true
	c.proto = proto
	c.h2 = h2
	if h2 == nil && (buffered || c.wire.pending()) {
		c.busy = 1
	}
	c.s.changed.fire()
}

// sleep waits for d. It reports false if the connection is over before.
func (c *conn) sleep(d time.Duration, also <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.done:
		return false
	case <-also:
		return false
	}
}

// context returns a context that ends with the connection or when also closes.
func (c *conn) context(also <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := make(chan struct{})
	c.s.wg.Go(func() {
		select {
		case <-c.done:
			cancel()
		case <-also:
			cancel()
		case <-stop:
		}
	})
	return ctx, func() { cancel(); close(stop) }
}
