package pool

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errTruncated is what a TLS stream that ended without close_notify reads as.
var errTruncated = errors.New("stream ended without close_notify")

// rawConn is the socket under a connection, as the base's dial function
// returned it. It gives the connection's slot back when it closes, counts what
// was written, and remembers the first failure.
type rawConn struct {
	net.Conn
	c *conn

	written atomic.Int64 // bytes, alerts of TLS not counted
	failure atomic.Pointer[error]
	once    sync.Once   // of Close
	closed  atomic.Bool // Close has begun
	records atomic.Bool // the bytes are TLS records
	strict  atomic.Bool // an end of the stream is a truncation: set after the handshake

	pings time.Duration // silence after which net/http sends a PING; 0: it does not
	heard atomic.Int64  // Unix time in ns of the last byte; kept if pings > 0
}

func (r *rawConn) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if err == nil {
		if r.pings > 0 {
			r.heard.Store(time.Now().UnixNano())
		}
		return n, nil
	}
	if n > 0 && err == io.EOF {
		return n, nil // the next Read says it again
	}
	if first := r.failed(); first != nil && err == io.EOF {
		return n, first // a reset that a Write has met reads as an end
	}
	if err == io.EOF && r.records.Load() {
		if !r.strict.Load() {
			return n, err
		}
		// crypto/tls forgives a bare io.EOF between two records and only that.
		// After close_notify it does not read again.
		err = &net.OpError{Op: "read", Net: r.LocalAddr().Network(), Source: r.LocalAddr(), Addr: r.RemoteAddr(), Err: errTruncated}
	}
	r.fail(err)
	return n, err
}

func (r *rawConn) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	if n > 0 && !(r.records.Load() && isAlert(p)) {
		r.written.Add(int64(n))
	}
	if err != nil {
		r.fail(err)
	}
	return n, err
}

// ReadFrom lets the socket take the bytes from src itself (sendfile) where it
// can.
func (r *rawConn) ReadFrom(src io.Reader) (int64, error) {
	rf, ok := r.Conn.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{r}, src)
	}
	n, err := rf.ReadFrom(src)
	r.written.Add(n)
	return n, err // a failure may be one of src: not remembered
}

// CloseWrite ends the writing half where the socket can do that.
func (r *rawConn) CloseWrite() error {
	if cw, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return fmt.Errorf("pool: CloseWrite on a %T: %w", r.Conn, http.ErrNotSupported)
}

// Close closes the socket and gives its slot back, once; later calls wait for
// that. net/http may call it under a lock of its own.
func (r *rawConn) Close() error {
	err := net.ErrClosed
	r.once.Do(func() {
		r.closed.Store(true)
		err = r.Conn.Close()
		r.c.g.t.socketClosed(r.c)
	})
	return err
}

// unanswered reports whether the socket was closed because a PING got no
// answer. net/http says so to the requests on it alone; after such a silence
// it closes a socket that has not failed for no other reason.
func (r *rawConn) unanswered() bool {
	return r != nil && r.pings > 0 && r.failed() == nil && time.Since(time.Unix(0, r.heard.Load())) >= r.pings
}

// fail remembers the first failure of a socket that was not closed here.
func (r *rawConn) fail(err error) {
	if r.closed.Load() {
		return
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() && !ofKernel(err) {
		return // a deadline says nothing about the peer
	}
	r.failure.CompareAndSwap(nil, &err)
}

// ofKernel reports whether err came from a system call: a timeout then says
// that the kernel gave the connection up (ETIMEDOUT).
func ofKernel(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

func (r *rawConn) failed() error {
	if p := r.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// isAlert reports whether p is one TLS alert record: of type 21 before TLS
// 1.3, and there, where all records look like data, of the only length that an
// alert has and that the first record of a request has not (RFC 8446, section
// 5.2: header 5, alert 2, type 1, tag 16).
func isAlert(p []byte) bool {
	const alert, data = 21, 23
	return len(p) > 0 && (p[0] == alert || p[0] == data && len(p) == 5+2+1+16)
}
