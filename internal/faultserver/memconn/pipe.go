package memconn

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// DefaultBuffer is the capacity, in bytes, of each direction of a connection
// whose size was not chosen.
const DefaultBuffer = 64 << 10

// pipe is a connection: two ends and the bytes on their way between them.
type pipe struct {
	mu   sync.Mutex
	cond sync.Cond
	end  [2]end
	size int // capacity of each direction in bytes, at least 1
}

// end is the state of one socket.
type end struct {
	in     []byte        // received and not yet read; guarded by pipe.mu
	fin    bool          // the peer's FIN has arrived; guarded by pipe.mu
	reset  bool          // the peer's reset has arrived; guarded by pipe.mu
	soErr  syscall.Errno // the error that the next call reports, once; guarded by pipe.mu
	shut   bool          // CloseWrite was called; guarded by pipe.mu
	closed bool          // Close or Reset was called; guarded by pipe.mu
	rd, wd Deadline      // guarded by pipe.mu
}

// Conn is one end of a connection in memory. It is a net.Conn with CloseWrite.
type Conn struct {
	p             *pipe
	i             int
	local, remote net.Addr
	onClose       func() // called once, when this end closes; nil: none
}

// Pipe returns the two ends of a new connection. size is the capacity of each
// direction in bytes; 0 or less means [DefaultBuffer].
func Pipe(size int) (client, server *Conn) {
	if size <= 0 {
		size = DefaultBuffer
	}
	p := &pipe{size: size}
	p.cond.L = &p.mu
	ca, sa := Addr("client.test:1"), Addr("mem.test:80")
	return &Conn{p: p, i: 0, local: ca, remote: sa}, &Conn{p: p, i: 1, local: sa, remote: ca}
}

func (c *Conn) me() *end   { return &c.p.end[c.i] }
func (c *Conn) peer() *end { return &c.p.end[1-c.i] }

// Read reads what has arrived, and waits if nothing has. It returns io.EOF
// after the peer's last byte, ECONNRESET once after a reset.
func (c *Conn) Read(b []byte) (int, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	me := c.me()
	for {
		switch {
		case me.closed:
			return 0, c.opError("read", net.ErrClosed)
		case me.rd.Expired():
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case len(me.in) > 0:
			n := copy(b, me.in)
			me.in = me.in[n:]
			if len(me.in) == 0 {
				me.in = nil
			}
			c.p.cond.Broadcast()
			return n, nil
		case me.fin:
			return 0, io.EOF
		case me.soErr != 0:
			err := me.soErr
			me.soErr = 0
			return 0, c.opError("read", os.NewSyscallError("read", err))
		case me.reset:
			return 0, io.EOF
		}
		c.p.cond.Wait()
	}
}

// Write writes all of b, waiting while the peer's buffer is full.
func (c *Conn) Write(b []byte) (int, error) { return c.WriteBlocking(b, nil) }

// WriteBlocking is Write that calls blocked, if it is not nil, each time before
// it waits for room. blocked is called with no lock held.
func (c *Conn) WriteBlocking(b []byte, blocked func()) (int, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	me, peer := c.me(), c.peer()
	n := 0
	told := false
	for {
		switch {
		case me.closed:
			return n, c.opError("write", net.ErrClosed)
		case me.wd.Expired():
			return n, c.opError("write", os.ErrDeadlineExceeded)
		case me.soErr != 0:
			err := me.soErr
			me.soErr = 0
			return n, c.opError("write", os.NewSyscallError("write", err))
		case me.shut, me.reset:
			return n, c.opError("write", os.NewSyscallError("write", syscall.EPIPE))
		case n == len(b):
			return n, nil
		case peer.closed:
			// The bytes leave, and a reset answers them.
			me.reset = true
			if me.fin {
				me.soErr = syscall.EPIPE
			} else {
				me.soErr = syscall.ECONNRESET
			}
			c.p.cond.Broadcast()
			return len(b), nil
		}
		if room := c.p.size - len(peer.in); room > 0 {
			k := min(room, len(b)-n)
			peer.in = append(peer.in, b[n:n+k]...)
			n += k
			c.p.cond.Broadcast()
			if n == len(b) {
				return n, nil
			}
			continue
		}
		if blocked != nil && !told {
			told = true
			c.p.mu.Unlock()
			blocked()
			c.p.mu.Lock()
			continue
		}
		c.p.cond.Wait()
		told = false
	}
}

// CloseWrite sends FIN and keeps reading possible.
func (c *Conn) CloseWrite() error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	me := c.me()
	if me.closed {
		return c.opError("close", net.ErrClosed)
	}
	if me.reset {
		return c.opError("shutdown", os.NewSyscallError("shutdown", syscall.ENOTCONN))
	}
	me.shut = true
	c.peer().fin = true
	c.p.cond.Broadcast()
	return nil
}

// Close closes the socket: the peer gets FIN, or a reset if bytes that it sent
// were not read. A second Close returns net.ErrClosed.
func (c *Conn) Close() error { return c.close(false) }

// Reset closes the socket with a reset, as SetLinger(0) and Close do.
func (c *Conn) Reset() error { return c.close(true) }

func (c *Conn) close(reset bool) error {
	c.p.mu.Lock()
	me, peer := c.me(), c.peer()
	if me.closed {
		c.p.mu.Unlock()
		return c.opError("close", net.ErrClosed)
	}
	me.closed = true
	if reset || len(me.in) > 0 {
		if !peer.reset {
			peer.reset = true
			peer.soErr = syscall.ECONNRESET
			if peer.fin {
				peer.soErr = syscall.EPIPE
			}
		}
	} else {
		peer.fin = true
	}
	me.in = nil
	me.rd.Stop()
	me.wd.Stop()
	c.p.cond.Broadcast()
	c.p.mu.Unlock()
	if c.onClose != nil {
		c.onClose()
	}
	return nil
}

// Discard drops what has arrived and is unread.
func (c *Conn) Discard() {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.me().in = nil
	c.p.cond.Broadcast()
}

// PeerClosed reports whether the peer's FIN or reset has arrived.
func (c *Conn) PeerClosed() bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.me().fin || c.me().reset
}

// WaitPeerClosed waits, without reading, until the peer's FIN or reset has
// arrived. It returns an error if this end closes or its read deadline expires
// before.
func (c *Conn) WaitPeerClosed() error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	me := c.me()
	for {
		switch {
		case me.closed:
			return c.opError("read", net.ErrClosed)
		case me.rd.Expired():
			return c.opError("read", os.ErrDeadlineExceeded)
		case me.fin, me.reset:
			return nil
		}
		c.p.cond.Wait()
	}
}

// LocalAddr returns this end's address; its network is "mem".
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the peer's address; its network is "mem".
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; a zero time means none. Waits in progress
// follow the new value.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, true, true) }

// SetReadDeadline sets the deadline of Read; a zero time means none.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, true, false) }

// SetWriteDeadline sets the deadline of Write; a zero time means none.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, false, true) }

func (c *Conn) setDeadlines(t time.Time, read, write bool) error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	me := c.me()
	if me.closed {
		return c.opError("set", net.ErrClosed)
	}
	if read {
		me.rd.Set(t, &c.p.mu, c.p.cond.Broadcast)
	}
	if write {
		me.wd.Set(t, &c.p.mu, c.p.cond.Broadcast)
	}
	c.p.cond.Broadcast()
	return nil
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}
