package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/events"
)

// stream is the body of a 101 response: the connection itself, which is the
// caller's until Close.
type stream struct {
	s    *sending
	rwc  io.ReadWriteCloser
	over atomic.Bool
}

// newStream wraps the body of a 101 response, which net/http makes writable.
func newStream(s *sending, rc io.ReadCloser) io.ReadCloser {
	rwc, ok := rc.(io.ReadWriteCloser)
	if !ok {
		s.rc, s.stream = rc, true
		return (*responseBody)(s)
	}
	return &stream{s: s, rwc: rwc}
}

func (st *stream) Read(p []byte) (int, error) {
	n, err := st.rwc.Read(p)
	if err != nil && err != io.EOF {
		err = st.s.explain(OpStream, err)
	}
	return n, err
}

func (st *stream) Write(p []byte) (int, error) {
	n, err := st.rwc.Write(p)
	if err != nil {
		err = st.s.explain(OpStream, err)
	}
	return n, err
}

// CloseWrite ends the writing half where the connection can do that.
func (st *stream) CloseWrite() error {
	cw, ok := st.rwc.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("pool: CloseWrite: %w", http.ErrNotSupported)
	}
	return cw.CloseWrite()
}

// Close closes the connection.
func (st *stream) Close() error {
	err := st.rwc.Close()
	if !st.over.CompareAndSwap(false, true) {
		return err
	}
	st.s.release(ending{cause: events.ConnUpgraded})
	return err
}

// Reasons that a user's trace gets in PutIdleConn.
var (
	errIdleLimit  = errors.New("pool: too many idle connections")
	errIdleClosed = errors.New("pool: idle connections were closed")
	errIdleGone   = errors.New("pool: connection is in bad state")
)

// putIdleError returns why a connection that could be reused was retired, nil
// if it was not.
func putIdleError(cause events.ConnCause) error {
	switch cause {
	case "":
		return nil
	case events.ConnLimit:
		return errIdleLimit
	case events.ConnShutdown:
		return errIdleClosed
	}
	return errIdleGone
}
