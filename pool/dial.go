package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// dialing is a dial in progress, on a goroutine of its own. It outlives the
// request that it was started for: its connection may serve another one.
type dialing struct {
	c      *conn
	to     endpoint
	proxy  *url.URL
	ctx    context.Context // carries the values of the request's context
	cancel context.CancelCauseFunc
	w      *waiter // guarded by Transport.mu: the waiter it was started for; nil once that is served or gone
	fresh  bool    // for that waiter alone

	// Set by the trace and the dial functions, on goroutines of net/http.
	handshaking atomic.Bool // a TLS handshake has begun and not succeeded
	late        *time.Timer // ends the dial when the handshake on conn.over takes too long
	handshakes  atomic.Int32
	alpn        atomic.Pointer[string] // negotiated by the last handshake
}

// dialingKey is the context key under which the dial functions of the private
// base find their dialing.
type dialingKey struct{}

type dialContext struct {
	context.Context
	d *dialing
}

func (c *dialContext) Value(k any) any {
	if k == (dialingKey{}) {
		return c.d
	}
	return c.Context.Value(k)
}

func dialingFrom(ctx context.Context) *dialing {
	d, _ := ctx.Value(dialingKey{}).(*dialing)
	return d
}

// startDial takes a slot of g and dials on behalf of w. Transport.mu is held.
func (t *Transport) startDial(g *group, w *waiter) {
	g.slots++
	g.count.Dials++
	c := &conn{g: g, id: lastConn.Add(1), flavour: w.flavour, meta: w.meta, slot: true}
	c.meta.Call = 0
	c.abort = c.close
	d := &dialing{c: c, to: w.to, proxy: w.proxy, w: w, fresh: w.fresh}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(w.ctx))
	d.ctx, d.cancel = &dialContext{ctx, d}, cancel
	g.dials = append(g.dials, d)
	if g.shared == nil && !w.fresh && w.flavour == anyProtocol && t.keepAlives() && g.speaks != speaksHTTP1 && t.multiplexes(g.key.scheme) {
		g.shared = d
	}
	w.dial = d
	w.enter(dialling)
	go t.dial(d)
}

func (t *Transport) dial(d *dialing) {
	over := false
	defer func() {
		if over {
			return
		}
		// A function of the user panicked, or ended the goroutine.
		v := recover()
		d.abandon()
		t.dialFailed(d, nil, true, v)
	}()
	began := time.Now()
	c := d.c
	cc, err := t.privateBase(variant{c.flavour, d.proxy != nil && d.proxy.Scheme == "https"}).NewClientConn(httptrace.WithClientTrace(d.ctx, d.trace()), d.to.scheme, d.to.addr())
	over = true
	if err != nil {
		err = d.explain(err)
		d.abandon()
		t.dialFailed(d, err, false, nil)
		return
	}
	alpn := d.alpn.Load()
	c.tls = alpn != nil || c.g.key.scheme == "https"
	c.h2 = alpn != nil && *alpn == "h2" || !c.tls && t.multiplexes("http") && c.flavour == anyProtocol
	c.took = time.Since(began)
	t.dialled(d, cc)
	if c.raw == nil {
		cc.SetStateHook(c.watch)
	}
}

// trace follows the TLS handshakes: only it tells their errors from others.
func (d *dialing) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() {
			d.handshaking.Store(true)
			if limit := d.c.g.t.base.TLSHandshakeTimeout; limit > 0 && d.c.over != nil {
				d.late = time.AfterFunc(limit, func() { d.cancel(handshakeTimeoutError{}) })
			}
		},
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			if d.late != nil {
				d.late.Stop()
			}
			if err != nil {
				return
			}
			d.handshaking.Store(false)
			d.handshakes.Add(1)
			d.alpn.Store(&s.NegotiatedProtocol)
			if r := d.c.raw; r != nil {
				r.records.Store(true)
				r.strict.Store(!d.c.g.t.cfg.AllowTruncated)
			}
		},
	}
}

// abandon closes what a failed dial has left open.
func (d *dialing) abandon() {
	d.cancel(nil)
	switch {
	case d.c.raw != nil:
		d.c.raw.Close()
	case d.c.nc != nil:
		d.c.nc.Close()
	}
}

