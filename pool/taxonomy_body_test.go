package pool_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// inBody provokes an error of a response body: script must send a header.
func inBody(script func(more <-chan struct{}) faultserver.Script) func(*rig) error {
	return func(r *rig) error {
		more := make(chan struct{})
		r.srv.Next(script(more))
		resp, err := r.pool.RoundTrip(r.secret(context.Background(), "GET", nil))
		if err != nil {
			r.Fatalf("the fault came too early: %v", err)
		}
		defer resp.Body.Close()
		synctest.Wait()
		close(more)
		synctest.Wait()
		_, err = io.Copy(io.Discard, resp.Body)
		if _, again := resp.Body.Read(make([]byte, 1)); again != err && !(err == nil && again == io.EOF) {
			r.Errorf("the second read says %v, the first said %v", again, err)
		}
		return err
	}
}

// dies is a body of which n bytes come before the connection ends.
func dies(h faultserver.Header, n int, how faultserver.How) func(*rig) error {
	return inBody(func(more <-chan struct{}) faultserver.Script {
		return faultserver.Do(faultserver.ReadBody{}, h, faultserver.Body{Size: n}, faultserver.Flush{},
			faultserver.Wait{Until: more}, faultserver.Kill{How: how})
	})
}

// rawEnd ends a connection with FIN after a chunked body of the given text.
func rawEnd(body string) func(*rig) error {
	return inBody(func(<-chan struct{}) faultserver.Script {
		return faultserver.Do(faultserver.ReadBody{},
			faultserver.Raw{Data: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)}, faultserver.Kill{How: faultserver.FIN})
	})
}

// Faults while the response's body is read.
func TestErrorsOfAResponseBody(t *testing.T) {
	declared := faultserver.Header{Header: http.Header{"Content-Length": {"1000"}}}
	chunked := faultserver.Header{Framing: faultserver.Chunked}
	untilClose := faultserver.Header{Framing: faultserver.UntilClose}
	eof := verdict{class: events.ClassEOF, recoverable: true, is: []error{io.ErrUnexpectedEOF}}
	reset := verdict{class: events.ClassReset, recoverable: true, is: []error{syscall.ECONNRESET}}
	broken := verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpResponseBody, is: []error{syscall.ECONNRESET}}
	truncated := verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpResponseBody, truncated: true}
	var rows []taxon
	for name, h := range map[string]faultserver.Header{"declared": declared, "chunked": chunked} {
		rows = append(rows,
			taxon{name: name + ", FIN", provoke: dies(h, 500, faultserver.FIN), want: byTLS(eof, truncated)},
			taxon{name: name + ", RST", provoke: dies(h, 500, faultserver.RST), want: byTLS(reset, broken)},
			taxon{name: name + ", close_notify", on: tlsOnes, provoke: dies(h, 500, faultserver.CloseNotify), want: always(eof)},
			taxon{name: name + ", truncated record", on: tlsOnes, provoke: dies(h, 500, faultserver.TruncatedRecord), want: always(truncated)},
			taxon{
				name: name + ", FIN where truncation is allowed", on: tlsOnes,
				tune:    func(_ *http.Transport, c *pool.Config) { c.AllowTruncated = true },
				provoke: dies(h, 500, faultserver.FIN), want: always(eof),
			})
	}
	rows = append(rows,
		taxon{name: "until close, RST", on: http1s, provoke: dies(untilClose, 500, faultserver.RST), want: byTLS(reset, broken)},
		// net/http takes that for the body's end (measured: no error at all).
		taxon{
			name: "until close, FIN without close_notify", on: []faultserver.Protocol{faultserver.TLS},
			provoke: dies(untilClose, 500, faultserver.FIN), want: always(truncated),
		},
		taxon{
			name: "until close, truncated record", on: []faultserver.Protocol{faultserver.TLS},
			provoke: dies(untilClose, 500, faultserver.TruncatedRecord), want: always(truncated),
		},
		taxon{
			name: "malformed chunk", on: http1s,
			provoke: inBody(func(<-chan struct{}) faultserver.Script {
				return faultserver.Do(faultserver.ReadBody{}, faultserver.Raw{Data: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdefgh\r\n")})
			}),
			want: always(verdict{class: events.ClassProtocol, recoverable: true}),
		},
		taxon{
			name: "malformed chunk length", on: http1s,
			provoke: inBody(func(<-chan struct{}) faultserver.Script {
				return faultserver.Do(faultserver.ReadBody{}, faultserver.Raw{Data: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")})
			}),
			want: always(verdict{class: events.ClassProtocol, recoverable: true}),
		},
		taxon{
			name: "end before the trailer", on: http1s, provoke: rawEnd("0\r\n"),
			want: byTLS(verdict{class: events.ClassEOF, recoverable: true}, truncated),
		},
		taxon{
			name: "end in the trailer", on: http1s, provoke: rawEnd("0\r\nX-Trailer: c"),
			want: byTLS(verdict{class: events.ClassProtocol, recoverable: true}, truncated),
		},
		taxon{
			name: "fewer bytes than declared", on: http2s,
			provoke: inBody(func(<-chan struct{}) faultserver.Script { return faultserver.WrongLength(10, 5) }),
			want:    always(eof),
		},
		taxon{
			name: "RST_STREAM", on: http2s,
			provoke: inBody(func(more <-chan struct{}) faultserver.Script {
				return faultserver.Do(declared, faultserver.Body{Size: 500}, faultserver.Flush{}, faultserver.Wait{Until: more}, faultserver.Reset{Code: http2.ErrCodeInternal})
			}),
			want: always(verdict{class: events.ClassReset, recoverable: true}),
		},
		taxon{
			name: "deadline",
			provoke: func(r *rig) error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				return r.stuckBody(ctx)
			},
			want: always(verdict{class: events.ClassTimeout, timeout: true, is: []error{context.DeadlineExceeded}}),
		},
		taxon{
			name: "canceled",
			provoke: func(r *rig) error {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Second, cancel)
				return r.stuckBody(ctx)
			},
			want: always(verdict{class: events.ClassCanceled, is: []error{context.Canceled}}),
		},
		taxon{
			name: "canceled for a cause",
			provoke: func(r *rig) error {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Second, func() { cancel(errOwn) })
				return r.stuckBody(ctx)
			},
			want: always(verdict{class: events.ClassOther, is: []error{errOwn}}),
		},
		taxon{
			name: "read after Close",
			provoke: func(r *rig) error {
				resp, err := r.pool.RoundTrip(r.secret(context.Background(), "GET", nil))
				if err != nil {
					return err
				}
				resp.Body.Close()
				_, err = resp.Body.Read(make([]byte, 1))
				return err
			},
			want: always(verdict{class: events.ClassOther}),
		},
	)
	inTaxonomy(t, rows)
}

