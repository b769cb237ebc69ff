package pool

import (
	"io"
	"net/http"
	"reflect"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/events"
)

// responseBody ends the use of a connection when the body that it wraps ends:
// at EOF, at the first error, or when it is closed.
type responseBody struct {
	s      *sending
	rc     io.ReadCloser
	op     string                // OpResponseBody, or OpStream after CONNECT
	over   atomic.Bool           // the use of the connection has ended
	closed atomic.Bool           // Close was called
	ended  atomic.Bool           // Read has returned an error
	sticky atomic.Pointer[error] // which; nil: io.EOF
}

// Read reads from the body. An error, EOF included, is returned again by
// later calls.
func (b *responseBody) Read(p []byte) (int, error) {
	if b.ended.Load() && !b.closed.Load() {
		if err := b.sticky.Load(); err != nil {
			return 0, *err
		}
		return 0, io.EOF
	}
	n, err := b.rc.Read(p)
	if err == nil {
		return n, nil
	}
	if b.closed.Load() {
		return n, err
	}
	if err != io.EOF {
		err = b.s.explain(b.op, err)
	}
	b.stick(err)
	if b.over.CompareAndSwap(false, true) {
		b.end(err)
	}
	awaitCancel(b.s.legacy, err)
	return n, err
}

// stick keeps the first error of Read.
func (b *responseBody) stick(err error) {
	if err != io.EOF {
		b.sticky.CompareAndSwap(nil, &err)
	}
	b.ended.Store(true)
}

// end ends the use after Read's first error.
func (b *responseBody) end(err error) {
	s := b.s
	if err == io.EOF {
		if s.c.h2 {
			b.rc.Close() // it waits until the stream is forgotten
		}
		how := s.reuse()
		s.end()
		s.release(how)
		return
	}
	cause := events.ConnError
	if s.reqCtx.Err() != nil {
		cause = events.ConnCanceled
	}
	if s.c.h2 {
		b.rc.Close()
	}
	s.end()
	// An HTTP/2 connection outlives its streams.
	s.release(ending{reusable: s.c.h2, cause: s.cause(err, cause)})
}

// Close ends the body. A connection whose body was not read to its end serves
// no other request on HTTP/1, and is closed.
func (b *responseBody) Close() error {
	b.closed.Store(true)
	if !b.over.CompareAndSwap(false, true) {
		return b.rc.Close()
	}
	s := b.s
	err := b.rc.Close()
	s.end()
	cause := events.ConnCanceled
	if b.op == OpStream {
		cause = events.ConnUpgraded
	}
	s.release(ending{reusable: s.c.h2, cause: cause})
	return err
}

// reuse judges the connection at the end of a response.
func (s *sending) reuse() ending {
	switch {
	case s.closes:
		return ending{cause: events.ConnNoReuse}
	case s.body.op == OpStream:
		return ending{cause: events.ConnUpgraded, reusable: s.c.h2}
	case !s.c.h2 && s.c.cc.Available() != 1:
		// It is closing, or the request is still being written.
		return ending{cause: events.ConnError}
	}
	return ending{reusable: true}
}

// release ends the use of the connection, and the request.
func (s *sending) release(how ending) {
	how.last = true
	cause := s.c.g.t.release(s.reqCtx, s.hooks, s.c, how)
	if s.putIdle != nil && how.reusable && cause != events.ConnNoReuse {
		s.putIdle(putIdleError(cause))
	}
}

// isEmptyBody reports whether reading from a body never touches a connection:
// http.NoBody and its like of HTTP/2 are the only ones without a size.
func isEmptyBody(b io.ReadCloser) bool {
	return b == http.NoBody || reflect.TypeOf(b).Size() == 0
}