// dialled publishes the connection of d: it serves the waiter that d was
// started for, or one that came before it and has no dial; on HTTP/2 others as
// far as it has room; else it idles.
func (t *Transport) dialled(d *dialing, cc *http.ClientConn) {
	var drop closing
	now := time.Now()
	c := d.c
	t.mu.Lock()
	g := c.g
	c.cc, c.opened = cc, now
	t.dialOver(d)
	if c.flavour == anyProtocol {
		if g.speaks = speaksHTTP1; c.h2 {
			g.speaks = speaksHTTP2
		}
	}
	g.add(c)
	if t.state == closed || !c.slot && d.w == nil {
		c.retire(events.ConnShutdown)
		t.mu.Unlock()
		c.close()
		t.mu.Lock()
		t.pump(g) // those that shared the dial; its slot may have gone before it
		t.tidy(g)
		t.mu.Unlock()
		return
	}
	t.settle(d, c)
	if c.uses == 0 || c.h2 && t.keepAlives() {
		t.offer(c, now, &drop)
	}
	if !c.slot {
		c.retire("") // died already: the request on it learns why
	}
	announce := !c.announced
	c.announced = true
	t.pump(g)
	t.tidy(g)
	t.mu.Unlock()

	drop.close()
	t.background(func() {
		if announce {
			t.openedIdle(c)
		}
		drop.emit(context.Background(), hooks{t: t}, nil)
	})
}

// settle gives the connection of d to its first user, if it has one.
// Transport.mu is held.
func (t *Transport) settle(d *dialing, c *conn) {
	w := d.w
	if w == nil {
		return
	}
	if !w.fresh {
		for e := c.g.queue.first; e != nil && e != w; e = e.next {
			if e.phase == queueing && !e.fresh && c.g.fits(c, e.flavour) {
				// It lost its connection, not its place.
				d.w, w.dial = nil, nil
				w.enter(queueing)
				w = e
				break
			}
		}
	}
	w.serve(c)
}

// dialFailed gives the slot of d back, and its error to the waiter that it was
// started for and to those that shared it. With panicked, v is what a function
// of the user panicked with, nil if it ended the goroutine.
func (t *Transport) dialFailed(d *dialing, err error, panicked bool, v any) {
	t.mu.Lock()
	g := d.c.g
	if d.c.slot {
		d.c.slot = false
		g.slots--
	}
	w := d.w
	var sharers []*waiter
	for e := g.queue.first; e != nil; e = e.next {
		if e.shared == d {
			sharers = append(sharers, e)
		}
	}
	t.dialOver(d)
	if w != nil {
		w.panicked, w.panicVal = panicked, v
		w.fail(err)
	}
	if !panicked {
		for _, e := range sharers {
			e.fail(err)
		}
	}
	t.pump(g)
	t.tidy(g)
	t.mu.Unlock()
	if panicked && w == nil && v != nil {
		t.panicked(v)
	}
}

// dialOver takes d out of its group. Those that shared it wait for a slot
// again, until they are served. Transport.mu is held.
func (t *Transport) dialOver(d *dialing) {
	g := d.c.g
	i := slices.Index(g.dials, d)
	g.dials = slices.Delete(g.dials, i, i+1)
	if g.shared == d {
		g.shared = nil
	}
	for w := g.queue.first; w != nil; w = w.next {
		if w.shared == d {
			w.shared = nil
			w.enter(queueing)
		}
	}
}

// explain gives the error of a dial its type.
func (d *dialing) explain(err error) error {
	to := d.to.origin()
	if cause := context.Cause(d.ctx); cause == error(handshakeTimeoutError{}) { //nolint:errorlint // a sentinel of this package, never wrapped
		err = cause
	}
	if d.handshaking.Load() || isHandshakeError(err) {
		return &TLSHandshakeError{Origin: to, Err: err}
	}
	var dns *net.DNSError
	switch {
	case d.proxy == nil && d.handshakes.Load() > 0:
		// The handshake succeeded and the begin of HTTP/2 failed.
		return &TLSTransportError{Op: OpRoundTrip, Origin: to, Truncated: errors.Is(err, errTruncated), Err: err}
	case d.proxy != nil:
		return &DialError{Phase: PhaseProxy, Origin: to, Err: err}
	case errors.As(err, &dns):
		return &DialError{Phase: PhaseDNS, Origin: to, Err: err}
	}
	return &DialError{Phase: PhaseConnect, Origin: to, Err: err}
}
