package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/net/http2"

	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// connecting are the faults of a connection before its first request.
func connecting() []fault {
	const group = "Connecting"
	refuse := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	all := []fault{
		{group: group, name: "the address refuses", weight: 3, dial: func(context.Context, time.Duration) error { return refuse }},
		{group: group, name: "the name does not resolve", weight: 1, dial: func(context.Context, time.Duration) error {
			return &net.DNSError{Err: "no such host", Name: "gone.test", IsNotFound: true}
		}},
		{group: group, name: "the dial times out", weight: 1, dial: func(ctx context.Context, unit time.Duration) error {
			if err := sleep(ctx, 5*unit); err != nil {
				return err
			}
			return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}},
		{group: group, name: "a TLS alert (handshake_failure)", on: onTLS, weight: 1, conn: func(*reply) fs.Script {
			return fs.Do(fs.Raw{Data: fs.TLSAlert(40), Wire: true}, fs.Kill{How: fs.FIN})
		}},
		{group: group, name: "the server's handshake is cut", on: onTLS, weight: 1, conn: func(*reply) fs.Script {
			return fs.Do(fs.KillAfterWritten{Bytes: 100, How: fs.FIN})
		}},
		{group: group, name: "no answer to the handshake", on: onTLS, weight: 1, conn: func(*reply) fs.Script {
			return fs.Do(fs.BlackHole{})
		}},
	}
	for _, e := range endings[:2] {
		all = append(all,
			fault{group: group, name: "accepted, then " + e.name, racy: true, weight: 2, conn: func(*reply) fs.Script {
				return fs.Do(fs.Kill{How: e.how})
			}},
			fault{group: group, name: "accepted, then " + e.name + " within the first bytes", weight: 1, conn: func(r *reply) fs.Script {
				bytes := int64(1)
				if r.proto == fs.H2C {
					bytes = 100 // within the first request: before it comes what every connection begins with
				}
				return fs.Do(fs.KillAfterRead{Bytes: bytes, How: e.how})
			}})
	}
	return all
}

// parkedOnes are what happens to a connection while it idles.
func parkedOnes() []fault {
	const group = "A parked connection"
	var all []fault
	for _, e := range endings {
		all = append(all,
			fault{group: group, name: e.name + ", noticed before the request", on: hows(e.how), weight: 6, parked: func(s *fs.Server) { s.KillIdle(e.how) }},
			fault{group: group, name: e.name + ", as the request arrives", on: hows(e.how), weight: 6, parked: func(s *fs.Server) { s.RaceIdle(e.how) }})
	}
	return append(all,
		fault{group: group, name: "bytes that are no frame", on: onHTTP2, weight: 2, parked: func(s *fs.Server) {
			s.WriteIdle([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmugg"))
		}},
		fault{group: group, name: "graceful GOAWAY", on: onHTTP2, weight: 3, parked: func(s *fs.Server) { s.GoAway(http2.ErrCodeNo) }},
		fault{group: group, name: deaf, weight: 1, parked: func(s *fs.Server) { s.BlackHole() }},
		fault{group: unasked, name: "a response that nobody asked for", on: onHTTP1, weight: 3, parked: func(s *fs.Server) {
			s.WriteIdle([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmugg"))
		}},
		fault{group: unasked, name: "408 and FIN, as servers say that they close", on: onHTTP1, weight: 3, parked: func(s *fs.Server) {
			s.WriteIdle([]byte("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
			s.KillIdle(fs.FIN)
		}},
	)
}

// endsOfConnections are the ends of connections from a request's arrival on.
func endsOfConnections() []fault {
	const group = "The connection ends"
	var all []fault
	for _, e := range endings {
		all = append(all,
			fault{group: group, name: e.name + ", header read, body not", on: hows(e.how), weight: 3, request: func(*reply) fs.Script {
				return fs.KillUnread(e.how)
			}},
			fault{group: group, name: e.name + ", request read", on: hows(e.how), weight: 4, request: func(*reply) fs.Script {
				return fs.KillAfterReading(e.how)
			}},
			fault{group: group, name: e.name + " in the header", on: hows(e.how), weight: 2, request: func(r *reply) fs.Script {
				return fs.Do(fs.ReadBody{}, fs.HalfHeader{Header: fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)))}}, fs.Kill{How: e.how})
			}},
			fault{group: group, name: e.name + " in the body (Content-Length)", on: hows(e.how), weight: 2, request: func(r *reply) fs.Script {
				return fs.Do(fs.ReadBody{}, fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)))}, fs.Body{Data: r.half()}, fs.Kill{How: e.how})
			}},
			fault{group: group, name: e.name + " in the body (chunks; HTTP/2: no length)", on: hows(e.how), weight: 1, request: func(r *reply) fs.Script {
				return fs.Do(fs.ReadBody{}, fs.Header{Header: r.header, Framing: fs.Chunked}, fs.Body{Data: r.half()}, fs.Kill{How: e.how})
			}})
		for _, p := range onHTTP1 {
			// The end of a TCP connection, or of TLS in order, is all that such a
			// body has for an end: no client can notice that it is cut.
			unnoticed := p == fs.H1 && e.how != fs.RST || e.how == fs.CloseNotify
			f := fault{group: group, name: e.name + " in a body until close", on: []fs.Protocol{p}, weight: 1, request: func(r *reply) fs.Script {
				return fs.Do(fs.ReadBody{}, r.untilClose(), fs.Body{Data: r.half()}, fs.Kill{How: e.how})
			}}
			if unnoticed {
				f.weight = 0
			}
			if p.Encrypted() || hows(e.how) == nil {
				all = append(all, f)
			}
		}
	}
	return append(all,
		fault{group: group, name: "413 before the body is read, then FIN and reset", weight: 2, request: func(r *reply) fs.Script {
			return early(r, fs.Shut)
		}})
}

