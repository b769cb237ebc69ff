package faultserver

import "net/http"

// Request is what the server knows of one request. Requests whose header did
// not arrive in full, and those that a race killed (see Server.RaceIdle), are
// not recorded.
type Request struct {
	Seq    int    // 1 is the first of the server
	Conn   int    // number of its connection; 1 is the first of the server
	OnConn int    // 1 is the first on its connection
	Stream uint32 // HTTP/2 stream id; 0 on HTTP/1.1
	Proto  string // "HTTP/1.1" or "HTTP/2.0"

	ID     string // the field that Config.IDHeader names; "" if absent
	Method string
	Path   string // without the query; of CONNECT the authority
	Query  string // raw, without "?"
	Host   string
	Header http.Header

	BodyBytes int64       // body bytes the server has received
	BodyDone  bool        // the body's end has arrived; true at once without a body
	Trailer   http.Header // of the request; nil if none came

	// Processed is set when the server has read the whole request on behalf of
	// its script or has begun to answer it, so that an effect must be assumed.
	// A request that was refused by REFUSED_STREAM or by GOAWAY is never
	// processed, nor one whose connection a script ended before its body was
	// read.
	Processed bool
	// Answered is set when the whole response has been written.
	Answered bool
	// Canceled is set when the client reset the stream. HTTP/2.
	Canceled bool
}

// Conn is what the server knows of one connection.
type Conn struct {
	Number    int // 1 is the first of the server
	Proto     string
	Open      bool // neither the client has closed it nor the server fully
	Idle      bool // see Server.KillIdle
	Requests  int
	Killed    bool  // ended by the server
	How       How   // valid if Killed
	BlackHole bool  // see the BlackHole step
	GoAway    bool  // the client sent GOAWAY. HTTP/2
	Pings     int   // PINGs of the client without acknowledgements. HTTP/2
	Read      int64 // bytes taken from the socket before the server ended it, TLS's own included
	Written   int64 // bytes given to the socket, TLS's own included
	// Handshake is why the TLS handshake failed; nil if it did not.
	Handshake error
	// LocalAddr is the server's, RemoteAddr the client's "host:port".
	LocalAddr, RemoteAddr string
}

// Stats are the server's counts at one instant.
type Stats struct {
	Opened int // connections accepted
	// Open is the number of accepted connections that the client has not
	// closed and the server has not closed fully (RST, Shut). A connection that
	// the server ended by FIN counts until the client closes its side.
	Open int
	// MaxOpen is the largest Open there ever was. It never counts a connection
	// that the client had closed before it dialled another, if it dialled through
	// Sockets. A connection that
	// comes and goes before the server can accept it is not in it: for the
	// client's side see Sockets.
	MaxOpen   int
	Idle      int // parked connections
	Requests  int
	Processed int
	Raced     int // connections that RaceIdle had armed and a request has hit
}

// Stats returns the counts. Like KillIdle it waits for responses whose last
// bytes are just being written.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return s.stats()
}

func (s *Server) stats() Stats {
	s.refresh()
	st := Stats{
		Opened: len(s.conns), Open: s.open, MaxOpen: s.maxOpen,
		Requests: len(s.records), Raced: s.raced,
	}
	for _, c := range s.conns {
		if c.idle() {
			st.Idle++
		}
	}
	for _, r := range s.records {
		if r.Processed {
			st.Processed++
		}
	}
	return st
}

// Requests returns all requests in order of arrival, as they are now. Like
// KillIdle it waits for responses whose last bytes are just being written.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	out := make([]Request, len(s.records))
	for i, r := range s.records {
		out[i] = r.clone()
	}
	return out
}

func (r *Request) clone() Request {
	out := *r
	out.Header = r.Header.Clone()
	out.Trailer = r.Trailer.Clone()
	return out
}

// Conns returns all connections in order of arrival, as they are now. Like
// KillIdle it waits for responses whose last bytes are just being written.
func (s *Server) Conns() []Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	s.refresh()
	out := make([]Conn, len(s.conns))
	for i, c := range s.conns {
		out[i] = s.info(c)
	}
	return out
}

// info describes a connection. The caller holds mu.
func (s *Server) info(c *conn) Conn {
	read, written := c.wire.bytes()
	return Conn{
		Number: c.n, Proto: c.proto, Open: c.open, Idle: c.idle(), Requests: c.requests,
		Killed: c.killed, How: c.how, BlackHole: c.hole, GoAway: c.goAway, Pings: c.pings,
		Read: read, Written: written, Handshake: c.handshake,
		LocalAddr: c.sock.LocalAddr().String(), RemoteAddr: c.remote,
	}
}

// ProcessedTwice returns the IDs of the requests that were processed more than
// once, with the number of times. Requests without an ID are left out.
func (s *Server) ProcessedTwice() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, r := range s.records {
		if r.Processed && r.ID != "" {
			times[r.ID]++
		}
	}
	for id, n := range times {
		if n < 2 {
			delete(times, id)
		}
	}
	return times
}

// record notes a request's arrival; from then on its connection is busy.
func (s *Server) record(c *conn, r *http.Request, stream uint32) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.requests++
	if stream > 0 {
		c.busy++
	} else {
		c.busy = 1 // mostly since its first byte, unless that came before the connection was ready
	}
	rec := &Request{
		Seq: len(s.records) + 1, Conn: c.n, OnConn: c.requests, Stream: stream, Proto: r.Proto,
		ID: r.Header.Get(s.config.IDHeader), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Host: r.Host, Header: r.Header.Clone(),
	}
	if r.Method == http.MethodConnect && rec.Path == "" {
		rec.Path = r.Host
	}
	s.records = append(s.records, rec)
	s.changed.fire()
	return rec
}

// update changes a record under the lock and wakes who waits.
func (s *Server) update(rec *Request, change func(*Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(rec)
	s.changed.fire()
}
