package pool

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errCanceled is the end of a request by its own Cancel channel while it waits
// for a connection. Later net/http has an error for that.
var errCanceled = errors.New("pool: request canceled while waiting for a connection")

// legacyCancel relays a request's Cancel channel to net/http for one send.
// net/http has a goroutine wait for it, and leaves that behind when the send
// fails: so the relay ends with the send in any case.
type legacyCancel struct {
	from <-chan struct{}
	to   chan struct{}
	over chan struct{}

	ended atomic.Bool
}

func relay(from <-chan struct{}) *legacyCancel {
	l := &legacyCancel{from: from, to: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(l.to)
		select {
		case <-l.from:
		case <-l.over:
		}
	}()
	return l
}

// end ends the relay.
func (l *legacyCancel) end() {
	if l != nil && !l.ended.Swap(true) {
		close(l.over)
	}
}

// settle is awaitCancel.
func (l *legacyCancel) settle(err error) {
	if l != nil {
		awaitCancel(l.from, err)
	}
}

// clientTimeoutGrace is how long a deadline waits for a request's Cancel.
const clientTimeoutGrace = 10 * time.Millisecond

// awaitCancel gives http.Client the time to notice that its Timeout has passed.
// For a transport that is not an *http.Transport it sets both a context
// deadline and Cancel, and says "Client.Timeout exceeded" only if Cancel came
// first.
func awaitCancel(cancel <-chan struct{}, err error) {
	if cancel == nil || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	timer := time.NewTimer(clientTimeoutGrace)
	defer timer.Stop()
	select {
	case <-cancel:
	case <-timer.C:
	}
}
