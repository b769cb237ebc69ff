package faultserver

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// readAhead is how many bytes the server takes from a socket before its own
// code has asked for them.
const readAhead = 64 << 10

// errKilled is what the server's own code gets from a connection that a script
// or a test has ended.
var errKilled = errors.New("faultserver: the connection was ended on purpose")

// wireMode says what becomes of bytes.
type wireMode int

const (
	wireOpen wireMode = iota // bytes flow
	wireHole                 // nothing is read from the socket, writes vanish
	wireDead                 // arriving bytes are dropped, reads and writes fail
)

// wire is the byte level of one connection, below TLS. One goroutine, the pump,
// reads the socket, so that the peer's end is seen at once even while nobody
// wants bytes; all faults that hang on bytes happen here.
type wire struct {
	net.Conn // the socket, for the addresses
	c        *conn
	sock     socket
	served   chan struct{} // closed when the connection's own code is done

	writing sync.Mutex // held during a write on the socket; taken before mu

	mu        sync.Mutex // taken after Server.mu, never before
	cond      sync.Cond
	mode      wireMode         // guarded by mu
	buf       []byte           // read ahead; at most readAhead bytes; guarded by mu
	landing   bool             // bytes are between the socket and buf; guarded by mu
	err       error            // how the peer's stream ended; nil while it has not; guarded by mu
	rd        memconn.Deadline // guarded by mu
	readCut   cut              // guarded by mu
	writeCut  cut              // guarded by mu
	race      *How             // how to end at the next byte; nil: not armed; guarded by mu
	cutOff    bool             // a cut or the race was reached: what arrives later is dropped, even if another ends the connection; guarded by mu
	blocked   bool             // a write waits for room; guarded by mu
	noWaiting bool             // a write that has to wait fails instead; guarded by mu
	nread     int64            // bytes taken from the socket, not those dropped after the end; guarded by mu
	nwritten  int64            // bytes given to the socket; guarded by mu
}

// cut ends a connection at a byte.
type cut struct {
	left int64 // bytes that may still pass; 0: not armed
	how  How
}

func newWire(c *conn, sock socket) *wire {
	w := &wire{Conn: sock, c: c, sock: sock, served: make(chan struct{})}
	w.cond.L = &w.mu
	return w
}

// pump moves bytes from the socket to buf until the stream ends, then waits for
// the connection's own code and closes the socket.
func (w *wire) pump() {
	buf := make([]byte, 16<<10)
	for {
		w.mu.Lock()
		mode := w.mode
		n := min(len(buf), readAhead-len(w.buf))
		if mode == wireDead {
			n = len(buf)
		} else if w.readCut.left > 0 {
			n = int(min(int64(n), w.readCut.left))
		}
		w.mu.Unlock()

		var err error
		if mode == wireHole || n == 0 {
			n = 0
			err = w.sock.WaitPeerClosed()
			if err == nil {
				if mode == wireHole {
					err = io.EOF
				} else {
					w.c.peerEnded()
					w.waitForRoom()
				}
			}
		} else {
			n, err = w.sock.Read(buf[:n])
		}
		if n > 0 {
			w.arrived(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The mode or the room has changed. Clearing comes before looking.
			w.sock.SetReadDeadline(time.Time{})
			continue
		}
		if err != nil {
			w.mu.Lock()
			w.err = err
			w.cond.Broadcast()
			w.mu.Unlock()
			w.c.peerEnded()
			break
		}
	}
	<-w.served
	w.sock.Close()
}

func (w *wire) waitForRoom() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mode == wireOpen && len(w.buf) >= readAhead {
		w.cond.Wait()
	}
}

// arrived takes bytes that were read from the socket.
func (w *wire) arrived(p []byte) {
	w.mu.Lock()
	if w.mode != wireOpen || w.cutOff {
		w.mu.Unlock()
		return
	}
	w.nread += int64(len(p))
	if w.race != nil && !isAlert(p) {
		how := *w.race
		w.race, w.cutOff = nil, true
		w.mu.Unlock()
		w.c.killRaced(how)
		return
	}
	if w.readCut.left > 0 {
		if w.readCut.left -= int64(len(p)); w.readCut.left <= 0 {
			how := w.readCut.how
			w.cutOff = true
			w.mu.Unlock()
			w.c.kill(how)
			return
		}
	}
	w.landing = true
	w.mu.Unlock()
	w.c.bytesArrived()
	w.mu.Lock()
	w.landing = false
	if w.mode == wireOpen {
		w.buf = append(w.buf, p...)
		w.cond.Broadcast()
	}
	w.mu.Unlock()
}

