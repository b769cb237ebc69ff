package client

import (
	"context"
	"errors"
	"time"
)

// watchCancel turns req.Cancel into the cancellation of the call's context.
func (c *call) watchCancel() {
	cancel := c.req.Cancel //nolint:staticcheck // http.Client.Timeout still uses it for transports like this one
	if cancel == nil {
		return
	}
	ctx, stop := context.WithCancelCause(c.Context)
	c.Context, c.detoured().cancel = ctx, stop
	go func() {
		select {
		case <-cancel:
			cause := errRequestCanceled
			if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
				cause = context.DeadlineExceeded
			}
			stop(cause)
		case <-ctx.Done():
		}
	}()
}

// How long a call that met its deadline waits for req.Cancel, which
// http.Client.Timeout closes at the same instant: without it net/http would not
// add "Client.Timeout exceeded" to the error. Where the deadline is certainly
// that of the client's own http.Client, within ownTolerance, the channel will
// close, and only a busy machine makes it late.
const (
	cancelGrace  = 10 * time.Millisecond
	ownGrace     = time.Second
	ownTolerance = 50 * time.Millisecond
)

// awaitCancel gives http.Client's timer the time to fire after err, a met
// deadline.
func (c *call) awaitCancel(err error) {
	cancel := c.req.Cancel //nolint:staticcheck // see watchCancel
	if cancel == nil || !errors.Is(err, context.DeadlineExceeded) || !c.atDeadline() {
		return
	}
	grace := cancelGrace
	if c.ownDeadline() {
		grace = ownGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-cancel:
	case <-timer.C:
	}
}

// atDeadline reports whether the context's deadline has come. An error may be
// a timeout for other reasons, an attempt's for one, long before.
func (c *call) atDeadline() bool {
	deadline, ok := c.req.Context().Deadline()
	return ok && time.Until(deadline) < cancelGrace
}

// ownDeadline reports whether the context's deadline is the Timeout of the
// http.Client that New made.
func (c *call) ownDeadline() bool {
	owner := c.t.owner
	if owner == nil || c.rest < 0 || owner.Timeout <= 0 {
		return false
	}
	return (c.rest - (owner.Timeout - c.off.hops)).Abs() < ownTolerance
}
