package pool

import (
	"context"
	"errors"
	"time"
)

// errCanceled is the end of a request by its own Cancel channel.
var errCanceled = errors.New("pool: request canceled")

// legacyCancel turns a request's Cancel channel into the end of a context, on
// a goroutine.
type legacyCancel struct {
	channel <-chan struct{}
	cancel  context.CancelCauseFunc
}

// withCancel returns a context that also ends when channel closes.
func withCancel(ctx context.Context, channel <-chan struct{}) (context.Context, *legacyCancel) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-channel:
			cancel(errCanceled)
		case <-ctx.Done():
		}
	}()
	return ctx, &legacyCancel{channel, cancel}
}

// end ends the goroutine and frees the context.
func (l *legacyCancel) end() {
	if l != nil {
		l.cancel(nil)
	}
}

// clientTimeoutGrace is how long a deadline waits for a request's Cancel.
const clientTimeoutGrace = 10 * time.Millisecond

// settle gives http.Client the time to notice that its Timeout has passed. For
// a transport that is not an *http.Transport it sets both a context deadline
// and Cancel, and says "Client.Timeout exceeded" only if Cancel came first.
func (l *legacyCancel) settle(err error) {
	if l == nil || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	timer := time.NewTimer(clientTimeoutGrace)
	defer timer.Stop()
	select {
	case <-l.channel:
	case <-timer.C:
	}
}
