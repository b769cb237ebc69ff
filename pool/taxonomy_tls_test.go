package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// get provokes an error of the first request of a pool.
func get(r *rig) error {
	_, _, err := exchange(r.pool, r.secret(context.Background(), "GET", nil))
	return err
}

// accepting provokes an error of a dial with a script for the connection.
func accepting(steps ...faultserver.Step) func(*rig) error {
	return func(r *rig) error {
		r.srv.NextConn(faultserver.Do(steps...))
		return get(r)
	}
}

// asTo is errors.As as a predicate.
func asTo[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isAlert reports whether a TLS alert is in err: crypto/tls tells it by the
// operation of a net.OpError.
func isAlert(op string) func(error) bool {
	return func(err error) bool {
		var e *net.OpError
		return errors.As(err, &e) && e.Op == op
	}
}

// Faults of a TLS handshake, those included that the client's configuration
// makes before a byte is sent: HTTP/1 and HTTP/2.
func TestErrorsOfAHandshake(t *testing.T) {
	refused := verdict{class: events.ClassTLSHandshake, unprocessed: true, handshake: true}
	ended := verdict{class: events.ClassTLSHandshake, recoverable: true, unprocessed: true, handshake: true}
	with := func(v verdict, as func(error) bool, is ...error) func(faultserver.Protocol) verdict {
		v.as, v.is = as, is
		return always(v)
	}
	client := func(change func(*tls.Config)) func(*http.Transport, *pool.Config) {
		return func(b *http.Transport, _ *pool.Config) { change(b.TLSClientConfig) }
	}
	server := func(change func(*tls.Config)) func(*faultserver.Config) {
		return func(c *faultserver.Config) { c.ConfigureTLS = change }
	}
	rows := []taxon{
		{
			name: "unknown authority", tune: client(func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }), provoke: get,
			want: with(refused, asTo[x509.UnknownAuthorityError]),
		},
		{
			name: "wrong name", tune: client(func(c *tls.Config) { c.ServerName = "other.invalid" }), provoke: get,
			want: with(refused, asTo[x509.HostnameError]),
		},
		{
			name: "expired", tune: client(func(c *tls.Config) { c.Time = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) } }), provoke: get,
			want: with(refused, asTo[x509.CertificateInvalidError]),
		},
		{
			name: "no version in common", tune: client(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
			config: server(func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }), provoke: get,
			want: with(refused, isAlert("remote error")),
		},
		{
			name: "configuration without a version", tune: client(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS13, tls.VersionTLS12 }), provoke: get,
			want: with(refused, nil),
		},
		{
			name: "the caller's own verification", tune: client(func(c *tls.Config) { c.VerifyConnection = func(tls.ConnectionState) error { return errOwn } }), provoke: get,
			want: with(refused, nil, errOwn),
		},
		{
			name: "no client certificate, TLS 1.2", tune: client(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
			config: server(func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }), provoke: get,
			want: with(refused, isAlert("remote error")),
		},
		{
			name: "the caller's own client certificate function", config: server(func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }),
			tune: client(func(c *tls.Config) {
				c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return nil, errOwn }
			}),
			provoke: get, want: with(refused, nil, errOwn),
		},
		{
			name: "alert", provoke: accepting(faultserver.Raw{Data: faultserver.TLSAlert(40), Wire: true}, faultserver.Kill{How: faultserver.FIN}),
			want: with(refused, isAlert("remote error")),
		},
		{
			name: "no TLS", provoke: accepting(faultserver.Raw{Data: []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), Wire: true}, faultserver.Kill{How: faultserver.FIN}),
			want: with(refused, asTo[tls.RecordHeaderError]),
		},
		{
			name: "FIN at once", provoke: accepting(faultserver.Kill{How: faultserver.FIN}), want: with(ended, nil),
		},
		{
			name: "FIN in the middle", provoke: accepting(faultserver.KillAfterWritten{Bytes: 300, How: faultserver.FIN}), want: with(ended, nil),
		},
		{
			name: "RST at once", provoke: accepting(faultserver.Kill{How: faultserver.RST}), want: with(ended, isReset),
		},
		{
			name: "timeout", tune: func(b *http.Transport, _ *pool.Config) { b.TLSHandshakeTimeout = time.Second },
			provoke: accepting(faultserver.BlackHole{}),
			want:    always(verdict{class: events.ClassTLSHandshake, recoverable: true, unprocessed: true, handshake: true, timeout: true}),
		},
	}
	for i := range rows {
		rows[i].on = tlsOnes
	}
	inTaxonomy(t, rows)
}

// In TLS 1.3 a client has finished its handshake before the server looks at
// its certificate: the refusal meets the first request, before or after that
// was written.
func TestErrorsOfALateAlert(t *testing.T) {
	other := faultserver.NewCA()
	demand := func(c *faultserver.Config) {
		c.ConfigureTLS = func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }
	}
	stranger := func(b *http.Transport) {
		cert := other.Certificate("client")
		b.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	before := func(r *rig) error {
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { synctest.Wait() }})
		_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
		return err
	}
	refused := verdict{class: events.ClassTLSTransport, op: pool.OpRoundTrip, as: isAlert("remote error")}
	unseen := refused
	unseen.unprocessed = true
	inTaxonomy(t, []taxon{
		{name: "no client certificate, request unwritten", on: tlsOnes, config: demand, provoke: before, want: always(unseen)},
		{
			name: "certificate of another authority, request unwritten", on: tlsOnes, config: demand, provoke: before, want: always(unseen),
			tune: func(b *http.Transport, _ *pool.Config) { stranger(b) },
		},
		{
			name: "no client certificate, request written", on: tlsOnes, config: demand, want: always(refused),
			tune: func(b *http.Transport, _ *pool.Config) { deafUntilWritten(b) }, provoke: getWritten,
		},
		{
			name: "certificate of another authority, request written", on: tlsOnes, config: demand, want: always(refused),
			tune: func(b *http.Transport, _ *pool.Config) { stranger(b); deafUntilWritten(b) }, provoke: getWritten,
		},
	})
}

