package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"
)

// stockTransport returns a transport with the stock values of
// http.DefaultTransport, for programs that have replaced that.
func stockTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// settings are the fields of a base that its private copy depends on. Where
// they change, a new copy is made. Function fields are absent: the copy's
// functions look the base's up.
type settings struct {
	tls                             *tls.Config
	http2                           *http.HTTP2Config
	protocols                       http.Protocols
	dialsTLS                        bool
	disableKeepAlives               bool
	disableCompression              bool
	handshake, header, expect       time.Duration
	maxHeader                       int64
	writeBufferSize, readBufferSize int
}

// privateBase is a transport of the pool's own that only ever dials.
type privateBase struct {
	*http.Transport
	from settings
}

// protocols returns what the base allows, by the rules of http.Transport, with
// one addition: an ALPN list with "h2" asks for HTTP/2, which a transport that
// copies it without its TLSNextProto would negotiate and not understand.
func (t *Transport) protocols() http.Protocols {
	b := t.base
	if b.Protocols != nil {
		return *b.Protocols
	}
	var p http.Protocols
	p.SetHTTP1(true)
	switch {
	case b.TLSNextProto != nil:
		p.SetHTTP2(b.TLSNextProto["h2"] != nil)
	case b.ForceAttemptHTTP2:
		p.SetHTTP2(true)
	case b.TLSClientConfig != nil:
		p.SetHTTP2(slices.Contains(b.TLSClientConfig.NextProtos, "h2"))
	default:
		p.SetHTTP2(b.Dial == nil && b.DialContext == nil && !t.dialsTLS()) //nolint:staticcheck // a base may still use Dial
	}
	return p
}

// dialsTLS reports whether the base makes its own TLS connections.
func (t *Transport) dialsTLS() bool {
	return t.base.DialTLSContext != nil || t.base.DialTLS != nil //nolint:staticcheck // a base may still use it
}

// multiplexes reports whether connections of a scheme may speak HTTP/2: for
// https if that is negotiated, for http by prior knowledge.
func (t *Transport) multiplexes(scheme string) bool {
	p := t.protocols()
	if scheme == "https" {
		return p.HTTP2()
	}
	return p.UnencryptedHTTP2() && !p.HTTP1()
}

// variant tells the private bases apart.
type variant struct {
	flavour  flavour
	tlsProxy bool // the first hop is an HTTPS proxy
}

// privateBase returns the transport of variant v.
func (t *Transport) privateBase(v variant) *http.Transport {
	b := t.base
	from := settings{
		tls: b.TLSClientConfig, http2: b.HTTP2, protocols: t.protocols(), dialsTLS: t.dialsTLS(),
		disableKeepAlives: b.DisableKeepAlives, disableCompression: b.DisableCompression,
		handshake: b.TLSHandshakeTimeout, header: b.ResponseHeaderTimeout, expect: b.ExpectContinueTimeout,
		maxHeader: b.MaxResponseHeaderBytes, writeBufferSize: b.WriteBufferSize, readBufferSize: b.ReadBufferSize,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.private[v]; p != nil && p.from == from {
		return p.Transport
	}
	p := &privateBase{t.newPrivate(from, v), from}
	if t.private == nil {
		t.private = make(map[variant]*privateBase)
	}
	t.private[v] = p
	return p.Transport
}

// newPrivate makes a private base. Its limits are unset: they are the pool's,
// and a client connection would trip over them.
func (t *Transport) newPrivate(from settings, v variant) *http.Transport {
	protocols := from.protocols
	if v.flavour == onlyHTTP1 {
		protocols = http.Protocols{}
		protocols.SetHTTP1(true)
	}
	p := &http.Transport{
		Proxy:                  t.proxyOfDial,
		DialContext:            t.dialSocket,
		OnProxyConnectResponse: t.onProxyConnectResponse,
		GetProxyConnectHeader:  t.proxyConnectHeader,
		TLSHandshakeTimeout:    from.handshake,
		DisableKeepAlives:      from.disableKeepAlives,
		DisableCompression:     from.disableCompression,
		ResponseHeaderTimeout:  from.header,
		ExpectContinueTimeout:  from.expect,
		MaxResponseHeaderBytes: from.maxHeader,
		WriteBufferSize:        from.writeBufferSize,
		ReadBufferSize:         from.readBufferSize,
		Protocols:              &protocols,
		HTTP2:                  t.http2Config(from.http2),
	}
	if from.tls != nil {
		p.TLSClientConfig = from.tls.Clone()
		// net/http appends to the list, and would do so into the base's array.
		next := slices.Clone(from.tls.NextProtos)
		if !protocols.HTTP2() {
			next = slices.DeleteFunc(next, func(s string) bool { return s == "h2" })
		}
		p.TLSClientConfig.NextProtos = next
	}
	switch {
	case from.dialsTLS:
		p.DialTLSContext = t.dialTLSSocket
	case v.tlsProxy:
		p.DialTLSContext = t.dialTLSProxy
	case protocols.HTTP2():
		p.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return t.dialTLSDirect(ctx, p, network, addr)
		}
	}
	return p
}