var errOwn = errors.New("the caller's own cause")

// stuckBody reads a body of which the second half never comes.
func (r *rig) stuckBody(ctx context.Context) error {
	r.srv.Next(faultserver.Do(faultserver.Header{Framing: faultserver.Chunked}, faultserver.Body{Size: 500}, faultserver.Flush{}, faultserver.Hang{}))
	resp, err := r.pool.RoundTrip(r.secret(ctx, "GET", nil))
	if err != nil {
		return err
	}
	return drain(resp)
}

// A body that only the end of the connection ends is whole after close_notify,
// and after a bare FIN where truncation is allowed or there is no TLS.
func TestABodyThatEndsWithItsConnection(t *testing.T) {
	for _, row := range []struct {
		p     faultserver.Protocol
		how   faultserver.How
		allow bool
	}{{faultserver.H1, faultserver.FIN, false}, {faultserver.TLS, faultserver.CloseNotify, false}, {faultserver.TLS, faultserver.FIN, true}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: row.p, Memory: true}, func(_ *http.Transport, c *pool.Config) { c.AllowTruncated = row.allow })
			if err := dies(faultserver.Header{Framing: faultserver.UntilClose}, 500, row.how)(r); err != nil {
				t.Errorf("%v, %v: %v", row.p, row.how, err)
			}
			r.wantNothingHeld()
		})
	}
}

// The read loop of an HTTP/2 connection serves all its streams: each gets the
// error, with the boundary it is at.
func TestErrorsOfAnHTTP2ReadLoop(t *testing.T) {
	for _, p := range http2s {
		for _, how := range faultserver.Hows(p) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, nil)
				r.srv.Next(faultserver.Do(faultserver.Header{}, faultserver.Body{Size: 500}, faultserver.Flush{}, faultserver.Hang{}),
					faultserver.Do(faultserver.Hang{}), faultserver.Do(faultserver.Hang{}))
				resp, err := r.pool.RoundTrip(r.secret(t.Context(), "GET", nil))
				if err != nil {
					t.Fatal(err)
				}
				waiting := make(chan error, 2)
				for range 2 {
					req := r.secret(t.Context(), "POST", newOneShot("x"))
					go func() { _, _, err := exchange(r.pool, req); waiting <- err }()
				}
				synctest.Wait()
				if n := r.srv.KillAll(how); n != 1 {
					t.Fatalf("%d connections", n)
				}
				v := verdict{class: events.ClassEOF, recoverable: true}
				switch {
				case p.Encrypted() && how != faultserver.CloseNotify:
					v.class, v.op, v.truncated = events.ClassTLSTransport, pool.OpResponseBody, how != faultserver.RST
				case how == faultserver.RST:
					v.class = events.ClassReset
				}
				v.check(t, drain(resp))
				if v.op != "" {
					v.op = pool.OpRoundTrip
				}
				// They were sent on a connection that had served before.
				v.class, v.stale = events.ClassStale, true
				for range 2 {
					v.check(t, <-waiting)
				}
				r.pool.Close()
				synctest.Wait()
				r.wantNothingHeld()
			})
		}
	}
}

