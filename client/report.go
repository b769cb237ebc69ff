package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Report says what one call went through.
type Report struct {
	Attempts   int               // attempts that were sent
	Recoveries int               // resends inside the pool because a reused connection was dead
	Skipped    events.SkipReason // why a wanted retry was not armed; "" if none was refused
	Partition  string            // key of budget, breaker and throttle
	Tokens     int               // the partition's budget level when the call returned; 0 without a budget
	Capacity   int               // the budget's capacity; 0 without a budget
	Backoff    time.Duration     // time spent waiting between attempts
	Throttled  time.Duration     // time spent waiting for a remembered Retry-After before the first attempt
	ConnWait   time.Duration     // time spent in the queue for a connection
	Generation uint64            // the configuration's generation, from 1; see Client.Reload
}

type callKey struct{}

// ReportOf returns the report of the call that resp answers. It reads
// resp.Request's context, so it works behind wrappers of the body. false means
// that resp did not come through this package.
func ReportOf(resp *http.Response) (Report, bool) {
	if resp == nil || resp.Request == nil {
		return Report{}, false
	}
	if c := callOf(resp.Request.Context()); c != nil {
		return c.report(), true
	}
	return Report{}, false
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// ReportOfError returns the report that err carries. Errors carry one where
// more than one attempt was made or a retry was skipped; see [Error].
func ReportOfError(err error) (Report, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Report, true
	}
	return Report{}, false
}

// Error is the error of a call that made more than one attempt or whose retry
// was skipped; every other error is returned untouched. It unwraps to the last
// attempt's error.
type Error struct {
	Report
	Err error // of the last attempt; never nil
}

// Error gives the cause, the number of attempts, and why there were no more.
func (e *Error) Error() string {
	s := fmt.Sprintf("client: %s (attempts %d", strings.TrimPrefix(fmt.Sprint(e.Err), "client: "), e.Attempts)
	if e.Recoveries > 0 {
		s += fmt.Sprintf(", recoveries %d", e.Recoveries)
	}
	if e.Skipped != "" {
		s += ", no retry: " + string(e.Skipped)
		if e.Skipped == events.SkipBucket {
			s += fmt.Sprintf(", %d of %d tokens", e.Tokens, e.Capacity)
		}
	}
	return s + ")"
}

// Unwrap returns the last attempt's error.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// ThrottledError says that a call was not sent because the server had asked to
// stay away until Until, and the wait did not fit the call's total retry time
// or its context.
type ThrottledError struct {
	Key   string    // the partition
	Until time.Time // when the server may be asked again
}

// Error names the partition and the time.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("client: %s asked for no requests until %s, which this call cannot wait for; nothing was sent", e.Key, e.Until.UTC().Format(time.RFC3339Nano))
}

// attemptTimeoutError says that Config.AttemptTimeout passed.
type attemptTimeoutError struct{ after time.Duration }

func (e *attemptTimeoutError) Error() string {
	return fmt.Sprintf("client: no response headers within the attempt timeout of %v", e.after)
}
func (*attemptTimeoutError) Timeout() bool   { return true }
func (*attemptTimeoutError) Temporary() bool { return true }

// Is matches context.DeadlineExceeded, as net/http's own timeouts do.
func (*attemptTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// BodyTooLargeError ends the read of a response body that is larger than
// Config.MaxResponseBytes. The bytes before were delivered.
type BodyTooLargeError struct {
	Limit int64 // in bytes, after decompression: Config.MaxResponseBytes
}

// Error gives the limit.
func (e *BodyTooLargeError) Error() string {
	return fmt.Sprintf("client: response body is larger than MaxResponseBytes, %d bytes", e.Limit)
}

// BodyIdleError ends the read of a response body that was silent for longer
// than Config.BodyIdleTimeout.
type BodyIdleError struct {
	Idle time.Duration // the bound that was passed: Config.BodyIdleTimeout
}

// Error gives the silence.
func (e *BodyIdleError) Error() string {
	return fmt.Sprintf("client: no byte of the response body for %v (BodyIdleTimeout)", e.Idle)
}

// Timeout reports true.
func (*BodyIdleError) Timeout() bool { return true }

// ErrClosed is returned by calls on a client that was shut down or closed.
var ErrClosed = errors.New("client: closed")
