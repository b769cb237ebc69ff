package pool

import (
	"context"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// hooks emits the events of one request: to the pool's hooks, then to those of
// the request's context. None of its methods may be called under a lock.
type hooks struct {
	t  *Transport
	of *events.Hooks // of the context
	by *http.Request // whose events they are; nil: nobody's
}

func (h hooks) none() bool { return h.of == nil && h.t.cfg.Hooks == nil }

// meta returns on whose behalf an event on c, if that is not nil, happens in
// ctx.
func (h hooks) meta(ctx context.Context, c *conn) events.Meta {
	m := events.MetaFrom(ctx)
	switch {
	case m.Origin != "":
	case c != nil && c.g.key.host != "":
		m.Origin = c.g.origin
	default:
		m.Origin = endpointOf(h.by.URL).origin()
	}
	return m
}

// dialMeta returns the Meta under which the connections that a request dials
// are known when no request uses them.
func (h hooks) dialMeta(ctx context.Context) events.Meta {
	if h.t.cfg.Hooks == nil {
		return events.Meta{}
	}
	return h.meta(ctx, nil)
}

func emit[E any](ctx context.Context, h hooks, pick func(*events.Hooks) func(context.Context, E), e E) {
	if own := h.t.cfg.Hooks; own != nil {
		if f := pick(own); f != nil {
			f(ctx, e)
		}
	}
	if h.of != nil {
		if f := pick(h.of); f != nil {
			f(ctx, e)
		}
	}
}

func pickOpened(h *events.Hooks) func(context.Context, events.ConnOpened) { return h.ConnOpened }
func pickAcquired(h *events.Hooks) func(context.Context, events.ConnAcquired) {
	return h.ConnAcquired
}
func pickReleased(h *events.Hooks) func(context.Context, events.ConnReleased) {
	return h.ConnReleased
}
func pickClosed(h *events.Hooks) func(context.Context, events.ConnClosed) { return h.ConnClosed }
func pickStale(h *events.Hooks) func(context.Context, events.ConnStale)   { return h.ConnStale }
func pickRecovered(h *events.Hooks) func(context.Context, events.ConnRecovered) {
	return h.ConnRecovered
}

// acquired reports the begin of a use of c, and that c was opened where that
// is the request's to tell.
func (h hooks) acquired(ctx context.Context, c *conn, got acquired, wait time.Duration) {
	if h.none() {
		return
	}
	m := h.meta(ctx, c)
	if got.announce {
		emit(ctx, h, pickOpened, events.ConnOpened{Meta: m, Conn: c.id, Protocol: c.protocol(), Duration: c.took})
	}
	emit(ctx, h, pickAcquired, events.ConnAcquired{
		Meta: m, Conn: c.id, Protocol: c.protocol(), Reused: got.reused, Wait: wait, Age: time.Since(c.opened),
	})
}

func (h hooks) released(ctx context.Context, c *conn, handedOn bool, remaining int) {
	if h.none() {
		return
	}
	emit(ctx, h, pickReleased, events.ConnReleased{
		Meta: h.meta(ctx, c), Conn: c.id, HandedOn: handedOn, Age: time.Since(c.opened), Remaining: remaining,
	})
}

func (h hooks) stale(ctx context.Context, c *conn, try int, class events.ErrorClass) {
	if h.none() {
		return
	}
	emit(ctx, h, pickStale, events.ConnStale{Meta: h.meta(ctx, c), Conn: c.id, Try: try, Class: class})
}

func (h hooks) recovered(ctx context.Context, c *conn, n int, class events.ErrorClass, fresh bool) {
	if n == 0 || h.none() {
		return
	}
	emit(ctx, h, pickRecovered, events.ConnRecovered{Meta: h.meta(ctx, c), Conn: c.id, Recoveries: n, Class: class, Fresh: fresh})
}

// closed reports the end of a connection as part of a request.
func (h hooks) closed(ctx context.Context, c *conn) {
	if h.none() {
		return
	}
	emit(ctx, h, pickClosed, events.ConnClosed{
		Meta: h.meta(ctx, c), Conn: c.id, Protocol: c.protocol(), Cause: c.cause, Age: time.Since(c.opened),
	})
}

// closedIdle reports the end of a connection that no request used.
func (t *Transport) closedIdle(c *conn) {
	emit(context.Background(), hooks{t: t}, pickClosed, events.ConnClosed{
		Meta: c.meta, Conn: c.id, Protocol: c.protocol(), Cause: c.cause, Age: time.Since(c.opened),
	})
}

// openedIdle reports a connection whose dial no request waited for any more.
func (t *Transport) openedIdle(c *conn) {
	emit(context.Background(), hooks{t: t}, pickOpened, events.ConnOpened{
		Meta: c.meta, Conn: c.id, Protocol: c.protocol(), Duration: c.took,
	})
}

// background runs f, which calls hooks on a goroutine that is nobody's.
func (t *Transport) background(f func()) {
	if t.cfg.Hooks == nil {
		return
	}
	over := false
	defer func() {
		if !over {
			if v := recover(); v != nil {
				t.panicked(v)
			}
		}
	}()
	f()
	over = true
}

// panicked counts what a function of the user panicked with on a background
// goroutine.
func (t *Transport) panicked(v any) {
	t.hookPanics.Add(1)
	if t.cfg.OnPanic != nil {
		t.cfg.OnPanic(v)
	}
}
