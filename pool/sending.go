package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// sending is one send of a request on one connection, with the body of its
// response. It is the context that net/http sees: the request's, but with a
// trace of the pool's own, and on HTTP/1 without an end. There a client
// connection hangs a child on the context and leaves it behind when it fails;
// so the pool itself closes the connection when the request's context ends,
// which is all that net/http would do.
type sending struct {
	ctx    context.Context // of the request, which after an error is its caller's again while net/http still asks
	c      *conn
	probe  *probe        // nil: no trace
	stop   func() bool   // of the watch on ctx; false: it has closed the connection. nil: none
	legacy *legacyCancel // nil: none

	req    http.Request          // what is sent: a copy of the request
	rc     io.ReadCloser         // the response's body as net/http made it
	sticky atomic.Pointer[error] // the error that Read has returned; nil: io.EOF
	state  atomic.Uint32         // bits, see below
	closes bool                  // the request or its response asked to end the connection
	traced bool                  // the context holds a trace of the user
	stream bool                  // the response's body is one half of a tunnel (CONNECT)
}

// The bits of sending.state. None is ever cleared.
const (
	useOver    uint32 = 1 << iota // the use of the connection has ended
	bodyClosed                    // Close was called on the body
	bodyEnded                     // Read has returned an error, which is in sticky
)

func (s *sending) Deadline() (time.Time, bool) { return s.ctx.Deadline() }
func (s *sending) Err() error                  { return s.ctx.Err() }

func (s *sending) Done() <-chan struct{} {
	if !s.c.h2 {
		return nil
	}
	return s.ctx.Done()
}

func (s *sending) Value(k any) any {
	if s.probe != nil {
		if v := s.probe.ctx.Value(k); v != nil {
			return v
		}
	}
	return s.ctx.Value(k)
}

func (s *sending) hooks() hooks { return hooks{t: s.c.g.t, of: events.From(s.ctx), by: &s.req} }

func (s *sending) endpoint() endpoint {
	if to := s.c.g.key.endpoint; to.host != "" {
		return to
	}
	return endpointOf(s.req.URL) // the connection serves any host
}

// unwatch ends the watch on the request's context, and reports whether the
// connection is untouched by it.
func (s *sending) unwatch() bool { return s.stop == nil || s.stop() }

// canceled returns the cause of the end of the request's context if that is why
// the request failed with err, else nil. On HTTP/1 it is whenever the context
// has ended, for that closes the connection; on HTTP/2 err says so.
func (s *sending) canceled(err error) error {
	if s.c.h2 && !errors.Is(err, s.Err()) {
		return nil
	}
	return context.Cause(s.ctx)
}

// gotFirstByte reports whether a byte of a response has arrived, as far as is
// known.
func (s *sending) gotFirstByte() bool { return s.probe != nil && s.probe.first.Load() }

// send sends the request on x.c. On success the connection is the response's,
// or has been released; on error x.c is still held.
func (x *exchange) send() (*http.Response, error) {
	c := x.c
	s := &sending{ctx: x.ctx, c: c}
	x.s = s
	switch {
	case x.trace != nil:
		trace := *x.trace
		trace.PutIdleConn = nil // the pool calls it: it knows
		s.probe, s.traced = newProbe(&trace), true
	case x.got.reused || x.got.parked || x.attempt != nil:
		s.probe = probes.Get().(*probe)
	}
	if !c.h2 && x.ctx.Done() != nil {
		s.stop = context.AfterFunc(x.ctx, c.abort)
	}
	req := &s.req
	*req = *x.req.WithContext(s) // its copy stays on the stack
	req.Body = x.body.current
	if x.cancel != nil {
		s.legacy = relay(x.cancel)
		req.Cancel = s.legacy.to //nolint:staticcheck // http.Client.Timeout sets it
	}
	x.before = c.written()
	if !c.h2 {
		// With a reservation RoundTrip need not ask whether there is room. If
		// there is none, RoundTrip says why, or waits.
		_ = c.cc.Reserve()
	}
	resp, err := c.cc.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.answered(resp)
	return resp, nil
}

// answered passes the connection on to the response's body, or releases it
// where there is none.
func (x *exchange) answered(resp *http.Response) {
	s, c := x.s, x.c
	resp.Request = x.req
	s.closes = resp.Close || wantsClose(x.req)
	x.body.passed = true
	if p := s.probe; p != nil && !s.traced && p.first.Swap(false) {
		probes.Put(p)
	}
	if x.attempt != nil {
		x.attempt.FirstByte = true
		x.attempt.Protocol = protocolOf(resp)
	}
	if x.recoveries > 0 {
		x.t.recovered(c.g)
	}
	switch {
	case isEmptyBody(resp.Body):
		x.hooks.recovered(x.ctx, c, x.recoveries, x.lastClass, x.fresh)
		x.c, x.admitted = nil, false
		s.release(s.reuse())
		return
	case resp.StatusCode == http.StatusSwitchingProtocols:
		s.unwatch()
		s.stop = nil
		resp.Body = newStream(s, resp.Body)
	default:
		s.rc, s.stream = resp.Body, x.req.Method == http.MethodConnect
		resp.Body = (*responseBody)(s)
	}
	x.c, x.admitted, x.resp = nil, false, resp
	x.hooks.recovered(x.ctx, c, x.recoveries, x.lastClass, x.fresh)
}

func protocolOf(resp *http.Response) string {
	switch {
	case resp.ProtoMajor == 2:
		return "2"
	case resp.ProtoMinor == 0:
		return "1.0"
	}
	return "1.1"
}

// wantsClose reports whether req asks to end its connection.
func wantsClose(req *http.Request) bool {
	if req.Close {
		return true
	}
	for _, v := range req.Header["Connection"] {
		if hasToken(v, "close") {
			return true
		}
	}
	return false
}
