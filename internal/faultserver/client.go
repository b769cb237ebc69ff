package faultserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"
)

// CA returns the authority of the server's certificate; nil without TLS.
func (s *Server) CA() *CA { return s.config.CA }

// ClientPool returns a new pool with the server's authority; nil without TLS.
func (s *Server) ClientPool() *x509.CertPool {
	if s.tls == nil {
		return nil
	}
	return s.config.CA.Pool()
}

// ClientTLS returns a new client configuration that trusts the server and sets
// nothing else; nil without TLS.
func (s *Server) ClientTLS() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.ClientPool()}
}

// ClientTransport returns a new transport that speaks exactly the server's
// protocol, trusts it, and dials through Sockets. Close closes its idle
// connections. Its limits are those of a zero http.Transport.
func (s *Server) ClientTransport() *http.Transport {
	t := &http.Transport{
		DialContext:     s.sockets.DialContext,
		TLSClientConfig: s.ClientTLS(),
		Protocols:       s.ClientProtocols(),
	}
	t.ForceAttemptHTTP2 = s.config.Protocol == H2
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transports = append(s.transports, t)
	return t
}

// ClientProtocols returns the value of http.Transport.Protocols for the
// server's protocol alone.
func (s *Server) ClientProtocols() *http.Protocols {
	p := new(http.Protocols)
	switch s.config.Protocol {
	case H2:
		p.SetHTTP2(true)
	case H2C:
		p.SetUnencryptedHTTP2(true)
	default:
		p.SetHTTP1(true)
	}
	return p
}

// Sockets counts the sockets that clients have opened through its DialContext.
func (s *Server) Sockets() *Sockets { return s.sockets }

// DialContext is Sockets().DialContext.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.sockets.DialContext(ctx, network, addr)
}

// dial connects to addr; in memory to this server whatever addr is.
func (s *Server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.mem != nil {
		return s.mem.DialContext(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// Sockets counts sockets at the client's end, from before the dial to after the
// close: the figure that a connection limit bounds, exact at every instant. It
// also tells the server of each close, before the close returns (see Stats).
type Sockets struct {
	s *Server

	mu                    sync.Mutex
	opened, open, maxOpen int // guarded by mu
}

// DialContext dials a counted socket; it fits http.Transport.DialContext. In
// memory it reaches the server whatever network and addr are. A dial that fails
// counts while it lasts.
func (k *Sockets) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	k.mu.Lock()
	k.open++
	k.maxOpen = max(k.maxOpen, k.open)
	k.mu.Unlock()
	nc, err := k.s.dial(ctx, network, addr)
	if err != nil {
		k.gone()
		return nil, err
	}
	k.mu.Lock()
	k.opened++
	k.mu.Unlock()
	return &countedConn{Conn: nc, gone: func() {
		if nc.RemoteAddr().String() == k.s.Addr() {
			k.s.clientClosed(nc.LocalAddr().String())
		}
		k.gone()
	}}, nil
}

func (k *Sockets) gone() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open--
}

// Opened returns how many dials have succeeded.
func (k *Sockets) Opened() int { k.mu.Lock(); defer k.mu.Unlock(); return k.opened }

// Open returns how many sockets are being dialled or open.
func (k *Sockets) Open() int { k.mu.Lock(); defer k.mu.Unlock(); return k.open }

// MaxOpen returns the largest Open there ever was.
func (k *Sockets) MaxOpen() int { k.mu.Lock(); defer k.mu.Unlock(); return k.maxOpen }

// countedConn tells its closing once, when the socket is closed.
type countedConn struct {
	net.Conn
	once sync.Once
	gone func()
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.gone)
	return err
}

// CloseWrite sends FIN.
func (c *countedConn) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}
