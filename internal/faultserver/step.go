package faultserver

import (
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// Step is one act of a [Script]. The steps are the types of this file; each
// comment says where the step may stand: in a request's script, in a
// connection's script, or both.
type Step interface{ step() }

// Framing is how the end of a response body is told on HTTP/1.1. HTTP/2 tells
// it by END_STREAM whatever the framing.
type Framing int

const (
	// Auto sends a Content-Length if the whole body is known when the header
	// has to leave, else chunks (until close to an HTTP/1.0 client). A
	// Content-Length or Transfer-Encoding in Header.Header is sent as it is,
	// true or not.
	Auto Framing = iota
	// Chunked sends chunks, one for each Body or Trickle piece.
	Chunked
	// UntilClose sends neither length nor chunks; the end of the connection is
	// the end of the body. The script's end closes the connection, over TLS
	// with close_notify; a Kill step closes it otherwise.
	UntilClose
)

type (
	// Delay waits For. It ends early, and the script with it, when the client
	// goes away or the server closes. Both scripts.
	Delay struct{ For time.Duration }

	// Wait waits until the channel is closed or gives a value, and ends early
	// as Delay does. Both scripts.
	Wait struct{ Until <-chan struct{} }

	// Hang never answers this request. Other streams of an HTTP/2 connection
	// go on. Request's script.
	Hang struct{}

	// BlackHole makes the connection deaf and mute while TCP stays up: from now
	// on nothing is read from the socket and nothing is written to it. Both
	// scripts.
	BlackHole struct{}

	// ReadBody reads the request's body, Bytes of it or, if 0, to its end,
	// trailers included. A client that expects 100-continue gets it first,
	// unless Withhold is set. Request's script.
	ReadBody struct {
		Bytes    int64
		Withhold bool
	}

	// Interim sends a 1xx response. Request's script.
	Interim struct {
		Status int
		Header http.Header
	}

	// Header sends the header of the final response. Request's script.
	Header struct {
		Status  int    // 0: 200
		Reason  string // "": the usual text; HTTP/1.1 only
		Header  http.Header
		Framing Framing
	}

	// HalfHeader sends the first Bytes bytes of what Header would send, or half
	// of them if 0: on HTTP/1.1 of the text, on HTTP/2 of the HEADERS frame with
	// its nine-byte frame header, after which nothing is written on the
	// connection any more. Only Kill, Delay, Wait, Hang and BlackHole may
	// follow. Request's script.
	HalfHeader struct {
		Header
		Bytes int
	}

	// Body sends Data, then Size bytes of [Pattern]. Without a Header before,
	// the header is Header{}. Request's script.
	Body struct {
		Data []byte
		Size int
	}

	// Echo sends the request's body as the response's, reading it as ReadBody
	// does; if the request has none, "ok". Request's script.
	Echo struct{}

	// Trickle sends Data and Size bytes of [Pattern] in pieces of Piece bytes
	// (0: 1), waiting Every after each but the last. Request's script.
	Trickle struct {
		Data  []byte
		Size  int
		Piece int
		Every time.Duration
	}

	// Trailer sends trailers and ends the body. HTTP/1.1 needs chunks: with
	// Auto framing the response gets them. Request's script.
	Trailer struct{ Header http.Header }

	// Flush puts what the steps before have sent on the wire. Steps that wait,
	// read or kill do it by themselves. Request's script.
	Flush struct{}

	// Raw writes bytes as they are: above TLS (so that they are encrypted), or
	// with Wire below it. On HTTP/2 above TLS they must be whole frames if the
	// connection shall live. In a request's script on HTTP/1.1 they stand for
	// the response, which is then over. Both scripts; in a connection's script
	// before Handshake only with Wire.
	Raw struct {
		Data []byte
		Wire bool
	}

	// Kill ends the connection. Both scripts.
	Kill struct{ How How }

	// KillAfterWritten ends the connection when exactly Bytes more bytes (at
	// least 1) have been written to the socket, TLS's own included. The bytes
	// of the write that crosses the mark are sent up to the mark. FIN, RST and
	// Shut. Both scripts.
	KillAfterWritten struct {
		Bytes int64
		How   How
	}

	// KillAfterRead ends the connection when exactly Bytes more bytes (at least
	// 1) have been read from the socket, TLS's own included. The last of them
	// are not processed. FIN, RST and Shut. Both scripts, but the server reads
	// ahead: to cut at an exact byte use a connection's script, or ReadBody
	// and Kill.
	KillAfterRead struct {
		Bytes int64
		How   How
	}

	// Reset ends the stream with RST_STREAM. Code http2.ErrCodeRefusedStream
	// says that the request was not processed, and the record says so too.
	// HTTP/2, request's script.
	Reset struct{ Code http2.ErrCode }

	// GoAway sends GOAWAY; the stream goes on. HTTP/2, request's script.
	GoAway struct {
		Code http2.ErrCode
		// Last is the last stream id that counts as processed; 0: the highest
		// that has arrived.
		Last uint32
		// Refuse makes Last the id before this request's, which says that this
		// request was not processed. The script ends there.
		Refuse bool
		Debug  string
	}

	// Settings sends a SETTINGS frame: in a connection's script it replaces
	// Config.Settings for the first one, in a request's script it is sent at
	// once. HTTP/2.
	Settings struct {
		MaxConcurrentStreams uint32 // 0: 250
		InitialWindowSize    uint32 // bytes; 0: 65,535
		MaxFrameSize         uint32 // bytes, 16,384 to 16,777,215; 0: 16,384
		Withhold             bool   // send no SETTINGS at all; connection's script and Config
		IgnorePings          bool   // leave PINGs unanswered; connection's script and Config
	}

	// Handle lets an http.Handler answer; nil: Config.Handler. Hijack works on
	// HTTP/1.1. Request's script.
	Handle struct{ Handler http.Handler }

	// Handshake does the TLS handshake at this place of a connection's script;
	// without it the handshake follows the script.
	Handshake struct{}
)

func (Delay) step()            {}
func (Wait) step()             {}
func (Hang) step()             {}
func (BlackHole) step()        {}
func (ReadBody) step()         {}
func (Interim) step()          {}
func (Header) step()           {}
func (HalfHeader) step()       {}
func (Body) step()             {}
func (Echo) step()             {}
func (Trickle) step()          {}
func (Trailer) step()          {}
func (Flush) step()            {}
func (Raw) step()              {}
func (Kill) step()             {}
func (KillAfterWritten) step() {}
func (KillAfterRead) step()    {}
func (Reset) step()            {}
func (GoAway) step()           {}
func (Settings) step()         {}
func (Handle) step()           {}
func (Handshake) step()        {}

// Pattern returns n bytes whose values repeat every 251 bytes, so that a
// missing or doubled piece of a usual size shows.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range min(n, 251) {
		b[i] = byte(i)
	}
	for done := 251; done < n; done *= 2 {
		copy(b[done:], b[:done])
	}
	return b
}
