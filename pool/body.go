package pool

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"reflect"

	"github.com/plimsoll-http/plimsoll/events"
)

// responseBody is the body of a response. It ends the use of its connection at
// EOF, at the first error, or when it is closed, whichever comes first.
type responseBody sending

func (b *responseBody) op() string {
	if b.stream {
		return OpStream
	}
	return OpResponseBody
}

// Read reads from the body. An error, EOF included, is returned again by later
// calls.
func (b *responseBody) Read(p []byte) (int, error) {
	if b.state.Load()&(bodyEnded|bodyClosed) == bodyEnded {
		if err := b.sticky.Load(); err != nil {
			return 0, *err
		}
		return 0, io.EOF
	}
	n, err := b.rc.Read(p)
	if err == nil || b.state.Load()&bodyClosed != 0 {
		return n, err
	}
	s := (*sending)(b)
	if err != io.EOF {
		if cause := s.canceled(err); cause != nil {
			err = cause
		} else {
			err = s.explain(b.op(), err)
		}
	}
	if err != io.EOF {
		b.stick(err)
		b.legacy.settle(err)
	}
	if b.state.Or(bodyEnded|useOver)&useOver == 0 {
		s.end(err)
	}
	return n, err
}

// stick keeps the first error of Read. It is a function of its own because its
// err is on the heap.
func (b *responseBody) stick(err error) { b.sticky.CompareAndSwap(nil, &err) }

// Close ends the body. A connection whose body was not read to its end serves
// no other request on HTTP/1, and is closed.
func (b *responseBody) Close() error {
	before := b.state.Or(bodyClosed | useOver)
	if before&useOver != 0 {
		if before&bodyClosed != 0 || b.c.h2 {
			return nil // Read has closed it
		}
		return b.rc.Close()
	}
	err := b.rc.Close()
	cause := events.ConnCanceled
	if b.stream {
		cause = events.ConnUpgraded
	}
	(*sending)(b).release(ending{reusable: b.c.h2, cause: cause})
	return err
}

// end ends the use of the connection after the first error of the body.
func (s *sending) end(err error) {
	spare := s.c.h2 && err == io.EOF && s.forgettable()
	if s.c.h2 && !spare {
		s.rc.Close() // at EOF it waits until the stream is forgotten
	}
	if err == io.EOF {
		how := s.reuse()
		how.spare = spare
		s.release(how)
		return
	}
	cause := events.ConnError
	if s.Err() != nil {
		cause = events.ConnCanceled
	}
	// An HTTP/2 connection outlives its streams.
	s.release(ending{reusable: s.c.h2, cause: s.cause(err, cause)})
}

// spareStreams is how many more streams an HTTP/2 connection must take for the
// end of one not to be awaited.
const spareStreams = 8

// forgettable reports whether the pool need not wait, at the end of a response,
// until net/http has forgotten the stream, which costs a switch of goroutines.
// Until then the stream counts against the connection's limit, so that a
// connection close to its limit would look full when it is not. With streams to
// spare that many others must begin meanwhile for that to happen; when one of
// them ends, the wait is made, and who queues is served. A request whose body
// may still be on its way has to be ended.
func (s *sending) forgettable() bool {
	return (s.req.Body == nil || s.req.Body == http.NoBody) && s.c.cc.Available() >= spareStreams
}

// reuse judges the connection at the end of a response.
func (s *sending) reuse() ending {
	switch {
	case s.closes:
		return ending{cause: events.ConnNoReuse}
	case s.stream:
		return ending{reusable: s.c.h2, cause: events.ConnUpgraded}
	case !s.c.h2 && s.c.cc.Available() != 1:
		// It is closing, or the request is still being written.
		return ending{cause: events.ConnError}
	}
	return ending{reusable: true, spare: !s.c.h2} // available, so not closed
}

// release ends the use of the connection, and the request.
func (s *sending) release(how ending) {
	if !s.unwatch() {
		how = ending{cause: events.ConnCanceled}
	}
	how.last = true
	cause := s.c.g.t.release(s.ctx, s.hooks(), s.c, how)
	s.legacy.end()
	if body := s.req.Body; body != nil && !how.reusable {
		// The connection has ended. net/http may hang in the body's Read, or
		// have given up before it looked at the request.
		body.Close()
	}
	if s.traced && how.reusable && !s.c.h2 && cause != events.ConnNoReuse {
		if trace := httptrace.ContextClientTrace(s.ctx); trace.PutIdleConn != nil {
			trace.PutIdleConn(putIdleError(cause))
		}
	}
}

// isEmptyBody reports whether reading from a body never touches a connection:
// http.NoBody and its like of HTTP/2 are the only ones without a size.
func isEmptyBody(b io.ReadCloser) bool {
	return b == http.NoBody || reflect.TypeOf(b).Size() == 0
}
