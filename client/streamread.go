package client

import (
	"io"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/sse"
)

// next returns the next event, io.EOF where the iteration ends without an
// error, or the stream's *StreamError. The caller is the owner; it is not any
// more when next returns.
func (s *Stream) next() (sse.Event, error) {
	ev, err := s.read()
	if err == nil {
		s.events++
		s.mu.Lock()
		s.lastID = s.reader.LastEventID()
		s.mu.Unlock()
	} else {
		err = s.ended(err)
	}
	s.put()
	return ev, err
}

// read returns the next event, over a new connection where it must.
func (s *Stream) read() (sse.Event, error) {
	for {
		ev, err := sse.Event{}, overError(s.ctx)
		if err == nil {
			ev, err = s.reader.Next()
		}
		if err == nil {
			s.conn.served = true
			return ev, nil
		}
		if b, ok := s.body.(*callBody); ok && err != io.EOF {
			_ = (*call)(b).failBody(err) // where the body has not told: what ends the call is what the caller gets
		}
		s.drop()
		if !s.resumes(err) {
			if over := overError(s.ctx); over != nil && err == io.EOF && s.cfg.Resume {
				err = over // else it would have gone on
			}
			return sse.Event{}, err
		}
		if err := s.resume(err); err != nil {
			return sse.Event{}, err
		}
	}
}

// ended ends the stream because of err and returns what the iteration ends
// with.
func (s *Stream) ended(err error) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed:
		s.finish(events.StreamClosedByCaller)
		return io.EOF
	case err == io.EOF:
		s.finish(events.StreamEnded)
		return io.EOF
	}
	e := s.terminal(err)
	s.finish(e.Reason)
	return e
}

// take makes the caller the owner; false: the stream has ended.
func (s *Stream) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reason != "":
		return false
	case s.busy:
		panic("client: Stream.Events is ranged over twice at the same time")
	}
	s.busy = true
	return true
}

// put ends the ownership. A Close that came meanwhile takes effect.
func (s *Stream) put() {
	s.mu.Lock()
	s.busy = false
	late := s.closed && s.reason == ""
	if late {
		s.reason = events.StreamClosedByCaller
	}
	s.mu.Unlock()
	if late {
		s.conclude(events.StreamClosedByCaller)
	}
}

// drop closes the current connection, or gives it back where it was read to its
// end.
func (s *Stream) drop() {
	if s.reader != nil {
		s.used += s.reader.Bytes()
		s.id = s.reader.LastEventID()
		if retry, ok := s.reader.Retry(); ok {
			s.retry = s.bounded(retry)
		}
		s.reader = nil
	}
	if body := s.body; body != nil {
		s.body = nil
		body.Close()
	}
}

// finish ends the stream, once. Its caller is the owner.
func (s *Stream) finish(reason events.StreamReason) {
	s.mu.Lock()
	first := s.reason == ""
	if first {
		s.reason = reason
	}
	s.mu.Unlock()
	if first {
		s.conclude(reason)
	}
}

// conclude gives back what the stream holds and reports its end. Its caller has
// set reason, which makes it the last owner.
func (s *Stream) conclude(reason events.StreamReason) {
	dropped := false
	defer func() {
		s.cancel(errStreamClosed)
		if !dropped { // a hook panicked: a second panic cannot hide it
			defer func() { _ = recover() }()
		}
		s.emitClosed(reason)
	}()
	s.drop()
	dropped = true
}

// abort ends a stream whose hook or loop panicked, or ended the goroutine. A
// hook that panics meanwhile cannot hide the first panic.
func (s *Stream) abort() {
	defer func() { _ = recover() }()
	s.finish(events.StreamClosedByCaller)
}
