package pool_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// through sends r's requests through a proxy, whose URL has secret credentials,
// and which is dialled by dial.
func (r *rig) through(scheme string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	direct := r.base.DialContext
	u := &url.URL{Scheme: scheme, Host: "proxy.test:3128", User: urlUser()}
	r.base.Proxy = http.ProxyURL(u)
	r.base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "proxy.test:") {
			return dial(ctx, network, addr)
		}
		return direct(ctx, network, addr)
	}
}

// proxyAuth is what a proxy with the secret credentials wants.
func proxyAuth() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(secretUser+":"+secretPass))
}

// throughHTTP puts an HTTP proxy, over TLS or not, before r's server.
func (r *rig) throughHTTP(scheme, authorization string) *faultserver.Server {
	fc := faultserver.Config{Memory: true, Handler: &faultserver.Proxy{Dial: r.srv.DialContext, Authorization: authorization}}
	if scheme == "https" {
		fc.Protocol, fc.CA = faultserver.TLS, r.srv.CA()
	}
	px := faultserver.Start(r, fc)
	if r.base.TLSClientConfig == nil {
		r.base.TLSClientConfig = px.ClientTLS()
	}
	r.through(scheme, px.DialContext)
	return px
}

// Faults of the way to, and through, a proxy.
func TestErrorsOfAProxy(t *testing.T) {
	at := verdict{class: events.ClassDial, unprocessed: true, phase: pool.PhaseProxy}
	with := func(v verdict, is ...error) func(faultserver.Protocol) verdict { v.is = is; return always(v) }
	fails := func(err error) func(*rig) error {
		return func(r *rig) error {
			r.through("http", func(context.Context, string, string) (net.Conn, error) { return nil, err })
			return get(r)
		}
	}
	recoverable := at
	recoverable.recoverable = true
	handshake := verdict{class: events.ClassTLSHandshake, unprocessed: true, handshake: true, as: asTo[x509.UnknownAuthorityError]}
	dns := at
	dns.class, dns.as = events.ClassDNS, asTo[*net.DNSError]
	socks := func(s *socks5) func(*rig) error {
		return func(r *rig) error {
			s.dial = r.srv.DialContext
			startSOCKS(r, s)
			r.through("socks5", s.ln.DialContext)
			return get(r)
		}
	}
	inTaxonomy(t, []taxon{
		{name: "refused", provoke: fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), want: with(at, syscall.ECONNREFUSED)},
		{name: "no such host", provoke: fails(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "proxy.test", IsNotFound: true}}), want: always(dns)},
		{
			name: "the caller's Proxy function", want: with(at, errOwn), provoke: func(r *rig) error {
				r.base.Proxy = func(*http.Request) (*url.URL, error) { return nil, errOwn }
				return get(r)
			},
		},
		{
			name: "no credentials", on: tlsOnes, want: always(at), provoke: func(r *rig) error {
				r.throughHTTP("http", "Basic other")
				return get(r)
			},
		},
		{
			name: "target out of its reach", on: tlsOnes, want: always(at), provoke: func(r *rig) error {
				px := faultserver.Start(r, faultserver.Config{Memory: true, Handler: &faultserver.Proxy{
					Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") },
				}})
				r.through("http", px.DialContext)
				return get(r)
			},
		},
		{
			name: "end of the proxy in CONNECT", on: tlsOnes, want: always(recoverable), provoke: func(r *rig) error {
				r.throughHTTP("http", proxyAuth()).Next(faultserver.KillAfterReading(faultserver.FIN))
				return get(r)
			},
		},
		{
			name: "the caller's OnProxyConnectResponse", on: tlsOnes, want: with(at, errOwn), provoke: func(r *rig) error {
				r.throughHTTP("http", proxyAuth())
				r.base.OnProxyConnectResponse = func(context.Context, *url.URL, *http.Request, *http.Response) error { return errOwn }
				return get(r)
			},
		},
		{
			name: "handshake with the proxy", on: http1s, want: always(handshake), provoke: func(r *rig) error {
				fc := faultserver.Config{Memory: true, Protocol: faultserver.TLS, Handler: &faultserver.Proxy{Dial: r.srv.DialContext}}
				px := faultserver.Start(r, fc) // of an authority that the client does not know
				r.through("https", px.DialContext)
				return get(r)
			},
		},
		{
			name: "handshake through the proxy", on: tlsOnes, want: always(handshake), provoke: func(r *rig) error {
				r.throughHTTP("http", proxyAuth())
				r.base.TLSClientConfig.RootCAs = x509.NewCertPool()
				return get(r)
			},
		},
		{name: "SOCKS5, wrong credentials", provoke: socks(&socks5{user: "other", password: "other"}), want: always(at)},
		{name: "SOCKS5, refused", provoke: socks(&socks5{refuse: 5}), want: always(at)},
	})
}
