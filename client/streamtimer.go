package client

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// openPhase is what an attempt to open a stream waits for.
type openPhase int

const (
	unheard         openPhase = iota // its transport has not told anything yet
	connecting                       // a connection
	awaitingHeaders                  // the response's headers
	openPhases
)

// openTimer cancels an attempt to open a stream whose time in a phase is over.
// The times of a phase that is entered again, because a connection was dead,
// add up. It stands still while the request queues for a connection.
type openTimer struct {
	cancel context.CancelCauseFunc
	cfg    *StreamConfig

	mu        sync.Mutex
	timer     *time.Timer               // guarded by mu, as all below
	left      [openPhases]time.Duration // at since
	phase     openPhase
	since     time.Time // when timer last began to run
	epoch     int       // of timer: an earlier one that fires late is not heard
	paused    bool
	connected bool // awaitingHeaders was entered
	over      bool
	late      *streamTimeoutError // set when the attempt was canceled
}

func startOpenTimer(cancel context.CancelCauseFunc, cfg *StreamConfig) *openTimer {
	t := &openTimer{cancel: cancel, cfg: cfg}
	t.left[unheard] = cfg.ConnectTimeout + cfg.HeaderTimeout
	t.left[connecting], t.left[awaitingHeaders] = cfg.ConnectTimeout, cfg.HeaderTimeout
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runLocked()
	return t
}

// enter begins a phase.
func (t *openTimer) enter(p openPhase) {
	t.change(func() {
		t.phase = p
		t.connected = t.connected || p == awaitingHeaders
	})
}

// pause stops the clock, or lets it go on.
func (t *openTimer) pause(pause bool) { t.change(func() { t.paused = pause }) }

func (t *openTimer) change(how func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.haltLocked()
	how()
	if !t.paused {
		t.runLocked()
	}
}

func (t *openTimer) runLocked() {
	t.epoch++
	epoch := t.epoch
	t.since = time.Now()
	t.timer = time.AfterFunc(t.left[t.phase], func() { t.expire(epoch) })
}

func (t *openTimer) haltLocked() {
	if t.timer == nil {
		return
	}
	t.timer.Stop()
	t.timer = nil
	t.left[t.phase] = max(0, t.left[t.phase]-time.Since(t.since))
}

func (t *openTimer) expire(epoch int) {
	t.mu.Lock()
	if t.over || t.timer == nil || epoch != t.epoch {
		t.mu.Unlock()
		return
	}
	t.over = true
	late := &streamTimeoutError{events.StreamHeaderTimeout, t.cfg.HeaderTimeout}
	if t.phase == connecting {
		late = &streamTimeoutError{events.StreamConnectTimeout, t.cfg.ConnectTimeout}
	}
	t.late = late
	t.mu.Unlock()
	t.cancel(late)
}

// stop ends the timer and returns why it had canceled the attempt, or nil.
func (t *openTimer) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.haltLocked()
	if t.late == nil {
		return nil
	}
	return t.late
}

// neverConnected reports whether the attempt was certainly not sent.
func (t *openTimer) neverConnected() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase == connecting && !t.connected
}
