package events

import "time"

// BreakerChanged is a transition of one breaker key.
type BreakerChanged struct {
	Meta
	Key        string        // of the gate; the partition in a client
	From, To   BreakerState  // states before and after
	Cause      BreakerCause  // what moved it; one of BreakerCauses
	Cooldown   time.Duration // of an opening; 0 otherwise
	RetryAfter time.Duration // how long until a retry is certainly worth attempting; 0 unless To is open
}

// BreakerRejected says that the breaker refused an attempt.
type BreakerRejected struct {
	Meta
	Key        string        // of the gate; the partition in a client
	State      BreakerState  // open or half_open
	RetryAfter time.Duration // what is left of the cooldown; 0 in state half_open
}

// BreakerProbe says that a half-open breaker's probe lease was granted, or
// released without a verdict.
type BreakerProbe struct {
	Meta
	Key      string // of the gate; the partition in a client
	Released bool   // false: granted
}

// BreakerStoreChanged says that a shared store was lost, so that a local gate
// decides, or that it is back.
type BreakerStoreChanged struct {
	Meta
	Available bool // false: lost; true: back
}

// StreamOpened says that an event stream's response was accepted.
type StreamOpened struct {
	Meta
	Reconnects int // 0 for the first connection
}

// StreamClosed is the end of a stream. Exactly one follows the first
// [StreamOpened], or stands alone where the stream could not be opened.
type StreamClosed struct {
	Meta
	Bytes      int64         // decoded bytes over all connections
	Events     int64         // events handed over, over all connections
	Reconnects int           // connections after the first
	Reason     StreamReason  // one of StreamReasons
	Duration   time.Duration // from opening to end
}

// Reloaded says that the transports and the configuration were swapped.
type Reloaded struct {
	Meta
	Generation uint64 // the new generation, from 2
}
