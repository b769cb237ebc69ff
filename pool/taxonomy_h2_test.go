package pool_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// What an HTTP/2 server says about a stream or a connection.
func TestErrorsOfHTTP2(t *testing.T) {
	goAway := verdict{class: events.ClassGoAway, recoverable: true}
	unseen := goAway
	unseen.unprocessed = true
	reset := verdict{class: events.ClassReset, recoverable: true}
	protocol := verdict{class: events.ClassProtocol, recoverable: true}
	rows := []taxon{
		{
			name: "graceful GOAWAY before the request", tune: noRecovery,
			provoke: answering(faultserver.RefuseByGoAway()), want: always(unseen),
		},
		{
			name: "graceful GOAWAY before a one-shot body",
			provoke: func(r *rig) error {
				r.srv.Next(faultserver.RefuseByGoAway())
				_, _, err := exchange(r.pool, r.secret(context.Background(), "PUT", newOneShot(secretBody)))
				return err
			},
			want: always(unseen),
		},
		{
			name: "GOAWAY with an error", provoke: answering(faultserver.Do(faultserver.GoAway{Code: http2.ErrCodeEnhanceYourCalm, Refuse: true})),
			want: always(goAway),
		},
		{
			name: "GOAWAY and the end", want: always(goAway),
			provoke: answering(faultserver.Do(faultserver.ReadBody{}, faultserver.GoAway{Debug: "shutting down"}, faultserver.Kill{How: faultserver.FIN})),
		},
		{
			name: "REFUSED_STREAM", tune: noRecovery, provoke: answering(faultserver.RefuseStream()),
			want: always(verdict{class: events.ClassRefusedStream, recoverable: true, unprocessed: true}),
		},
		{
			name: "REFUSED_STREAM of a one-shot body",
			provoke: func(r *rig) error {
				r.srv.Next(faultserver.RefuseStream())
				_, _, err := exchange(r.pool, r.secret(context.Background(), "POST", newOneShot(secretBody)))
				return err
			},
			want: always(verdict{class: events.ClassRefusedStream, recoverable: true, unprocessed: true}),
		},
		{name: "INTERNAL_ERROR", provoke: answering(faultserver.Do(faultserver.Reset{Code: http2.ErrCodeInternal})), want: always(reset)},
		{name: "CANCEL", provoke: answering(faultserver.Do(faultserver.Reset{Code: http2.ErrCodeCancel})), want: always(reset)},
		{name: "NO_ERROR without a response", provoke: answering(faultserver.Do(faultserver.Reset{Code: http2.ErrCodeNo})), want: always(reset)},
		{name: "PROTOCOL_ERROR from the server", provoke: answering(faultserver.Do(faultserver.Reset{Code: http2.ErrCodeProtocol})), want: always(reset)},
		{
			name: "invalid field", want: always(protocol),
			provoke: answering(faultserver.Do(faultserver.Header{Header: http.Header{"X-Bad": {"a\x00b"}}})),
		},
		{
			name: "DATA on stream 0", want: always(protocol),
			provoke: answering(faultserver.Do(faultserver.Raw{Data: []byte{0, 0, 1, 0, 0, 0, 0, 0, 0, 'x'}}, faultserver.Hang{})),
		},
		{
			name: "window update past the limit", want: always(protocol),
			provoke: answering(faultserver.Do(faultserver.Raw{Data: windowUpdate(1<<31 - 1)}, faultserver.Hang{})),
		},
		{
			name: "garbage", want: always(protocol),
			provoke: answering(faultserver.Do(faultserver.Raw{Data: []byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, faultserver.Hang{})),
		},
		{
			name: "unanswered ping", tune: func(_ *http.Transport, c *pool.Config) { c.PingInterval = time.Second },
			provoke: answering(faultserver.Do(faultserver.BlackHole{})),
			want:    always(verdict{class: events.ClassEOF, recoverable: true}),
		},
		{
			name: "closed by the caller", want: always(verdict{class: events.ClassEOF, recoverable: true}),
			provoke: func(r *rig) error {
				time.AfterFunc(time.Second, func() { r.pool.Close() })
				return answering(faultserver.Do(faultserver.Hang{}))(r)
			},
		},
	}
	for i := range rows {
		rows[i].on = http2s
	}
	inTaxonomy(t, rows)
}

// A connection that dies between its dial and its first request.
func TestErrorsOfAConnectionThatWasNeverUsed(t *testing.T) {
	dead := func(how faultserver.How) func(*rig) error {
		return func(r *rig) error {
			ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				synctest.Wait()
				if n := r.srv.KillAll(how); n != 1 {
					r.Fatalf("%d connections", n)
				}
				synctest.Wait()
			}})
			_, _, err := exchange(r.pool, r.secret(ctx, "POST", newOneShot(secretBody)))
			return err
		}
	}
	eof := verdict{class: events.ClassEOF, recoverable: true, unprocessed: true}
	truncated := verdict{class: events.ClassTLSTransport, recoverable: true, unprocessed: true, op: pool.OpRoundTrip, truncated: true}
	inTaxonomy(t, []taxon{
		{name: "FIN", provoke: dead(faultserver.FIN), want: byTLS(eof, truncated)},
		{name: "close_notify", on: tlsOnes, provoke: dead(faultserver.CloseNotify), want: always(eof)},
		{name: "truncated record", on: tlsOnes, provoke: dead(faultserver.TruncatedRecord), want: always(truncated)},
		{
			name: "RST", provoke: dead(faultserver.RST),
			want: byTLS(
				verdict{class: events.ClassReset, recoverable: true, unprocessed: true, is: []error{syscall.ECONNRESET}},
				verdict{class: events.ClassTLSTransport, recoverable: true, unprocessed: true, op: pool.OpRoundTrip, is: []error{syscall.ECONNRESET}}),
		},
	})
}

// windowUpdate is a WINDOW_UPDATE frame for the connection.
func windowUpdate(increment uint32) []byte {
	var b bytes.Buffer
	if err := http2.NewFramer(&b, nil).WriteWindowUpdate(0, increment); err != nil {
		panic(err)
	}
	return b.Bytes()
}