// A response is read while nobody at the server reads the WINDOW_UPDATE frames
// that it costs; then the connection is reset, and the write fails.
func TestErrorsOfAnHTTP2WindowUpdate(t *testing.T) {
	inTaxonomy(t, []taxon{{
		name: "RST", on: http2s,
		provoke: inBody(func(more <-chan struct{}) faultserver.Script {
			return faultserver.Do(faultserver.Header{Framing: faultserver.Chunked}, faultserver.Body{Size: 60_000}, faultserver.Flush{},
				faultserver.Wait{Until: more}, faultserver.Kill{How: faultserver.RST})
		}),
		want: byTLS(verdict{class: events.ClassReset, recoverable: true, as: isReset},
			verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpResponseBody, as: isReset}),
	}})
}

// Faults of the raw stream after 101, which is the caller's to read and write.
func TestErrorsOfAStream(t *testing.T) {
	reading := func(how faultserver.How) func(*rig) error {
		return func(r *rig) error {
			rwc := r.upgrade()
			defer rwc.Close()
			if n := r.srv.KillAll(how); n != 1 {
				r.Fatalf("%d connections", n)
			}
			_, err := rwc.Read(make([]byte, 1))
			return err
		}
	}
	writing := func(r *rig) error {
		rwc := r.upgrade()
		defer rwc.Close()
		r.srv.KillAll(faultserver.RST)
		synctest.Wait()
		var err error
		for range 10 {
			if _, err = rwc.Write([]byte(secretBody)); err != nil {
				break
			}
		}
		return err
	}
	inTaxonomy(t, []taxon{
		{
			name: "FIN while reading", on: []faultserver.Protocol{faultserver.TLS}, provoke: reading(faultserver.FIN),
			want: always(verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpStream, truncated: true}),
		},
		{
			name: "truncated record while reading", on: []faultserver.Protocol{faultserver.TLS}, provoke: reading(faultserver.TruncatedRecord),
			want: always(verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpStream, truncated: true}),
		},
		{
			name: "RST while reading", on: http1s, provoke: reading(faultserver.RST),
			want: byTLS(verdict{class: events.ClassReset, recoverable: true, is: []error{syscall.ECONNRESET}},
				verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpStream, is: []error{syscall.ECONNRESET}}),
		},
		{
			name: "RST while writing", on: http1s, provoke: writing,
			want: byTLS(verdict{class: events.ClassReset, recoverable: true, as: isReset},
				verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpStream, as: isReset}),
		},
	})
}

func TestAStreamThatEndsInOrderIsNoError(t *testing.T) {
	for p, how := range map[faultserver.Protocol]faultserver.How{faultserver.H1: faultserver.FIN, faultserver.TLS: faultserver.CloseNotify} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, nil)
			rwc := r.upgrade()
			r.srv.KillAll(how)
			if _, err := rwc.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%v: got %v, want io.EOF", p, err)
			}
			rwc.Close()
			synctest.Wait()
			r.wantNothingHeld()
		})
	}
}

// upgrade switches a connection to an echo.
func (r *rig) upgrade() io.ReadWriteCloser {
	r.Helper()
	r.srv.Next(faultserver.Do(faultserver.Handle{Handler: http.HandlerFunc(switchToEcho)}))
	req := r.secret(context.Background(), "GET", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := r.pool.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		r.Fatalf("upgrade: %v, %v", resp, err)
	}
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		r.Fatalf("the body after 101 is a %T, want an io.ReadWriteCloser", resp.Body)
	}
	return rwc
}

// switchToEcho answers 101 and sends back what comes.
func switchToEcho(w http.ResponseWriter, _ *http.Request) {
	c, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	io.Copy(c, bufio.NewReader(buf))
}
