package pool

import (
	"context"
	"time"
)

// AttemptKey is the context key under which a request's context may answer
// with an *[Attempt].
type AttemptKey struct{}

// Attempt is what [Transport.RoundTrip] tells its caller about one attempt. It
// is filled before RoundTrip returns, on success and on error, and must not be
// shared between requests that run at the same time.
type Attempt struct {
	Conn           uint64        // number of the last connection, as in the events; 0: none
	Reused         bool          // that connection had served before
	Fresh          bool          // that connection was dialled for this request alone, after dead ones
	NothingWritten bool          // certainly no byte of the request reached the server
	FirstByte      bool          // a byte of a response arrived
	Recoveries     int           // resends after dead connections
	Wait           time.Duration // queueing for a slot, over all acquisitions
	Protocol       string        // "1.0", "1.1", "2"; of the response, or of the connection where there is none

	// What the caller sets, and RoundTrip leaves alone.
	Watch              QueueWatcher // told of the queueing for a slot; nil: nobody
	RetryNonIdempotent bool         // as in Config, for this request alone; either one suffices
}

// QueueWatcher learns when a request queues for a slot. An interface and no
// function, so that who starts many attempts need not allocate one for each.
type QueueWatcher interface {
	// Queueing is called with true when the request begins to queue and with
	// false when it ends to, on the goroutine of RoundTrip and outside every
	// lock.
	Queueing(begin bool)
}

func attemptFrom(ctx context.Context) *Attempt {
	a, _ := ctx.Value(AttemptKey{}).(*Attempt)
	return a
}

// reset clears what a former RoundTrip left and keeps what the caller set.
func (a *Attempt) reset() { *a = Attempt{Watch: a.Watch, RetryNonIdempotent: a.RetryNonIdempotent} }