// http2Config returns the base's HTTP/2 configuration with the pool's pings.
func (t *Transport) http2Config(from *http.HTTP2Config) *http.HTTP2Config {
	if from == nil && t.cfg.PingInterval == 0 {
		return nil
	}
	var c http.HTTP2Config
	if from != nil {
		c = *from
	}
	switch d := t.cfg.PingInterval; {
	case d < 0:
		c.SendPingTimeout = 0
	case d > 0:
		c.SendPingTimeout = d
		if c.PingTimeout == 0 {
			c.PingTimeout = min(d, 15*time.Second)
		}
	}
	return &c
}

// dialSocket is the private base's DialContext.
func (t *Transport) dialSocket(ctx context.Context, network, addr string) (net.Conn, error) {
	var (
		d   = dialingFrom(ctx)
		nc  net.Conn
		err error
	)
	switch b := t.base; {
	case b.DialContext != nil:
		nc, err = b.DialContext(ctx, network, addr)
	case b.Dial != nil: //nolint:staticcheck // a base may still use it
		nc, err = b.Dial(network, addr) //nolint:staticcheck // as above
	default:
		nc, err = new(net.Dialer).DialContext(ctx, network, addr)
	}
	if err == nil && nc == nil {
		err = errors.New("pool: Config.Base's dial function returned (nil, nil)")
	}
	if err != nil {
		return nil, err
	}
	return d.socket(nc), nil
}

// dialTLSSocket is the private base's DialTLSContext.
func (t *Transport) dialTLSSocket(ctx context.Context, network, addr string) (net.Conn, error) {
	var (
		d   = dialingFrom(ctx)
		nc  net.Conn
		err error
	)
	if b := t.base; b.DialTLSContext != nil {
		nc, err = b.DialTLSContext(ctx, network, addr)
	} else {
		nc, err = b.DialTLS(network, addr) //nolint:staticcheck // a base may still use it
	}
	if err == nil && nc == nil {
		err = errors.New("pool: Config.Base's TLS dial function returned (nil, nil)")
	}
	if err != nil {
		return nil, err
	}
	if _, ok := nc.(*tls.Conn); ok {
		// net/http asks this very type for the protocol: it cannot be wrapped.
		d.c.nc = nc
		return nc, nil
	}
	return d.socket(nc), nil
}

// dialTLSDirect is the DialTLSContext of the private base p where HTTP/2 is
// possible. It does what net/http does by itself, but keeps hold of the TLS
// connection, which alone knows of an alert that ended it between two requests
// of HTTP/2. net/http does the handshake.
func (t *Transport) dialTLSDirect(ctx context.Context, p *http.Transport, network, addr string) (net.Conn, error) {
	nc, err := t.dialSocket(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := p.TLSClientConfig.Clone() // net/http has put the protocols in
	if cfg.ServerName == "" {
		if cfg.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, err
		}
	}
	over := tls.Client(nc, cfg)
	dialingFrom(ctx).c.over = over
	return over, nil
}

// socket wraps the socket of d.
func (d *dialing) socket(nc net.Conn) net.Conn {
	d.c.nc = nc
	d.c.raw = &rawConn{Conn: nc, c: d.c}
	t := d.c.g.t
	if h2 := t.http2Config(t.base.HTTP2); h2 != nil {
		d.c.raw.pings = h2.SendPingTimeout
	}
	return d.c.raw
}