// deafUntilWritten makes the sockets of b deaf, from the end of the handshake
// until the request of getWritten has been written.
func deafUntilWritten(b *http.Transport) {
	dial := b.DialContext
	b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		if h, ok := ctx.Value(hearingKey{}).(*hearing); ok && err == nil {
			return &deaf{Conn: nc, h: h}, nil
		}
		return nc, err
	}
}

func getWritten(r *rig) error {
	h := &hearing{written: make(chan struct{})}
	ctx := context.WithValue(context.Background(), hearingKey{}, h)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(tls.ConnectionState, error) { h.shaken.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if r.srv.Protocol().Multiplexed() {
				h.once.Do(func() { close(h.written) })
				return
			}
			h.buffered.Store(true) // HTTP/1 reports it before it flushes
		},
	})
	_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
	return err
}

type hearingKey struct{}

// hearing is when a deaf socket hears.
type hearing struct {
	shaken, buffered atomic.Bool
	written          chan struct{}
	once             sync.Once
}

type deaf struct {
	net.Conn
	h *hearing
}

func (d *deaf) Write(p []byte) (int, error) {
	n, err := d.Conn.Write(p)
	if d.h.buffered.Load() {
		d.h.once.Do(func() { close(d.h.written) })
	}
	return n, err
}

func (d *deaf) Read(p []byte) (int, error) {
	if d.h.shaken.Load() {
		<-d.h.written
	}
	return d.Conn.Read(p)
}

// Faults of a dial by phase. Nothing of them is TLS's.
func TestErrorsOfADial(t *testing.T) {
	dialing := func(f func(ctx context.Context) (net.Conn, error)) func(*http.Transport, *pool.Config) {
		return func(b *http.Transport, _ *pool.Config) {
			b.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return f(ctx) }
		}
	}
	failing := func(err error) func(*http.Transport, *pool.Config) {
		return dialing(func(context.Context) (net.Conn, error) { return nil, err })
	}
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	dns := verdict{class: events.ClassDNS, unprocessed: true, phase: pool.PhaseDNS, as: asTo[*net.DNSError]}
	slowDNS := dns
	slowDNS.recoverable, slowDNS.timeout = true, true
	connect := verdict{class: events.ClassDial, unprocessed: true, phase: pool.PhaseConnect}
	with := func(v verdict, is ...error) verdict { v.is = is; return v }
	slow := connect
	slow.recoverable, slow.timeout = true, true
	reset := with(connect, syscall.ECONNRESET)
	reset.recoverable = true
	inTaxonomy(t, []taxon{
		{name: "no such host", tune: failing(op(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true})), provoke: get, want: always(dns)},
		{name: "resolver too slow", tune: failing(op(&net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true})), provoke: get, want: always(slowDNS)},
		{name: "refused", tune: failing(op(syscall.ECONNREFUSED)), provoke: get, want: always(with(connect, syscall.ECONNREFUSED))},
		{name: "reset", tune: failing(op(syscall.ECONNRESET)), provoke: get, want: always(reset)},
		{name: "the caller's own error", tune: failing(errOwn), provoke: get, want: always(with(connect, errOwn))},
		{
			name: "timeout of the dialler", provoke: get, want: always(slow),
			tune: dialing(func(ctx context.Context) (net.Conn, error) {
				d := net.Dialer{Deadline: time.Now().Add(-time.Second)}
				return d.DialContext(ctx, "tcp", "192.0.2.1:80") // RFC 5737: for documentation
			}),
		},
		{name: "neither connection nor error", tune: dialing(func(context.Context) (net.Conn, error) { return nil, nil }), provoke: get, want: always(connect)},
		{
			name: "deadline of the request", tune: dialing(func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }),
			provoke: func(r *rig) error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassTimeout, timeout: true, is: []error{context.DeadlineExceeded}}),
		},
		{
			name: "canceled for a cause", tune: dialing(func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }),
			provoke: func(r *rig) error {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Second, func() { cancel(errOwn) })
				_, _, err := exchange(r.pool, r.secret(ctx, "GET", nil))
				return err
			},
			want: always(verdict{class: events.ClassOther, is: []error{errOwn}}),
		},
	})
}

// A real refusal, of a port that nobody listens on.
func TestARefusedConnectionIsADialError(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, scheme := range []string{"http", "https"} {
		req, _ := http.NewRequest("GET", scheme+"://"+secretUser+":"+secretPass+"@"+ln.Addr().String()+"/?"+secretQuery, nil)
		_, err = p.RoundTrip(req)
		verdict{class: events.ClassDial, unprocessed: true, phase: pool.PhaseConnect, is: []error{syscall.ECONNREFUSED}}.check(t, err)
	}
}
