package pool

import (
	"context"
	"slices"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// fault is what became of one send, as far as recovery is concerned.
type fault struct {
	err        error
	kinds      kind
	reused     bool // the connection had served, or idled, before
	fresh      bool // it was dialled for this request alone, after dead ones
	connection bool // the connection failed, or the server refused the request unseen
	firstByte  bool // a byte of a response had arrived
	unwritten  bool // certainly no byte of the request was written
}

// refusedUnseen are the two ways in which an HTTP/2 server says that it has not
// looked at a request, on a connection that was in order.
const refusedUnseen = kindRefused | kindGraceful

// stale reports whether the send failed because its connection was past use
// before it began, so that the request may get another one.
func (f *fault) stale() bool {
	switch {
	case f.firstByte || !f.connection || f.fresh:
		return false
	case f.kinds&refusedUnseen != 0:
		return true
	}
	return f.reused
}

// unprocessed reports whether the server certainly did not see the request.
func (f *fault) unprocessed() bool {
	return f.unwritten || f.kinds&(refusedUnseen|kindUnusable) != 0
}

// anyMethod reports whether every method counts as idempotent.
func (x *exchange) anyMethod() bool {
	return x.t.cfg.RetryNonIdempotent || x.attempt != nil && x.attempt.RetryNonIdempotent
}

// fault judges the error of the send x.s.
func (x *exchange) fault(err error) fault {
	s := x.s
	f := fault{
		err: bare(err), reused: x.got.reused || x.got.parked, fresh: x.fresh,
		firstByte: s.gotFirstByte(), unwritten: !s.c.h2 && x.before >= 0 && s.c.written() == x.before,
	}
	f.kinds = kindsOf(f.err)
	switch {
	case x.ctx.Err() != nil:
		if cause := s.canceled(f.err); cause != nil {
			f.err = cause
		}
	case f.kinds&kindCanceled != 0, f.kinds&kindTimeout != 0 && !(ofKernel(f.err) && s.c.failure() != nil):
	case x.body.failed() != nil:
		f.err = x.body.failed()
	case f.kinds&(kindEOF|kindReset|kindTruncated|kindGoAway|kindRefused) != 0, isAlertError(f.err), s.c.failure() != nil:
		f.connection = true
		f.err = s.explain(OpRoundTrip, f.err)
	}
	return f
}

// recover ends the send x.s, which failed with err. It returns nil if the
// request is to be sent again, else the error for the caller.
func (x *exchange) recover(err error) error {
	s, c, f := x.s, x.c, x.fault(err)
	again := x.mayResend(&f)
	if x.attempt != nil {
		x.attempt.FirstByte, x.attempt.NothingWritten = f.firstByte, f.unprocessed()
	}
	class := ClassOf(f.err)
	cause := s.cause(f.err, x.failureCause(&f))
	if again {
		x.dead++
		x.lastClass, x.lastErr = class, f.err
		x.t.foundDead(c.g)
	}
	x.c = nil
	s.unwatch()
	s.legacy.end()
	x.t.release(x.ctx, x.hooks, c, ending{reusable: c.h2, cause: cause})
	if !again {
		return x.final(&f, class)
	}
	x.hooks.stale(x.ctx, c, x.dead, class)
	if err := x.body.rewind(); err != nil {
		return err
	}
	x.fresh = x.dead >= x.t.recoveries()
	x.recoveries++
	if x.attempt != nil {
		x.attempt.Recoveries = x.recoveries
	}
	return nil
}

// mayResend decides whether the request goes out again.
func (x *exchange) mayResend(f *fault) bool {
	return f.stale() && x.t.recoveries() > 0 && Replayable(x.req) &&
		(f.unprocessed() || Idempotent(x.req, x.anyMethod()))
}

// recoveries returns how many dead connections a request may meet.
func (t *Transport) recoveries() int {
	if t.cfg.Recoveries != 0 {
		return t.cfg.Recoveries
	}
	return t.maxIdlePerHost()
}

func (x *exchange) failureCause(f *fault) events.ConnCause {
	switch {
	case x.ctx.Err() != nil:
		return events.ConnCanceled
	case f.stale():
		return events.ConnPeer
	}
	return events.ConnError
}

// final gives the error of the last send its type.
func (x *exchange) final(f *fault, class events.ErrorClass) error {
	switch {
	case f.stale() && f.reused && f.kinds&refusedUnseen == 0:
		return &StaleConnError{
			Origin: x.to.origin(), Conn: x.s.c.id, Try: x.dead + 1, Class: class,
			NothingWritten: f.unprocessed(), Err: f.err,
		}
	case f.connection && f.unprocessed() && !Unprocessed(f.err):
		return &unsentError{f.err}
	}
	return f.err
}

// foundDead counts a stale connection of g and evicts those among its idle
// siblings that are known to be dead too.
func (t *Transport) foundDead(g *group) {
	var drop closing
	now := time.Now()
	t.mu.Lock()
	g.count.Stale++
	for _, c := range slices.Backward(g.conns) { // weed deletes behind it
		if c.idle {
			t.weed(c, now, &drop)
		}
	}
	t.mu.Unlock()
	drop.close()
	drop.emit(context.Background(), hooks{t: t}, nil)
}

func (t *Transport) recovered(g *group) {
	t.mu.Lock()
	g.count.Recoveries++
	t.mu.Unlock()
}
