package faultserver

import (
	"fmt"
	"net/http"
	"strconv"

	"golang.org/x/net/http2"
)

// Script is what happens to one request, or to one connection before its first
// request. Steps run in order on one goroutine. The zero Script is the default:
// for a request the handler or the echo, for a connection nothing special.
//
// A request's script that ends without a response (it waited, or read the
// body) goes on with the default. One that ends with its declared length
// unfinished closes the connection.
type Script struct{ Steps []Step }

// Do returns the script of these steps.
func Do(steps ...Step) Script { return Script{Steps: steps} }

// Respond reads the body and answers with the status and the body.
func Respond(status int, body string) Script {
	return Do(ReadBody{}, Header{Status: status}, Body{Data: []byte(body)})
}

// RespondWith is Respond with a header; RespondWith(429, http.Header{"Retry-After": {"1"}}, "").
func RespondWith(status int, header http.Header, body string) Script {
	return Do(ReadBody{}, Header{Status: status, Header: header}, Body{Data: []byte(body)})
}

// KillAfterReading reads the whole request, so that it counts as processed, and
// ends the connection without a byte of an answer.
func KillAfterReading(how How) Script { return Do(ReadBody{}, Kill{how}) }

// KillUnread ends the connection as soon as the request's header is there.
func KillUnread(how How) Script { return Do(Kill{how}) }

// KillInHeader answers with half a header, then ends the connection.
func KillInHeader(how How) Script {
	return Do(ReadBody{}, HalfHeader{Header: Header{Header: http.Header{"Content-Length": {"2"}}}}, Kill{how})
}

// KillInBody declares size bytes, sends half of them, then ends the connection.
func KillInBody(size int, how How) Script {
	return Do(ReadBody{},
		Header{Header: http.Header{"Content-Length": {strconv.Itoa(size)}}},
		Body{Size: size / 2}, Kill{how})
}

// WrongLength declares declared bytes and sends sent. If that is less, the
// connection ends with FIN (over TLS close_notify) after the last one.
func WrongLength(declared, sent int) Script {
	return Do(ReadBody{},
		Header{Header: http.Header{"Content-Length": {strconv.Itoa(declared)}}},
		Body{Size: sent})
}

// Early answers before the body is read and leaves it unread: on HTTP/1.1 the
// connection then ends in the given way, on HTTP/2 the stream gets
// RST_STREAM(NO_ERROR) as RFC 9113, section 8.1 asks.
func Early(status int, how How) Script {
	return Do(Header{Status: status, Header: http.Header{"Connection": {"close"}, "Content-Length": {"5"}}},
		Body{Data: []byte("early")}, endUnread{how})
}

// RefuseStream answers with RST_STREAM(REFUSED_STREAM). HTTP/2.
func RefuseStream() Script { return Do(Reset{Code: http2.ErrCodeRefusedStream}) }

// RefuseByGoAway answers with a graceful GOAWAY that excludes this request.
// HTTP/2.
func RefuseByGoAway() Script { return Do(GoAway{Code: http2.ErrCodeNo, Refuse: true}) }

// BadStatusLine answers with a line that is not HTTP and ends the connection;
// on HTTP/2 with a header block whose :status is no number.
func BadStatusLine(how How) Script {
	return Do(ReadBody{}, malformed{}, Kill{how})
}

// HugeHeader answers 200 with a header field of size bytes.
func HugeHeader(size int) Script {
	b := make([]byte, size)
	for i := range b {
		b[i] = 'a'
	}
	return Do(ReadBody{}, Header{Header: http.Header{"X-Huge": {string(b)}}})
}

// endUnread ends an HTTP/1.1 connection; on HTTP/2 it does nothing, and the
// script's end resets the stream.
type endUnread struct{ how How }

func (endUnread) step() {}

// malformed sends a header that no client may accept.
type malformed struct{}

func (malformed) step() {}

// check returns an error if the script cannot run on a server of p.
func (s Script) check(p Protocol, conn bool) error {
	for i, st := range s.Steps {
		if err := checkStep(st, p, conn); err != nil {
			return fmt.Errorf("faultserver: Steps[%d] (%T): %w", i, st, err)
		}
	}
	return nil
}

func checkStep(st Step, p Protocol, conn bool) error {
	var both, onlyConn bool // where the step may stand; neither: request's script
	switch st := st.(type) {
	case Delay, Wait, BlackHole:
		both = true
	case Raw:
		both = true
	case Kill:
		both = true
		if err := st.How.possible(p); err != nil {
			return err
		}
	case endUnread:
		if err := st.how.possible(p); err != nil {
			return err
		}
	case KillAfterWritten:
		both = true
		if err := checkCut(st.Bytes, st.How); err != nil {
			return err
		}
	case KillAfterRead:
		both = true
		if err := checkCut(st.Bytes, st.How); err != nil {
			return err
		}
	case Handshake:
		onlyConn = true
		if !p.Encrypted() {
			return fmt.Errorf("a handshake needs TLS, the server speaks %v", p)
		}
	case Settings:
		both = true
		if !p.Multiplexed() {
			return fmt.Errorf("this needs HTTP/2, the server speaks %v", p)
		}
		if err := st.check(); err != nil {
			return err
		}
	case Reset, GoAway:
		if !p.Multiplexed() {
			return fmt.Errorf("this needs HTTP/2, the server speaks %v", p)
		}
	case Interim:
		if st.Status < 100 || st.Status > 199 || st.Status == 101 {
			return fmt.Errorf("status %d is no interim status; use 100 or 102 to 199", st.Status)
		}
	case Header, HalfHeader, Body, Echo, Trickle, Trailer, Flush, ReadBody, Hang, Handle, malformed:
	case nil:
		return fmt.Errorf("the step is nil")
	default:
		return fmt.Errorf("%T is no step; use it by value", st)
	}
	switch {
	case conn && !both && !onlyConn:
		return fmt.Errorf("the step belongs into a request's script")
	case !conn && onlyConn:
		return fmt.Errorf("the step belongs into a connection's script")
	}
	return nil
}

func checkCut(n int64, how How) error {
	if n < 1 {
		return fmt.Errorf("bytes are %d, the least is 1", n)
	}
	return how.raw()
}

// TLSAlert returns a record with a fatal alert in plain text, as a server sends
// it before the handshake is over: 40 is handshake_failure, 42 bad_certificate,
// 80 internal_error (RFC 8446, section 6). Send it with Raw from a connection's
// script.
func TLSAlert(description byte) []byte { return []byte{21, 3, 3, 0, 2, 2, description} }
