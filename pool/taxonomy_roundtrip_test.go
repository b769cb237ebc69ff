package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

func noRecovery(_ *http.Transport, c *pool.Config) { c.Recoveries = -1 }

// Faults between the request and the response's header.
func TestErrorsOfARoundTrip(t *testing.T) {
	eof := verdict{class: events.ClassEOF, recoverable: true}
	truncated := verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpRoundTrip, truncated: true}
	malformed := verdict{class: events.ClassProtocol, recoverable: true}
	inTaxonomy(t, []taxon{
		{
			name: "FIN", provoke: answering(faultserver.KillAfterReading(faultserver.FIN)),
			want: byTLS(eof, truncated),
		},
		{
			name: "FIN where truncation is allowed", on: tlsOnes,
			tune:    func(_ *http.Transport, c *pool.Config) { c.AllowTruncated = true },
			provoke: answering(faultserver.KillAfterReading(faultserver.FIN)),
			want:    always(eof),
		},
		{
			name: "close_notify", on: tlsOnes, provoke: answering(faultserver.KillAfterReading(faultserver.CloseNotify)),
			want: always(eof),
		},
		{
			name: "truncated record", on: tlsOnes, provoke: answering(faultserver.KillAfterReading(faultserver.TruncatedRecord)),
			want: always(truncated),
		},
		{
			name: "RST", provoke: answering(faultserver.KillAfterReading(faultserver.RST)),
			want: byTLS(
				verdict{class: events.ClassReset, recoverable: true, is: []error{syscall.ECONNRESET}},
				verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpRoundTrip, is: []error{syscall.ECONNRESET}}),
		},
		{
			name: "FIN in the header", provoke: answering(faultserver.KillInHeader(faultserver.FIN)),
			want: func(p faultserver.Protocol) verdict {
				switch {
				case p.Encrypted():
					return truncated
				case p.Multiplexed():
					return eof
				}
				return malformed // net/http takes the half line for a whole one
			},
		},
		{
			name: "close_notify in the header", on: tlsOnes, provoke: answering(faultserver.KillInHeader(faultserver.CloseNotify)),
			want: func(p faultserver.Protocol) verdict {
				if p.Multiplexed() {
					return eof
				}
				return malformed
			},
		},
		{
			name: "malformed status", provoke: answering(faultserver.BadStatusLine(faultserver.FIN)),
			want: always(malformed),
		},
		{
			name: "damaged TLS record", on: tlsOnes,
			provoke: answering(faultserver.Do(faultserver.ReadBody{}, faultserver.Raw{Data: []byte("\x17\x03\x03\x00\x20abcdefghijklmnopqrstuvwxyz012345"), Wire: true})),
			want:    always(verdict{class: events.ClassTLSTransport, op: pool.OpRoundTrip}),
		},
		{
			name: "header too large", on: http1s,
			tune:    func(b *http.Transport, _ *pool.Config) { b.MaxResponseHeaderBytes = 1000 },
			provoke: answering(faultserver.HugeHeader(20_000)),
			want:    always(verdict{class: events.ClassOther}),
		},
		{
			name: "header far too large", on: http2s,
			tune:    func(b *http.Transport, _ *pool.Config) { b.MaxResponseHeaderBytes = 1000 },
			provoke: answering(faultserver.HugeHeader(20_000)),
			want:    always(malformed), // a connection error of HTTP/2
		},
		{
			name: "too many header fields", on: http2s,
			tune:    func(b *http.Transport, _ *pool.Config) { b.MaxResponseHeaderBytes = 5000 },
			provoke: answering(faultserver.Do(faultserver.ReadBody{}, faultserver.Header{Header: manyFields(100)})),
			want:    always(malformed),
		},
		{
			name:    "no header in time",
			tune:    func(b *http.Transport, _ *pool.Config) { b.ResponseHeaderTimeout = time.Second },
			provoke: answering(faultserver.Do(faultserver.Hang{})),
			want:    always(verdict{class: events.ClassTimeout, timeout: true}),
		},
		{
			name: "deadline", provoke: func(r *rig) error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				r.srv.Next(faultserver.Do(faultserver.Hang{}))
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassTimeout, timeout: true, is: []error{context.DeadlineExceeded}}),
		},
		{
			name: "canceled", provoke: func(r *rig) error {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Second, cancel)
				r.srv.Next(faultserver.Do(faultserver.Hang{}))
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassCanceled, is: []error{context.Canceled}}),
		},
		{
			name: "canceled before it began", provoke: func(r *rig) error {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassCanceled, is: []error{context.Canceled}}),
		},
		{
			name: "canceled for a cause", provoke: func(r *rig) error {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Second, func() { cancel(errOwn) })
				r.srv.Next(faultserver.Do(faultserver.Hang{}))
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassOther, is: []error{errOwn}}),
		},
		{
			name: "canceled by Request.Cancel", provoke: func(r *rig) error {
				r.srv.Next(faultserver.Do(faultserver.Hang{}))
				req := r.secret(context.Background(), "GET", nil)
				end := make(chan struct{})
				req.Cancel = end //nolint:staticcheck // http.Client.Timeout uses it
				time.AfterFunc(time.Second, func() { close(end) })
				_, _, err := exchange(r.pool, req)
				return err
			},
			want: always(verdict{class: events.ClassCanceled}),
		},
		{
			name: "reused and dead", tune: noRecovery, provoke: func(r *rig) error {
				r.park(1)
				r.srv.RaceIdle(faultserver.RST)
				_, _, err := exchange(r.pool, r.secret(context.Background(), "GET", nil))
				return err
			},
			want: byTLS(
				verdict{class: events.ClassStale, recoverable: true, stale: true, is: []error{syscall.ECONNRESET}},
				verdict{class: events.ClassStale, recoverable: true, stale: true, op: pool.OpRoundTrip, is: []error{syscall.ECONNRESET}}),
		},
		{
			name: "queued for too long",
			tune: func(b *http.Transport, c *pool.Config) { b.MaxConnsPerHost, c.MaxConnWait = 1, time.Second },
			on:   http1s,
			provoke: func(r *rig) error {
				r.srv.Next(faultserver.Do(faultserver.Header{}, faultserver.Flush{}, faultserver.Hang{}))
				resp, err := r.pool.RoundTrip(r.request("GET", "/", nil))
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, _, err = exchange(r.pool, r.secret(context.Background(), "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassTimeout, timeout: true, unprocessed: true, wait: true}),
		},
		{
			name: "closed pool", provoke: func(r *rig) error {
				r.pool.Close()
				_, _, err := exchange(r.pool, r.secret(context.Background(), "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassOther, unprocessed: true, is: []error{pool.ErrClosed}}),
		},
	})
}

// Faults of the request's body, whether the socket or its reader fails.
func TestErrorsOfWritingARequestBody(t *testing.T) {
	errOwn := errors.New("the body's own error")
	upload := func(script faultserver.Script) func(*rig) error {
		return func(r *rig) error {
			r.srv.Next(script)
			_, _, err := exchange(r.pool, r.secret(context.Background(), "PUT", newOneShot(secretBody+string(faultserver.Pattern(4<<20)))))
			return err
		}
	}
	some := faultserver.ReadBody{Bytes: 100}
	inTaxonomy(t, []taxon{
		{
			name: "RST", provoke: upload(faultserver.Do(some, faultserver.Kill{How: faultserver.RST})),
			want: byTLS(verdict{class: events.ClassReset, recoverable: true, as: isReset},
				verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpRoundTrip, as: isReset}),
		},
		{
			name: "FIN", provoke: upload(faultserver.Do(some, faultserver.Kill{How: faultserver.FIN})),
			want: byTLS(verdict{class: events.ClassEOF, recoverable: true},
				verdict{class: events.ClassTLSTransport, recoverable: true, op: pool.OpRoundTrip, truncated: true}),
		},
		{
			name: "RST_STREAM", on: http2s, provoke: upload(faultserver.Do(some, faultserver.Reset{Code: http2.ErrCodeInternal})),
			want: always(verdict{class: events.ClassReset, recoverable: true}),
		},
		{
			name: "no window", on: http2s,
			config: func(c *faultserver.Config) { c.Settings.InitialWindowSize = 1000 },
			provoke: func(r *rig) error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				r.srv.Next(faultserver.Do(faultserver.Hang{}))
				_, _, err := exchange(r.pool, r.secret(ctx, "PUT", newOneShot(string(faultserver.Pattern(1<<20)))))
				return err
			},
			want: always(verdict{class: events.ClassTimeout, timeout: true, is: []error{context.DeadlineExceeded}}),
		},
		{
			name: "its reader", provoke: func(r *rig) error {
				body := io.MultiReader(newOneShot(string(faultserver.Pattern(100_000))), failing{errOwn})
				_, _, err := exchange(r.pool, r.secret(context.Background(), "PUT", body))
				return err
			},
			want: always(verdict{class: events.ClassOther, is: []error{errOwn}}),
		},
		{
			name: "its reader at once", provoke: func(r *rig) error {
				_, _, err := exchange(r.pool, r.secret(context.Background(), "PUT", failing{errOwn}))
				return err
			},
			want: always(verdict{class: events.ClassOther, is: []error{errOwn}}),
		},
	})
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// isReset reports whether a reset of the socket is in err: which of its two
// faces it shows depends on whether the client was reading or writing.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// manyFields is a header of n fields of 100 bytes.
func manyFields(n int) http.Header {
	h := http.Header{}
	for i := range n {
		h.Set(fmt.Sprint("X-", i), strings.Repeat("x", 100))
	}
	return h
}
