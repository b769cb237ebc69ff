package client

import (
	"sync"
	"time"
)

// headerTimer cancels an attempt that has no response headers in time. It
// stands still while the request queues for a connection. A nil timer does
// nothing.
type headerTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration // at since
	since   time.Time     // when the timer last began to run
	paused  bool          // guarded by mu, as all above
	stopped bool          // guarded by mu; the attempt is over
	fired   bool          // guarded by mu; the attempt was canceled for its timeout
}

func startHeaderTimer(a *attempt, timeout time.Duration) *headerTimer {
	t := &headerTimer{left: timeout, since: time.Now()}
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
		a.cancel(&attemptTimeoutError{timeout})
	})
	return t
}

// pause stops the clock, or lets it go on.
func (t *headerTimer) pause(pause bool) {
	if t == nil {
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
func (t *headerTimer) stop() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
	return t.fired
}
