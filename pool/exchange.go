package pool

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// exchange is one RoundTrip. It lives on the goroutine of its caller.
type exchange struct {
	t       *Transport
	req     *http.Request
	ctx     context.Context
	trace   *httptrace.ClientTrace // the user's
	attempt *Attempt
	cancel  <-chan struct{} // the request's own; http.Client.Timeout sets it
	hooks   hooks

	key     key
	to      endpoint
	proxy   *url.URL
	flavour flavour

	body     requestBody
	admitted bool   // counted in Transport.inflight
	place    uint64 // in every queue
	waited   time.Duration
	lastWait time.Duration

	dead       int  // reused connections that were dead
	fresh      bool // the next connection is dialled for this request alone
	recoveries int
	before     int64             // bytes on the socket before the last send; -1: not known
	lastClass  events.ErrorClass // what the last dead one answered
	lastErr    error             // with which error

	// What it holds. unwind gives back what is left.
	w    *waiter
	c    *conn
	got  acquired
	s    *sending // the last
	resp *http.Response
	over bool // RoundTrip has a result
}

// run resolves the request's key, then acquires and sends until there is a
// response, or an error that is not recovered.
func (x *exchange) run() (*http.Response, error) {
	if err := x.resolve(); err != nil {
		return x.fail(err)
	}
	for {
		if err := context.Cause(x.ctx); err != nil {
			return x.fail(err)
		}
		if err := x.acquire(); err != nil {
			if x.lastErr != nil && errors.Is(err, ErrClosed) {
				err = x.lastErr // says more
			}
			return x.fail(err)
		}
		resp, err := x.send()
		if err == nil {
			x.over = true
			return resp, nil
		}
		if err = x.recover(err); err != nil {
			return x.fail(err)
		}
	}
}

// resolve finds the key of the request's connections.
func (x *exchange) resolve() error {
	x.body.of(x.req)
	x.trace = httptrace.ContextClientTrace(x.ctx)
	u := x.req.URL
	to, plain := locate(u)
	if !plain {
		if err := validateHost(u.Host); err != nil {
			return err
		}
	}
	x.to = to
	x.hooks.by = x.req
	x.key = key{endpoint: x.to}
	if proxy := x.t.base.Proxy; proxy != nil {
		var err error
		if x.proxy, err = proxy(x.req); err != nil {
			return &DialError{Phase: PhaseProxy, Origin: x.to.origin(), Err: err}
		}
		if x.proxy != nil {
			x.key.proxy = x.proxy.String()
			if proxied(x.proxy, u.Scheme) {
				x.key.endpoint = endpoint{scheme: u.Scheme}
			}
		}
	}
	if upgrades(x.req) && x.t.multiplexes(u.Scheme) {
		x.flavour = onlyHTTP1
	}
	return nil
}

// firstHop returns the host:port that a dial connects to.
func (x *exchange) firstHop() string {
	if x.proxy != nil {
		return endpointOf(x.proxy).addr()
	}
	return x.to.addr()
}

// fail ends the exchange with err.
func (x *exchange) fail(err error) (*http.Response, error) {
	if x.attempt != nil && kindsOf(err)&kindUnsent != 0 {
		x.attempt.NothingWritten = true
	}
	awaitCancel(x.cancel, err)
	return nil, err
}

// unwind gives back what the exchange still holds: everything where it failed,
// or where a function of the user panicked or ended the goroutine.
func (x *exchange) unwind() {
	if x.over {
		return
	}
	x.body.close()
	x.leave()
	if x.resp != nil {
		// Its body holds the connection and ends the request.
		x.admitted = false
		x.resp.Body.Close()
		return
	}
	how := ending{reusable: true, unused: true}
	if s := x.s; s != nil {
		if s.c == x.c && x.body.passed {
			how = s.reuse()
		}
		if !s.unwatch() && s.c == x.c {
			how = ending{cause: events.ConnCanceled}
		}
		s.legacy.end()
	}
	if c := x.c; c != nil {
		x.c = nil
		if x.got.announce {
			x.t.background(func() { x.t.openedIdle(c) })
		}
		x.t.release(x.ctx, x.hooks, c, how)
	}
	if x.admitted {
		x.t.mu.Lock()
		x.t.requestOver()
		x.t.mu.Unlock()
	}
}
