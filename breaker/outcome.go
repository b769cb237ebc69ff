package breaker

import (
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// State is the state of one key's gate. The zero value is [Closed].
type State = events.BreakerState

// The states.
const (
	Closed   = events.BreakerClosed   // everyone is admitted
	Open     = events.BreakerOpen     // everyone is refused until the cooldown is over
	HalfOpen = events.BreakerHalfOpen // the holder of the probe lease is admitted, everyone else is refused
)

// Outcome is what became of an admitted operation. The zero value is no
// outcome; settling with it counts as [Cancel].
type Outcome uint8

// The outcomes.
const (
	_                Outcome = iota
	Success                  // resets the streak, adds a sample, closes a probe
	SuccessUncounted         // as Success, but adds no sample to the window
	Failure                  // adds to the streak and the window, reopens on a probe
	Backpressure             // 429: leaves no trace; a probe gives its lease back
	Cancel                   // the caller gave up: leaves no trace; a probe gives its lease back
)

var outcomes = [...]string{"none", "success", "success_uncounted", "failure", "backpressure", "cancel"}

// String returns the outcome's name in snake case, "none" for the zero value.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "invalid"
}

// Result is what a settlement found. Results are comparable.
type Result struct {
	// State is the gate's state after the settlement.
	State State
	// RetryAfter is how long until a retry is certainly worth attempting: what
	// is left of the cooldown if this settlement opened the gate, otherwise 0.
	RetryAfter time.Duration
}

// RejectedError is returned by [Breaker.Admit] where the gate refuses.
type RejectedError struct {
	// Key is the key that was asked for.
	Key string
	// State is [Open] or [HalfOpen].
	State State
	// RetryAfter is what is left of the cooldown; 0 in state HalfOpen, where
	// nobody knows how long the probe takes. Callers keep their own minimum
	// delay.
	RetryAfter time.Duration
}

// Error names the key, the state and the rest of the cooldown.
func (e *RejectedError) Error() string {
	if e.State == HalfOpen {
		return fmt.Sprintf("breaker: %q is half-open and another call probes it", e.Key)
	}
	return fmt.Sprintf("breaker: %q is open for another %v", e.Key, e.RetryAfter)
}
