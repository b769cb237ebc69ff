package faultserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
)

func isEOF(err error) bool { return err == io.EOF }

// serveH1 answers requests until the connection is over.
func (c *conn) serveH1(br *bufio.Reader) {
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			if !isEOF(err) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errKilled) && !isNetError(err) {
				io.WriteString(c.app, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				c.polite()
			}
			return
		}
		x := &h1exchange{c: c, br: br, req: req}
		x.rec = c.s.record(c, req, 0)
		if req.Body == nil || req.Body == http.NoBody {
			req.Body = http.NoBody
			x.eof = true
			c.s.update(x.rec, func(r *Request) { r.BodyDone = true })
		}
		x.expects = strings.EqualFold(req.Header.Get("Expect"), "100-continue")
		r := run{c: c, x: x, rec: x.rec}
		if err := r.script(c.s.requestScript(x.rec.snapshot(c.s))); err != nil {
			if !errors.Is(err, errKilled) && !errors.Is(err, errGone) && !errors.Is(err, errOver) {
				c.kill(FIN)
			}
			return
		}
	}
}

// snapshot copies a record under the lock.
func (r *Request) snapshot(s *Server) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.clone()
}

func isNetError(err error) bool {
	var ne net.Error
	return errors.As(err, &ne)
}

// errOver ends a connection that the exchange has already ended as it should.
var errOver = errors.New("faultserver: the response ended the connection")

// h1exchange is a request on HTTP/1.1.
type h1exchange struct {
	c       *conn
	br      *bufio.Reader
	req     *http.Request
	rec     *Request
	expects bool // the client waits for 100 Continue and has not got it
	eof     bool // the request's body was read to its end

	out      []byte  // encoded, not yet written
	head     *Header // held until the framing is known
	hold     []byte  // body bytes behind head
	begun    bool    // respond, half or raw was called
	framing  Framing // of the header that was encoded; Auto: by its own length
	declared int64   // with Auto: the Content-Length that was sent; -1: none
	sent     int64   // body bytes encoded
	mute     bool    // the response has no body, whatever is written
	trailers http.Header
	closing  bool       // the connection ends with the response
	opaque   bool       // raw bytes were written: nothing is added
	taken    *takenConn // not nil once a handler has hijacked the connection
}

func (x *h1exchange) request() *http.Request { return x.req }
func (x *h1exchange) over() <-chan struct{}  { return nil }
func (x *h1exchange) answered() bool         { return x.begun }

func (x *h1exchange) prepare(withhold bool) error {
	if x.expects {
		x.expects = false
		if !withhold && !x.begun {
			x.out = append(x.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
		}
	}
	if x.eof {
		return nil
	}
	return x.flush()
}

func (x *h1exchange) read(p []byte) (int, error) {
	if x.eof {
		return 0, io.EOF
	}
	n, err := x.req.Body.Read(p)
	x.eof = isEOF(err)
	x.c.s.update(x.rec, func(r *Request) {
		r.BodyBytes += int64(n)
		if x.eof {
			r.BodyDone = true
			if len(x.req.Trailer) > 0 {
				r.Trailer = x.req.Trailer.Clone()
			}
		}
	})
	return n, err
}

// end finishes the response and leaves the connection ready for the next
// request, or ends it.
func (x *h1exchange) end() error {
	if x.opaque {
		x.closing = x.closing || x.req.Close
	} else if err := x.finishBody(); err != nil {
		return err
	}
	if short := x.declared > x.sent && !x.mute && !x.opaque; short || x.closing {
		return x.endPolitely(!short)
	}
	if !x.eof {
		if x.expects {
			// The client was never told to send the body and may still do so
			// after a while: what comes next cannot be told apart.
			return x.endPolitely(true)
		}
		if err := (run{c: x.c, x: x, rec: x.rec}).readBody(ReadBody{Withhold: true}); err != nil {
			return err
		}
	}
	err := x.sendLast(true)
	x.c.parkH1(x.br.Buffered() > 0)
	return err
}

// sendLast sends the last bytes of a response. Who looks at the server's counts
// waits until the caller has ended the request.
func (x *h1exchange) sendLast(whole bool) error {
	x.c.lastBytes()
	err := x.flush()
	if err == nil && whole {
		x.c.s.update(x.rec, func(r *Request) { r.Answered = true })
	}
	return err
}

// endPolitely ends the connection after the response.
func (x *h1exchange) endPolitely(whole bool) error {
	if err := x.sendLast(whole); err != nil {
		return err
	}
	x.c.polite()
	return errOver
}

func (x *h1exchange) reset(http2.ErrCode) error {
	return (run{c: x.c, x: x, rec: x.rec}).needsH2(Reset{})
}

func (x *h1exchange) endUnread(how How) error {
	if err := x.flush(); err != nil {
		return err
	}
	x.c.kill(how)
	return errKilled
}

func (x *h1exchange) abort() {
	x.send(len(x.out))
	x.c.kill(FIN)
}
