package breaker

import (
	"context"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Store keeps the gates. A store applies [Transition] to one key at a time,
// atomically, and is safe for concurrent use. No method may hold anything
// locked after it has returned. [breakertest.Run] is its conformance suite.
//
// Every method may report the changes it made or learnt of through
// [Params.Report], on the calling goroutine, outside its locks, before it
// returns.
//
// An error other than a *[RejectedError] says that the store could not
// decide. The [Breaker] then decides by a gate of its own, so that no call
// fails because a store does.
//
// [breakertest.Run]: https://pkg.go.dev/github.com/plimsoll-http/plimsoll/breaker/breakertest#Run
type Store interface {
	// Admit asks for admission. A refusal is a *[RejectedError]. Where ctx ends
	// while a lease may be on its way, the lease must not stay behind.
	Admit(ctx context.Context, key string, p Params) (Grant, error)
	// Settle reports what became of the operation that g admitted. A grant of
	// an earlier generation, or of a lease that someone else holds by now,
	// changes nothing and is no error. ctx carries values; it does not end.
	Settle(ctx context.Context, key string, g Grant, o Outcome, p Params) (Result, error)
	// Renew extends the probe lease of g to p.ProbeLease from now. It reports
	// whether g still holds it.
	Renew(ctx context.Context, key string, g Grant, p Params) (bool, error)
	// Snapshots calls yield for each key that the store knows in this process
	// until yield returns false. It asks no other process.
	Snapshots(yield func(string, Snapshot) bool)
}

// Observable is a [Store] that learns of changes outside any call: by a flush
// in the background, or because it lost or regained what it shares.
type Observable interface {
	// Observe has changed called for each such change of a key, and available
	// for each loss (false) and return (true), on goroutines of the store,
	// outside its locks, until stop is called.
	Observe(changed func(key string, c Change), available func(bool)) (stop func())
}

// Params are the rules of a gate, validated and complete. Durations are whole
// milliseconds.
type Params struct {
	ConsecutiveFailures int           // the streak that opens; 0: off
	FailureRate         int           // failures per million calls that open; 0: off
	MinCalls            int           // the samples that the rate needs, at least 1
	BucketWidth         time.Duration // half of the window's length
	Cooldown            time.Duration // of a first opening
	MaxCooldown         time.Duration // bound of the doubled ones
	ProbeLease          time.Duration // how long a probe keeps others away
	// Timeout is how long a store may take for one operation; it bounds its own
	// waits by it. 0: as long as the store sees fit.
	Timeout time.Duration
	// Report receives each change; it may be nil.
	Report func(Change)
}

// Grant is an admission.
type Grant struct {
	Generation int64 // the gate's generation when it was given
	Lease      int64 // the number of the probe lease, from 1; 0: no probe
}

// Change is one change of a gate. From and To are both [HalfOpen], with cause
// [events.BreakerLease], where a probe lease was given back without a verdict
// (by a settlement) or was taken over after it ran out (by an admission).
type Change struct {
	From, To   State               // the states before and after; both HalfOpen where only the lease moved
	Cause      events.BreakerCause // what moved the gate
	Cooldown   time.Duration       // of an opening; otherwise 0
	RetryAfter time.Duration       // what is left of it; otherwise 0
}

// Snapshot is one gate at one moment.
type Snapshot struct {
	State      State         // at this moment: an open gate whose cooldown is over is still Open until somebody asks
	Cooldown   time.Duration // of the current opening; 0 if Closed
	Left       time.Duration // until a probe is due; 0 unless Open
	Streak     int           // consecutive failures
	Calls      int           // samples in the window
	Failures   int           // of them failures
	Level      int           // what the next rate or probe opening doubles, in units of the base cooldown; 0: decayed
	Probing    bool          // a probe lease is held
	Generation int64         // rises with every change of state
}
