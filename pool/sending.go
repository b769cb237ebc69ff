package pool

import (
	"context"
	"net/http"
	"time"
)

// sending is one send of a request on one connection. It is the context of
// that send: the request's, with a trace of the pool's own in place of the
// user's, and, on HTTP/1, an end of its own.
type sending struct {
	ctx    context.Context
	cancel context.CancelFunc // nil: nothing to cancel
	probe  *probe             // nil: no trace of its own

	c       *conn
	before  int64           // bytes on the socket before the send; -1: not known
	reqCtx  context.Context // of the request
	hooks   hooks
	closes  bool            // the request, or its response, ends the connection
	putIdle func(error)     // of the user's trace
	legacy  <-chan struct{} // the request's Cancel
	body    responseBody
}

func (s *sending) Deadline() (time.Time, bool) { return s.ctx.Deadline() }
func (s *sending) Done() <-chan struct{}       { return s.ctx.Done() }
func (s *sending) Err() error                  { return s.ctx.Err() }

func (s *sending) Value(k any) any {
	if s.probe != nil {
		if v := s.probe.ctx.Value(k); v != nil {
			return v
		}
	}
	return s.ctx.Value(k)
}

// end frees what the send's context holds.
func (s *sending) end() {
	if s.cancel != nil {
		s.cancel()
	}
}

// gotFirstByte reports whether a byte of a response has arrived, as far as is
// known.
func (s *sending) gotFirstByte() bool { return s.probe != nil && s.probe.first.Load() }

// nothingWritten reports whether certainly no byte was written to the socket
// since the send began. It can tell for HTTP/1 alone.
func (s *sending) nothingWritten() bool {
	return !s.c.h2 && s.before >= 0 && s.c.written() == s.before
}

// send sends the request on x.c. On success the connection is the response's,
// or has been released; on error x.c is still held.
func (x *exchange) send() (*http.Response, error) {
	c := x.c
	s := &sending{ctx: x.ctx, c: c, reqCtx: x.ctx, hooks: x.hooks, legacy: x.req.Cancel}
	switch {
	case x.trace != nil:
		trace := *x.trace
		trace.PutIdleConn = nil // the pool calls it: it knows
		s.probe = newProbe(&trace)
		if !c.h2 {
			s.putIdle = x.trace.PutIdleConn
		}
	case x.got.reused || x.got.parked || x.attempt != nil:
		s.probe = probes.Get().(*probe)
	}
	if !c.h2 && x.ctx.Done() != nil {
		// A client connection that fails leaves a child of its context behind:
		// it must not be a child of the caller's.
		s.ctx, s.cancel = context.WithCancel(x.ctx)
	}
	req := x.req.WithContext(s)
	req.Body = x.body.next()
	s.before = c.written()
	x.s = s
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
	x.body.sent()
	if p := s.probe; p != nil && p.user == nil && x.trace == nil && p.first.Swap(false) {
		probes.Put(p)
	}
	if x.attempt != nil {
		x.attempt.FirstByte = true
		x.attempt.Protocol = protocolOf(resp)
		x.attempt.Recoveries = x.recoveries
	}
	if x.recoveries > 0 {
		x.t.recovered(c.g)
	}
	switch {
	case isEmptyBody(resp.Body):
		x.hooks.recovered(x.ctx, c, x.recoveries, x.lastClass, x.fresh)
		x.c, x.admitted = nil, false
		s.end()
		s.release(s.reuse())
		return
	case resp.StatusCode == http.StatusSwitchingProtocols:
		s.end()
		resp.Body = newStream(s, resp.Body)
	default:
		s.body = responseBody{s: s, rc: resp.Body, op: OpResponseBody}
		if x.req.Method == http.MethodConnect {
			s.body.op = OpStream
		}
		resp.Body = &s.body
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