// early answers before the body is read and leaves it unread.
func early(r *reply, how fs.How) fs.Script {
	s := fs.Early(http.StatusRequestEntityTooLarge, how)
	h := s.Steps[0].(fs.Header)
	h.Header = r.with("Connection", "close", "Content-Length", "5", "X-Body", "none")
	if r.proto.Multiplexed() {
		h.Header.Del("Connection")
	}
	s.Steps[0] = h
	return s
}

// malformedOnes are answers that are not HTTP.
func malformedOnes() []fault {
	const group = "A malformed answer"
	raw := func(text string) func(*reply) fs.Script {
		return func(*reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Raw{Data: []byte(text)}, fs.Kill{How: fs.FIN})
		}
	}
	return []fault{
		{group: group, name: "no status line (HTTP/2: no :status)", weight: 2, request: func(*reply) fs.Script { return fs.BadStatusLine(fs.FIN) }},
		{group: group, name: "a header of 128 KiB, MaxResponseHeaderBytes 64 KiB", weight: 2, request: func(*reply) fs.Script { return fs.HugeHeader(128 << 10) }},
		{group: group, name: "a header field without a name", on: onHTTP1, weight: 1, request: raw("HTTP/1.1 200 OK\r\n: nothing\r\nContent-Length: 0\r\n\r\n")},
		{group: group, name: "two Content-Lengths", on: onHTTP1, weight: 1, request: raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc")},
		{group: group, name: "a chunk whose length is no number", on: onHTTP1, weight: 1, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Raw{Data: headerText(r.with("Transfer-Encoding", "chunked"), "zz\r\n")}, fs.Kill{How: fs.FIN})
		}},
		{group: group, name: "fewer bytes than Content-Length says", weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)+10))}, fs.Body{Data: r.data})
		}},
		{group: group, name: "more bytes than Content-Length says", weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)))}, fs.Body{Data: r.data}, fs.Body{Size: 10})
		}},
		{group: group, name: "gzip that is none", weight: 1, request: func(r *reply) fs.Script {
			h := r.with("Content-Encoding", "gzip", "X-Body", "unknown")
			return fs.Do(fs.ReadBody{}, fs.Header{Header: h}, fs.Body{Data: []byte("this is not gzip")})
		}},
	}
}

func headerText(h http.Header, body string) []byte {
	text := "HTTP/1.1 200 OK\r\n"
	for k, vs := range h {
		for _, v := range vs {
			text += k + ": " + v + "\r\n"
		}
	}
	return []byte(text + "\r\n" + body)
}

// silences are servers that stop.
func silences() []fault {
	const group = "Silence"
	return []fault{
		{group: group, name: "no answer, the connection lives", weight: 2, request: func(*reply) fs.Script { return fs.Do(fs.ReadBody{}, fs.Hang{}) }},
		{group: group, name: deaf, weight: 1, request: func(*reply) fs.Script { return fs.Do(fs.BlackHole{}) }},
		{group: group, name: "half a header, then nothing", on: onHTTP1, weight: 1, request: halfHeader},
		{group: group, name: "half a HEADERS frame, then nothing", on: onHTTP2, racy: true, weight: 1, request: halfHeader},
		{group: group, name: "half a body, then nothing", weight: 1, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)))}, fs.Body{Data: r.half()}, fs.Hang{})
		}},
	}
}

