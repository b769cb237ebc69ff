package client

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/sse"
)

// streamConn is one connection of a stream: the call that opens it, or a call
// for each hop where it is redirected. As the http.Client's Transport it makes
// these calls the stream's.
type streamConn struct {
	stream   *Stream
	base     streamBase // of the latest call
	lost     *result    // the end of the connection before, until the first call has taken it; nil at the opening
	again    bool       // it continues an earlier connection
	calls    int        // made
	attempts int        // made, over all calls
	opened   time.Time  // when its response was accepted; zero: it was not
	served   bool       // it gave an event
}

// RoundTrip is one call of the stream.
func (sc *streamConn) RoundTrip(req *http.Request) (*http.Response, error) {
	return sc.stream.t.roundTrip(req, sc)
}

// join makes c one of the connection's calls. It has a target and has not begun.
func (sc *streamConn) join(c *call) {
	sc.calls++
	sc.stream.call = c
	c.detoured().stream = sc
	sc.base = streamBase{base: c.gen.streams, conn: sc}
}

// open makes a connection and parses what it gives. lost is the end of the
// connection before, nil for the first one. The error is io.EOF where the
// server wants no reconnection.
func (s *Stream) open(lost *result) error {
	s.conn = &streamConn{stream: s, lost: lost, again: lost != nil}
	s.client.Transport = s.conn
	s.opening = true
	resp, err := s.client.Do(s.request())
	switch {
	case err == nil:
	case resp != nil: // CheckRedirect refused a redirect; the body is closed
		return s.refuse(resp, withoutQuery(err))
	default:
		return withoutQuery(err)
	}
	s.body = resp.Body
	if s.conn.again && resp.StatusCode == http.StatusNoContent {
		return io.EOF
	}
	if reason := refusal(resp); reason != "" {
		return s.refuse(resp, nil)
	}
	s.opening = false
	s.conn.opened = time.Now()
	s.reader = sse.NewReader(resp.Body, sse.WithTotalBytes(s.cfg.TotalBytes, s.used),
		sse.WithLineBytes(s.cfg.LineBytes), sse.WithEventBytes(s.cfg.EventBytes), sse.WithLastEventID(s.id))
	shown := *resp
	shown.Body = http.NoBody
	s.mu.Lock()
	s.response = &shown
	s.mu.Unlock()
	if s.conn.again {
		s.reconnects++
	}
	if h := s.call.hooks; h != nil && h.StreamOpened != nil {
		h.StreamOpened(s.call, events.StreamOpened{Meta: s.call.meta(), Reconnects: s.reconnects})
	}
	return nil
}

// request makes the request of the next connection.
func (s *Stream) request() *http.Request {
	req := s.req.WithContext(s.ctx)
	h := s.req.Header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for _, f := range [...]struct{ name, value string }{{"Accept", "text/event-stream"}, {"Cache-Control", "no-store"}} {
		if _, given := h[f.name]; !given {
			h.Set(f.name, f.value)
		}
	}
	if s.conn.again {
		h.Del("Last-Event-ID")
		if s.id != "" {
			h.Set("Last-Event-ID", s.id)
		}
		if hasBody(req) {
			req.Body = spentBody{}
		}
	}
	req.Header = h
	return req
}

// spentBody stands for a request body that an earlier call has closed. It is
// never sent: the attempts of a reconnection get theirs from GetBody.
type spentBody struct{}

func (spentBody) Read([]byte) (int, error) { return 0, errBodyRevoked }
func (spentBody) Close() error             { return nil }

// refusedBytes is how much of a refused response's body is kept.
const refusedBytes = 64 << 10

// refuse makes the error for a response that is no event stream, or which
// CheckRedirect did not want, and reads what it says about that.
func (s *Stream) refuse(resp *http.Response, cause error) error {
	e := &StreamError{Reason: events.StreamStatus, Err: cause}
	if cause == nil {
		e.Reason = refusal(resp)
		e.Err = refusedError(resp, e.Reason)
	}
	e.Status = resp.StatusCode
	if e.Reason == events.StreamStatus {
		e.Code = "HTTP_" + strconv.Itoa(e.Status)
	}
	e.response = resp
	var said []byte
	if cause == nil {
		said, _ = io.ReadAll(io.LimitReader(resp.Body, refusedBytes)) // what came of it
	}
	s.drop()
	resp.Body = io.NopCloser(bytes.NewReader(said))
	return e
}

// emitClosed reports the end of the stream to the hooks of its latest call.
func (s *Stream) emitClosed(reason events.StreamReason) {
	c := s.call
	if c == nil || c.hooks == nil || c.hooks.StreamClosed == nil {
		return
	}
	c.hooks.StreamClosed(c, events.StreamClosed{
		Meta: c.meta(), Bytes: s.used, Events: s.events, Reconnects: s.reconnects, Reason: reason, Duration: time.Since(s.start),
	})
}