// isAlert reports whether p is one TLS alert: what a client that closes a parked
// connection sends is no request. In TLS 1.3 its record looks like data, of a
// length that no request has.
func isAlert(p []byte) bool {
	const alert, data = 21, 23
	return p[0] == alert || p[0] == data && len(p) == 5+2+1+16
}

// Read reads what the pump has brought.
func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		switch {
		case w.mode == wireDead:
			return 0, errKilled
		case w.rd.Expired():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case w.mode == wireHole && w.err != nil:
			return 0, errKilled
		case w.mode == wireHole:
		case len(w.buf) > 0:
			full := len(w.buf) >= readAhead
			n := copy(p, w.buf)
			w.buf = w.buf[n:]
			if len(w.buf) == 0 {
				w.buf = nil
			}
			if full {
				w.cond.Broadcast()
				w.sock.SetReadDeadline(past)
			}
			return n, nil
		case w.err != nil:
			return 0, w.err
		}
		w.cond.Wait()
	}
}

// Write writes p to the socket, up to the armed cut.
func (w *wire) Write(p []byte) (int, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	switch w.mode {
	case wireDead:
		w.mu.Unlock()
		return 0, errKilled
	case wireHole:
		w.mu.Unlock()
		return len(p), nil
	}
	at := w.writeCut
	w.mu.Unlock()
	cutting := at.left > 0 && int64(len(p)) >= at.left
	if cutting {
		p = p[:at.left]
	}
	n, err := w.send(p)
	if err != nil {
		return n, err
	}
	if cutting {
		w.c.kill(at.how)
		return n, errKilled
	}
	return n, nil
}

// send writes to the socket. The caller holds writing.
func (w *wire) send(p []byte) (int, error) {
	n, err := w.sock.WriteBlocking(p, func() {
		w.mu.Lock()
		w.blocked = true
		giveUp := w.noWaiting
		w.mu.Unlock()
		if giveUp {
			w.sock.SetWriteDeadline(past)
		}
		w.c.s.notify()
	})
	w.mu.Lock()
	w.blocked = false
	w.nwritten += int64(n)
	if w.writeCut.left > 0 {
		w.writeCut.left = max(w.writeCut.left-int64(n), 0)
	}
	w.mu.Unlock()
	return n, err
}

// sendLast writes p whatever the mode is, giving up if it has to wait.
func (w *wire) sendLast(p []byte) {
	w.giveUpWaiting()
	w.writing.Lock()
	defer w.writing.Unlock()
	w.send(p)
}

// giveUpWaiting makes writes fail that wait for the client to read.
func (w *wire) giveUpWaiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noWaiting = true
	if w.blocked {
		w.sock.SetWriteDeadline(past)
	}
}

// setMode changes what becomes of bytes. A dead wire stays dead.
func (w *wire) setMode(m wireMode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode == wireDead || w.mode == m {
		return
	}
	w.mode = m
	w.buf = nil
	w.race = nil
	w.readCut, w.writeCut = cut{}, cut{}
	w.cond.Broadcast()
	w.sock.SetReadDeadline(past)
}

func (w *wire) arm(race How) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.race = &race
}

func (w *wire) cutWrite(n int64, how How) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeCut = cut{n, how}
}

// cutRead arms a cut and makes the pump look at it.
func (w *wire) cutRead(n int64, how How) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readCut = cut{n, how}
	w.sock.SetReadDeadline(past)
}

// pending reports whether bytes wait to be read, or are about to.
func (w *wire) pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.landing || len(w.buf) > 0
}

func (w *wire) isBlocked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blocked
}

func (w *wire) bytes() (read, written int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nread, w.nwritten
}

// Close is what crypto/tls and takers of a hijacked connection call.
func (w *wire) Close() error {
	w.c.kill(FIN)
	return nil
}

// CloseWrite sends FIN, as net.TCPConn does.
func (w *wire) CloseWrite() error { return w.sock.CloseWrite() }

func (w *wire) SetDeadline(t time.Time) error {
	w.SetReadDeadline(t)
	return w.SetWriteDeadline(t)
}

func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rd.Set(t, &w.mu, w.cond.Broadcast)
	w.cond.Broadcast()
	return nil
}

func (w *wire) SetWriteDeadline(t time.Time) error { return w.sock.SetWriteDeadline(t) }
