package client

import (
	"context"
	"sync"
	"time"
)

// cutoff ends an attempt early: where it has no response headers in time, or by
// cancel. Its clock stands still while the request queues for a connection. A
// nil cutoff does nothing.
type cutoff struct {
	cancel context.CancelCauseFunc // ends the attempt's context; immutable

	mu      sync.Mutex
	timer   *time.Timer   // nil without an attempt timeout; immutable
	left    time.Duration // at since
	since   time.Time     // when the timer last began to run
	paused  bool          // guarded by mu, as all above
	stopped bool          // guarded by mu; the attempt is over
	fired   bool          // guarded by mu; the attempt was canceled for its timeout
}

// startCutoff starts the clock; timeout 0: there is none.
func startCutoff(cancel context.CancelCauseFunc, timeout time.Duration) *cutoff {
	t := &cutoff{cancel: cancel}
	if timeout == 0 {
		return t
	}
	t.left, t.since = timeout, time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(timeout, func() {
		t.mu.Lock()
		if t.stopped || t.paused {
			t.mu.Unlock()
			return
		}
		t.fired = true
		t.mu.Unlock()
		cancel(&attemptTimeoutError{timeout})
	})
	return t
}

// pause stops the clock, or lets it go on.
func (t *cutoff) pause(pause bool) {
	if t == nil || t.timer == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || t.fired || t.paused == pause {
		return
	}
	t.paused = pause
	if pause {
		t.timer.Stop()
		t.left = max(0, t.left-time.Since(t.since))
		return
	}
	t.since = time.Now()
	t.timer.Reset(t.left)
}

// stop ends the timer and reports whether it had canceled the attempt.
func (t *cutoff) stop() bool {
	if t == nil || t.timer == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
	return t.fired
}
