package memconn

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Addr is an address in memory, "host:port". Its network is "mem".
type Addr string

// Network returns "mem".
func (Addr) Network() string { return "mem" }

// String returns the address as "host:port".
func (a Addr) String() string { return string(a) }

// Counts tells how many sockets clients have had of a listener.
type Counts struct {
	Opened  int // dialled since the listener was made
	Open    int // dialled and not yet closed by the client
	MaxOpen int // the largest Open there ever was; exact
}

// Listener accepts connections in memory. It is a net.Listener.
type Listener struct {
	addr  Addr
	size  int
	queue chan *Conn
	done  chan struct{}

	mu     sync.Mutex
	closed bool   // guarded by mu
	counts Counts // guarded by mu
}

// Listen returns a listener whose address is "mem.test:80" and whose
// connections have buffers of [DefaultBuffer] bytes.
func Listen() *Listener { return ListenConfig{}.Listen() }

// ListenConfig holds what a listener may be told.
type ListenConfig struct {
	Addr    string // "host:port"; "": "mem.test:80"
	Buffer  int    // bytes of each direction of a connection; 0 or less: DefaultBuffer
	Backlog int    // dialled connections that may wait for Accept; 0 or less: 128
}

// Listen returns a listener.
func (c ListenConfig) Listen() *Listener {
	if c.Addr == "" {
		c.Addr = "mem.test:80"
	}
	if c.Backlog <= 0 {
		c.Backlog = 128
	}
	return &Listener{
		addr:  Addr(c.Addr),
		size:  c.Buffer,
		queue: make(chan *Conn, c.Backlog),
		done:  make(chan struct{}),
	}
}

// DialContext connects to the listener, whatever network and address say, so
// that it fits http.Transport.DialContext for every host. As with TCP it does
// not wait for Accept unless the backlog is full. After Close it returns
// ECONNREFUSED.
func (l *Listener) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := l.dial(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: l.addr, Err: err}
	}
	return c, nil
}

// Dial is DialContext without a context.
func (l *Listener) Dial() (net.Conn, error) {
	return l.DialContext(context.Background(), "mem", string(l.addr))
}

func (l *Listener) dial(ctx context.Context) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	l.counts.Opened++
	l.counts.Open++
	l.counts.MaxOpen = max(l.counts.MaxOpen, l.counts.Open)
	n := l.counts.Opened
	l.mu.Unlock()

	client, server := Pipe(l.size)
	client.local, server.remote = Addr("client.test:"+strconv.Itoa(n)), Addr("client.test:"+strconv.Itoa(n))
	client.remote, server.local = l.addr, l.addr
	client.onClose = func() {
		l.mu.Lock()
		l.counts.Open--
		l.mu.Unlock()
	}
	select {
	case l.queue <- server:
	case <-l.done:
		client.Close()
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case <-ctx.Done():
		client.Close()
		return nil, ctx.Err()
	}
	// Close may have emptied the queue just before.
	select {
	case <-l.done:
		l.refuseQueued()
	default:
	}
	return client, nil
}

// Accept returns the next connection; after Close it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.closedError()
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, l.closedError()
	}
}

func (l *Listener) closedError() error {
	return &net.OpError{Op: "accept", Net: "mem", Addr: l.addr, Err: net.ErrClosed}
}

// Close ends Accept and refuses later dials. Connections that wait for Accept
// are reset; accepted ones live on.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return l.closedError()
	}
	l.closed = true
	l.mu.Unlock()
	close(l.done)
	l.refuseQueued()
	return nil
}

func (l *Listener) refuseQueued() {
	for {
		select {
		case c := <-l.queue:
			c.Reset()
		default:
			return
		}
	}
}

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.addr }

// Counts returns how many client sockets there are and were. They are counted
// at the client's end: from the dial to the client's Close.
func (l *Listener) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}
