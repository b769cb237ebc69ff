package pool

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

// proxied reports whether connections through proxy for scheme serve any host.
func proxied(proxy *url.URL, scheme string) bool {
	return proxy != nil && scheme == "http" && (proxy.Scheme == "http" || proxy.Scheme == "https" || proxy.Scheme == "")
}

// proxyOfDial is the private base's Proxy. The request that it is asked about
// is made up: the answer was found with the real one before the dial.
func (t *Transport) proxyOfDial(req *http.Request) (*url.URL, error) {
	return dialingFrom(req.Context()).proxy, nil
}

func (t *Transport) onProxyConnectResponse(ctx context.Context, proxy *url.URL, req *http.Request, resp *http.Response) error {
	if f := t.base.OnProxyConnectResponse; f != nil {
		return f(ctx, proxy, req, resp)
	}
	return nil
}

func (t *Transport) proxyConnectHeader(ctx context.Context, proxy *url.URL, target string) (http.Header, error) {
	if f := t.base.GetProxyConnectHeader; f != nil {
		return f(ctx, proxy, target)
	}
	return t.base.ProxyConnectHeader, nil
}

// proxyOrigin returns scheme://host:port of a proxy's URL, without its
// credentials.
func proxyOrigin(proxy string) string {
	u, err := url.Parse(proxy)
	if err != nil {
		return "proxy"
	}
	e := endpointOf(u)
	if e.scheme == "" {
		e.scheme = "http"
	}
	return e.origin()
}

// dialTLSProxy is the private base's DialTLSContext where the first hop is an
// HTTPS proxy. Left alone, net/http would offer the proxy HTTP/2 and then speak
// HTTP/1 to it.
func (t *Transport) dialTLSProxy(ctx context.Context, network, addr string) (net.Conn, error) {
	d := dialingFrom(ctx)
	nc, err := t.dialSocket(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	var cfg *tls.Config
	if cfg = t.base.TLSClientConfig.Clone(); cfg == nil {
		cfg = new(tls.Config)
	}
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		if cfg.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, err
		}
	}
	if limit := t.base.TLSHandshakeTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, handshakeTimeoutError{})
		defer cancel()
	}
	d.handshaking.Store(true) // net/http reports it only when it is over
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return tc, nil
}

// handshakeTimeoutError says that TLSHandshakeTimeout passed.
type handshakeTimeoutError struct{}

func (handshakeTimeoutError) Error() string { return "TLS handshake timeout" }
func (handshakeTimeoutError) Timeout() bool { return true }
