package pool

import (
	"context"
	"net/http/httptrace"
	"runtime"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// acquired says how a request got its connection.
type acquired struct {
	reused   bool          // it had served before
	parked   bool          // it idled
	idleTime time.Duration // for how long
	announce bool          // ConnOpened is the request's to emit
}

// acquire gets a connection for x: an idle one, else one that is dialled or
// becomes free while x waits, whichever comes first. On success x.c holds it.
func (x *exchange) acquire() error {
	if x.trace != nil && x.trace.GetConn != nil {
		x.trace.GetConn(x.firstHop())
	}
	for {
		err := x.tryAcquire()
		if err != nil {
			return err
		}
		if !x.diedOnItsWay() {
			break
		}
		x.leaveDead()
	}
	c := x.c
	if x.attempt != nil {
		x.attempt.Conn, x.attempt.Reused, x.attempt.Fresh = c.id, x.got.reused, x.fresh
		x.attempt.Protocol = c.protocol()
	}
	if x.trace != nil && x.trace.GotConn != nil {
		x.trace.GotConn(httptrace.GotConnInfo{Conn: c.nc, Reused: x.got.reused, WasIdle: x.got.parked, IdleTime: x.got.idleTime})
	}
	got := x.got
	x.got.announce = false
	x.hooks.acquired(x.ctx, c, got, x.lastWait)
	return nil
}

// diedOnItsWay reports whether x has got a connection that another one should
// replace before anything is sent. One that was just dialled is not replaced: a
// server that drops every connection would be dialled for ever.
func (x *exchange) diedOnItsWay() bool {
	return (x.got.reused || x.got.parked) && x.c.dead()
}

// leaveDead gives back a connection that died on its way to x, which keeps its
// place.
func (x *exchange) leaveDead() {
	c := x.c
	x.c = nil
	if x.got.announce {
		x.t.background(func() { x.t.openedIdle(c) })
	}
	x.t.release(x.ctx, x.hooks, c, ending{cause: events.ConnPeer, unused: true})
}

func (x *exchange) tryAcquire() error {
	t := x.t
	var (
		drop closing
		w    *waiter
	)
	var now time.Time
	if t.base.IdleConnTimeout > 0 || t.cfg.MaxConnLifetime > 0 || x.trace != nil {
		now = time.Now()
	}
	x.lastWait = 0
	t.mu.Lock()
	if t.state == closed || t.state == draining && !x.admitted {
		t.mu.Unlock()
		return ErrClosed
	}
	if !x.admitted {
		x.admitted = true
		t.inflight++
		t.place++
		x.place = t.place
	}
	t.noPark = false
	g := t.group(x.key)
	if !x.fresh && t.keepAlives() {
		if c := t.takeIdle(g, x.flavour, now, &drop); c != nil {
			x.got = acquired{reused: c.served > 0, parked: c.idle}
			if c.idle {
				x.got.idleTime = now.Sub(c.idleAt)
			}
			c.begin()
			x.c = c
		}
	}
	if x.c == nil {
		w = &waiter{
			g: g, place: x.place, flavour: x.flavour, fresh: x.fresh,
			ctx: x.ctx, meta: x.hooks.dialMeta(x.ctx), to: x.to, proxy: x.proxy, wake: make(chan struct{}, 1),
		}
		g.queue.insert(w)
		x.w = w
		t.pump(g)
		t.makeRoom(w, &drop)
		if w.phase == queueing {
			w.enter(queueing)
		}
	}
	t.mu.Unlock()

	drop.close()
	drop.emit(x.ctx, x.hooks, nil)
	if w == nil {
		return nil
	}
	return x.await(w)
}

// await waits until w has a connection or an error, or the request ends.
func (x *exchange) await(w *waiter) error {
	var (
		limit <-chan time.Time
		timer *time.Timer
		told  bool
	)
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		x.t.mu.Lock()
		p := w.phase
		x.t.mu.Unlock()
		if queues := p == queueing; queues != told {
			told = queues
			if x.attempt != nil && x.attempt.Watch != nil {
				x.attempt.Watch.Queueing(queues)
			}
		}
		if p == served {
			return x.accept(w)
		}
		if d := x.t.cfg.MaxConnWait; d > 0 {
			if p == queueing && timer == nil {
				timer = time.NewTimer(max(0, d-x.waited-x.queuedSoFar(w)))
				limit = timer.C
			} else if p != queueing && timer != nil {
				timer.Stop()
				timer, limit = nil, nil
			}
		}
		var err error
		select {
		case <-w.wake:
			continue
		case <-x.ctx.Done():
			err = context.Cause(x.ctx)
		case <-x.cancel:
			err = errCanceled
		case <-limit:
			timer, limit = nil, nil
			if err = x.overdue(w); err == nil {
				continue // it was served, or dials, just now
			}
		}
		x.leave()
		if told && x.attempt != nil && x.attempt.Watch != nil {
			x.attempt.Watch.Queueing(false)
		}
		return err
	}
}

// accept takes the result of w, which has been served.
func (x *exchange) accept(w *waiter) error {
	x.w = nil
	x.lastWait = w.queued
	x.addWait(w.queued)
	switch {
	case w.panicked && w.panicVal == nil:
		runtime.Goexit()
	case w.panicked:
		panic(w.panicVal)
	case w.err != nil:
		if err := context.Cause(x.ctx); err != nil {
			return err // the likely reason
		}
		return w.err
	}
	x.c = w.conn
	x.got = acquired{reused: w.reused, announce: w.announce}
	return nil
}

// leave gives up waiting: x.w leaves the queue, or what it was served in the
// meantime goes back.
func (x *exchange) leave() {
	t, w := x.t, x.w
	if w == nil {
		return
	}
	x.w = nil
	t.mu.Lock()
	if w.waiting() {
		w.leave(left)
	}
	c := w.conn
	queued := w.queued
	if w.panicked && w.panicVal != nil {
		defer t.panicked(w.panicVal) // nobody else learns of it
	}
	t.tidy(w.g)
	t.mu.Unlock()
	x.addWait(queued)
	if c != nil {
		if w.announce {
			t.background(func() { t.openedIdle(c) })
		}
		t.release(x.ctx, x.hooks, c, ending{reusable: true, unused: true})
	}
}

// overdue returns the error of a waiter that has queued for too long, nil if
// it does not queue any more.
func (x *exchange) overdue(w *waiter) error {
	t := x.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.phase != queueing {
		return nil
	}
	return &WaitError{
		Origin: x.to.origin(), Waited: x.waited + w.queued + time.Since(w.since),
		Limit: t.base.MaxConnsPerHost, Waiting: w.g.queue.n - 1,
	}
}

func (x *exchange) queuedSoFar(w *waiter) time.Duration {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return w.queued
}

func (x *exchange) addWait(d time.Duration) {
	x.waited += d
	if x.attempt != nil {
		x.attempt.Wait = x.waited
	}
}
