package faultserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// Config says what a server is. The zero Config is an HTTP/1.1 server on
// loopback TCP that echoes.
type Config struct {
	// Protocol is what the server speaks; zero: H1.
	Protocol Protocol
	// Memory makes the server listen in memory instead of on TCP, so that it
	// runs in a synctest bubble: make it inside the bubble and close it there.
	Memory bool
	// Handler answers requests that no script is for; nil: the echo (see the
	// Echo step).
	Handler http.Handler
	// Choose picks a request's script after the queue of Next is empty; nil:
	// the default for all. It is called on the request's goroutine, before the
	// body is read.
	Choose func(Request) Script
	// ChooseConn picks a connection's script after the queue of NextConn is
	// empty; nil: none. It is called before a byte is read.
	ChooseConn func(Conn) Script
	// Settings are those of HTTP/2 connections.
	Settings Settings
	// IDHeader names the header field that Request.ID comes from; "":
	// "X-Request-Id".
	IDHeader string
	// CA issues the server's certificate; nil: a new one.
	CA *CA
	// ConfigureTLS, if not nil, may change the server's TLS configuration
	// before the server starts: versions, client certificates.
	ConfigureTLS func(*tls.Config)
}

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	config  Config
	ln      net.Listener
	mem     *memconn.Listener // nil on TCP
	tls     *tls.Config       // nil without TLS
	sockets *Sockets
	wg      sync.WaitGroup

	mu         sync.Mutex
	changed    signal            // fired at every change of what follows
	closed     bool              // guarded by mu
	conns      []*conn           // all ever, index n-1; guarded by mu
	open       int               // guarded by mu
	maxOpen    int               // guarded by mu
	raced      int               // guarded by mu
	records    []*Request        // all ever, in order of arrival; guarded by mu
	queue      []Script          // guarded by mu
	connQueue  []Script          // guarded by mu
	transports []*http.Transport // whose idle connections Close closes; guarded by mu
	misuse     []error           // guarded by mu
	left       map[string]int    // clients' addresses that closed before they were accepted; guarded by mu
}

// New starts a server. The error names the field.
func New(config Config) (*Server, error) {
	if config.Protocol < H1 || config.Protocol > H2C {
		return nil, fmt.Errorf("faultserver: Protocol is %v; use H1, TLS, H2 or H2C", config.Protocol)
	}
	if err := config.Settings.check(); err != nil {
		return nil, fmt.Errorf("faultserver: Settings: %w", err)
	}
	if config.IDHeader == "" {
		config.IDHeader = "X-Request-Id"
	}
	s := &Server{config: config}
	if config.Protocol.Encrypted() {
		if s.config.CA == nil {
			s.config.CA = NewCA()
		}
		s.tls = s.config.CA.serverTLS(config.Protocol)
		if config.ConfigureTLS != nil {
			config.ConfigureTLS(s.tls)
		}
	}
	if config.Memory {
		addr := "mem.test:80"
		if s.tls != nil {
			addr = "mem.test:443"
		}
		s.mem = memconn.ListenConfig{Addr: addr}.Listen()
		s.ln = s.mem
	} else {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("faultserver: %w", err)
		}
		s.ln = ln
	}
	s.sockets = &Sockets{s: s}
	s.wg.Go(s.accept)
	return s, nil
}

// accept takes connections until the listener closes.
func (s *Server) accept() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.admit(asSocket(nc))
	}
}

func (s *Server) admit(sock socket) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		sock.Close()
		return
	}
	c := &conn{s: s, n: len(s.conns) + 1, sock: sock, remote: sock.RemoteAddr().String(), done: make(chan struct{}), ended: make(chan struct{}), settings: s.config.Settings}
	c.wire = newWire(c, sock)
	c.app = c.wire
	if s.tls != nil {
		c.tls = tls.Server(c.wire, s.tls)
		c.app = c.tls
	}
	s.conns = append(s.conns, c)
	s.refresh()
	if s.left[c.remote] > 0 {
		if s.left[c.remote]--; s.left[c.remote] == 0 {
			delete(s.left, c.remote)
		}
		c.clientGone = true
	}
	if !c.clientGone && !sock.PeerClosed() {
		c.open = true
		s.open++
		s.maxOpen = max(s.maxOpen, s.open)
	}
	info := s.info(c)
	s.changed.fire()
	s.mu.Unlock()

	script := s.connScript(info)
	script.Steps = c.armFirst(script.Steps)
	s.wg.Go(c.wire.pump)
	s.wg.Go(func() { c.serve(script) })
}

// refresh takes those connections out of the open ones whose peer has closed,
// seen by the kernel though not yet by the pump. The caller holds mu.
func (s *Server) refresh() {
	for _, c := range s.conns {
		if c.open && c.sock.PeerClosed() {
			c.uncount()
		}
	}
}

// clientClosed takes the connection from a client's address out of the open
// ones: the client has closed its end. The kernel may hold its FIN back for many
// milliseconds (a congestion control that paces, a send window that is used up),
// while the client has long dialled another connection.
func (s *Server) clientClosed(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.conns) {
		if c.remote == addr && !c.clientGone {
			c.clientGone = true
			c.uncount()
			s.changed.fire()
			return
		}
	}
	if s.left == nil {
		s.left = make(map[string]int)
	}
	s.left[addr]++
}

func (s *Server) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.fire()
}

// Close ends the server: it stops listening, closes all connections and waits
// until every goroutine of the server is done. It waits for handlers too; their
// request contexts end. It also closes the idle connections of the transports
// that ClientTransport has made. More calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.wg.Wait()
		return nil
	}
	s.closed = true
	conns := s.conns
	transports := s.transports
	s.mu.Unlock()
	err := s.ln.Close()
	for _, t := range transports {
		t.CloseIdleConnections()
	}
	for _, c := range conns {
		if !c.kill(Shut) {
			c.abandon()
		}
	}
	s.wg.Wait()
	return err
}

// Err returns what scripts were told that cannot be done, such as a step for
// HTTP/2 on an HTTP/1.1 connection, and panics of handlers; nil if all went as
// written.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.misuse...)
}

func (s *Server) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misuse = append(s.misuse, err)
}

// Addr returns the listener's "host:port".
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL returns "http://host:port" or "https://host:port" followed by path.
func (s *Server) URL(path ...string) string {
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + s.Addr() + strings.Join(path, "")
}

// Protocol returns what the server speaks.
func (s *Server) Protocol() Protocol { return s.config.Protocol }
