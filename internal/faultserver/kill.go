package faultserver

import "golang.org/x/net/http2"

// KillIdle ends all parked connections and returns how many. A connection is
// parked when its handshake is over, no request is open on it, and neither side
// has ended it; one that has not served a request yet counts. Connections whose
// response's last bytes are just being written are waited for, so that a client
// that has read a response to its end finds its connection killed. It panics if
// how is not possible on the server's protocol.
//
// When KillIdle returns, FIN or reset has been sent; whether the client has
// noticed, only the client can tell. For a client that has certainly not
// noticed use RaceIdle.
func (s *Server) KillIdle(how How) int {
	s.mustBePossible(how)
	conns := s.claimIdle(func(c *conn) bool { return c.claim(how) })
	for _, c := range conns {
		c.end(how)
	}
	return len(conns)
}

// KillAll ends all connections that are not ended yet, whatever they do, and
// returns how many. A connection that waits for the client to read does not
// hold it up: it gets FIN alone where CloseNotify or TruncatedRecord cannot be
// written.
func (s *Server) KillAll(how How) int {
	s.mustBePossible(how)
	s.mu.Lock()
	s.refresh()
	var conns []*conn
	for _, c := range s.conns {
		if c.open && !c.over && c.claim(how) {
			conns = append(conns, c)
		}
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.end(how)
	}
	return len(conns)
}

// RaceIdle arms all parked connections (see KillIdle) and returns how many: the
// next request on such a connection meets a server that has just closed. On
// HTTP/1.1 the connection ends when the first byte of the request arrives, on
// HTTP/2 when its HEADERS frame does, without an answer and without a record of
// the request. This forces the order "the client has written, then it learns
// that the connection is dead".
func (s *Server) RaceIdle(how How) int {
	s.mustBePossible(how)
	conns := s.claimIdle(func(c *conn) bool {
		if c.h2 != nil {
			c.h2.race = &how
		} else {
			c.wire.arm(how)
		}
		return true
	})
	return len(conns)
}

// BlackHole makes all open connections deaf and mute (see the BlackHole step)
// and returns how many.
func (s *Server) BlackHole() int {
	s.mu.Lock()
	conns := append([]*conn(nil), s.conns...)
	s.mu.Unlock()
	n := 0
	for _, c := range conns {
		if c.blackHole() {
			n++
		}
	}
	return n
}

// WriteIdle writes data to all parked connections, above TLS, though nobody
// asked, and returns how many took it. On HTTP/2 data must be whole frames if
// the connection shall live.
func (s *Server) WriteIdle(data []byte) int {
	n := 0
	for _, c := range s.claimIdle(func(*conn) bool { return true }) {
		if c.writeRaw(data, false) == nil {
			n++
		}
	}
	return n
}

// GoAway sends GOAWAY on all HTTP/2 connections and returns how many. The last
// stream id is the highest that has arrived, so that open requests go on. TCP
// stays up.
func (s *Server) GoAway(code http2.ErrCode) int {
	s.mu.Lock()
	s.refresh()
	var conns []*h2conn
	for _, c := range s.conns {
		if c.open && c.h2 != nil && !c.over {
			conns = append(conns, c.h2)
		}
	}
	s.mu.Unlock()
	n := 0
	for _, h := range conns {
		if h.goAway(code, func(highest uint32) uint32 { return highest }, "") == nil {
			n++
		}
	}
	return n
}

// claimIdle returns the idle connections that take, called with mu held, has
// accepted.
func (s *Server) claimIdle(take func(*conn) bool) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	s.refresh()
	var conns []*conn
	for _, c := range s.conns {
		if c.idle() && take(c) {
			conns = append(conns, c)
		}
	}
	return conns
}

// settle waits until no connection is about to become idle. The caller holds
// mu, which settle gives up while it waits.
func (s *Server) settle() {
	for {
		settling := false
		for _, c := range s.conns {
			settling = settling || c.settling()
		}
		if !settling {
			return
		}
		changed := s.changed.wait()
		s.mu.Unlock()
		<-changed
		s.mu.Lock()
	}
}

func (s *Server) mustBePossible(how How) {
	if err := how.possible(s.config.Protocol); err != nil {
		panic("faultserver: " + err.Error())
	}
}
