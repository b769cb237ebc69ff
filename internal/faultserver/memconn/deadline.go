package memconn

import (
	"sync"
	"time"
)

// Deadline is a point of time after which waits end. The zero Deadline never
// expires. All methods want the mutex that is given to Set held.
type Deadline struct {
	timer   *time.Timer
	expired bool
	turn    int // counts Set calls, so that a late timer of an older one does nothing
}

// Set replaces the deadline by t; a zero t means none. When t comes, wake is
// called with mu held.
func (d *Deadline) Set(t time.Time, mu sync.Locker, wake func()) {
	d.Stop()
	d.expired = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.expired = true
		wake()
		return
	}
	turn := d.turn
	d.timer = time.AfterFunc(left, func() {
		mu.Lock()
		defer mu.Unlock()
		if d.turn == turn {
			d.expired = true
			wake()
		}
	})
}

// Expired reports whether the deadline has passed.
func (d *Deadline) Expired() bool { return d.expired }

// Stop releases the timer; the deadline keeps its state.
func (d *Deadline) Stop() {
	d.turn++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