func halfHeader(r *reply) fs.Script {
	return fs.Do(fs.ReadBody{}, fs.HalfHeader{Header: fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(r.data)))}}, fs.Hang{})
}

// statuses are failures that the server reports itself.
func statuses() []fault {
	const group = "A status"
	status := func(code int, fields ...string) func(*reply) fs.Script {
		return func(r *reply) fs.Script {
			return fs.RespondWith(code, r.with(append(fields, "X-Body", "none")...), fmt.Sprint("status ", code))
		}
	}
	return []fault{
		{group: group, name: "500", weight: 8, request: status(500)},
		{group: group, name: "503", weight: 8, request: status(503)},
		{group: group, name: "503, Retry-After: 1", weight: 1, request: status(503, "Retry-After", "1")},
		{group: group, name: "429, Retry-After: 0", weight: 2, request: status(429, "Retry-After", "0")},
		{group: group, name: "429, Retry-After: 3600", weight: 1, request: status(429, "Retry-After", "3600")},
		{group: group, name: "503, a body of 128 KiB", weight: 1, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Status: 503, Header: r.with("X-Body", "none")}, fs.Body{Size: 128 << 10})
		}},
		{group: group, name: "404", weight: 3, request: status(404)},
	}
}

// http2Ones are what HTTP/2 alone can say.
func http2Ones() []fault {
	const group = "HTTP/2"
	reset := func(code http2.ErrCode) func(*reply) fs.Script {
		return func(*reply) fs.Script { return fs.Do(fs.ReadBody{}, fs.Reset{Code: code}) }
	}
	return []fault{
		{group: group, name: "REFUSED_STREAM", on: onHTTP2, refused: true, weight: 6, request: func(*reply) fs.Script { return fs.RefuseStream() }},
		{group: group, name: refusedByGoAway, on: onHTTP2, refused: true, weight: 4, request: func(*reply) fs.Script { return fs.RefuseByGoAway() }},
		{group: group, name: "graceful GOAWAY, and an answer", on: onHTTP2, weight: 3, request: func(r *reply) fs.Script {
			return fs.Do(fs.GoAway{Code: http2.ErrCodeNo}, fs.Handle{Handler: r.handler})
		}},
		{group: group, name: "GOAWAY(INTERNAL_ERROR), then FIN", on: onHTTP2, weight: 2, request: func(*reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.GoAway{Code: http2.ErrCodeInternal}, fs.Kill{How: fs.FIN})
		}},
		{group: group, name: "RST_STREAM(INTERNAL_ERROR)", on: onHTTP2, weight: 3, request: reset(http2.ErrCodeInternal)},
		{group: group, name: "RST_STREAM(CANCEL)", on: onHTTP2, weight: 2, request: reset(http2.ErrCodeCancel)},
		{group: group, name: "RST_STREAM(INTERNAL_ERROR) in the body", on: onHTTP2, weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Header: r.header}, fs.Body{Data: r.half()}, fs.Reset{Code: http2.ErrCodeInternal})
		}},
	}
}

// harmless are answers that are slow or odd, and in order.
func harmless() []fault {
	const group = "Odd, and in order"
	return []fault{
		{group: group, name: "a late answer", weight: 4, request: func(r *reply) fs.Script {
			return fs.Do(fs.Delay{For: r.unit}, fs.Handle{Handler: r.handler})
		}},
		{group: group, name: "byte by byte", weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, fs.Header{Header: r.header}, fs.Trickle{Data: r.data, Piece: max(1, len(r.data)/20), Every: r.unit / 20})
		}},
		{group: group, name: "three 1xx before the answer", weight: 3, request: func(r *reply) fs.Script {
			return fs.Do(fs.Interim{Status: 103}, fs.Interim{Status: 102}, fs.Interim{Status: 103}, fs.Handle{Handler: r.handler})
		}},
		{group: group, name: "100 Continue withheld", weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{Withhold: true}, fs.Header{Header: r.header}, fs.Body{Data: r.data})
		}},
		{group: group, name: "the whole body until close", on: onHTTP1, weight: 2, request: func(r *reply) fs.Script {
			return fs.Do(fs.ReadBody{}, r.untilClose(), fs.Body{Data: r.data})
		}},
	}
}
