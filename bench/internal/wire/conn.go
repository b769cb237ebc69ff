// Package wire is the client's side of a TCP connection to a server that needs
// no goroutine: whatever completes a request's header is answered at once,
// from memory. It counts what a client does with the connection. All methods
// are safe for concurrent use.
package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"

// Counts are what clients have done with all connections of a Network.
type Counts struct{ Dials, Reads, Writes int64 }

// Network dials connections and counts. The zero Network is ready for use.
type Network struct{ dials, reads, writes atomic.Int64 }

// Counts returns the counts at this moment.
func (n *Network) Counts() Counts {
	return Counts{n.dials.Load(), n.reads.Load(), n.writes.Load()}
}

// DialContext is for http.Transport. It never fails.
func (n *Network) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	n.dials.Add(1)
	c := &conn{network: n, address: addr(address)}
	c.readable.L = &c.mu
	return c, nil
}

type conn struct {
	network  *Network
	address  addr
	readable sync.Cond

	mu     sync.Mutex
	unread []byte // guarded by mu
	state  int    // guarded by mu: bytes of the blank line that were seen
	closed bool   // guarded by mu
}

const blankLine = "\r\n\r\n"

func (c *conn) Write(p []byte) (int, error) {
	c.network.writes.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	for _, b := range p {
		switch {
		case b == blankLine[c.state]:
			c.state++
		case b == '\r':
			c.state = 1
		default:
			c.state = 0
		}
		if c.state == len(blankLine) {
			c.state = 0
			c.unread = append(c.unread, answer...)
			c.readable.Signal()
		}
	}
	return len(p), nil
}

func (c *conn) Read(p []byte) (int, error) {
	c.network.reads.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.unread) == 0 && !c.closed {
		c.readable.Wait()
	}
	if len(c.unread) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.readable.Broadcast()
	return nil
}

// addr is an address on the network.
type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }

func (c *conn) LocalAddr() net.Addr  { return addr("client:1") }
func (c *conn) RemoteAddr() net.Addr { return c.address }

var errNoDeadline = errors.New("wire: connections have no deadlines")

// Nothing that the benchmarks use sets a deadline on an HTTP/1 connection.
func (c *conn) SetDeadline(time.Time) error      { return errNoDeadline }
func (c *conn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (c *conn) SetWriteDeadline(time.Time) error { return errNoDeadline }
