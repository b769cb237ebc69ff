package budget

import (
	"fmt"
	"sync/atomic"
)

// Kind is why a retry is wanted; it selects the price.
type Kind int

const (
	// Transient is a retry after a transport error, a timeout or a status such
	// as 500 or 502; it costs Config.Cost.
	Transient Kind = iota
	// Throttled is a retry after the server asked for patience: 429, or 503
	// with Retry-After; it costs Config.ThrottleCost.
	Throttled
)

// String returns "transient" or "throttled", and Kind(n) for other values.
func (k Kind) String() string {
	switch k {
	case Transient:
		return "transient"
	case Throttled:
		return "throttled"
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// Outcome is how a retry ended; it selects how much of its reservation is kept.
// An unknown value counts as Charge.
type Outcome int

const (
	// Refund is for a retry that succeeded, or whose response needs no further
	// retry; it keeps Config.SuccessCost.
	Refund Outcome = iota
	// Partial is for a retry whose response still fails; it keeps
	// Config.FailureCost.
	Partial
	// Charge is for a retry that got no response: a transport or protocol
	// error. It keeps everything.
	Charge
)

// String returns "refund", "partial" or "charge", and Outcome(n) for other
// values.
func (o Outcome) String() string {
	switch o {
	case Refund:
		return "refund"
	case Partial:
		return "partial"
	case Charge:
		return "charge"
	default:
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
}

// ExhaustedError is what Reserve returns when a partition cannot pay for the
// retry. Nothing was taken. Match it with errors.As.
type ExhaustedError struct {
	Partition string // the balance that was asked: the lower-cased key, or Other
	Available int    // tokens that it had, less than Need
	Need      int    // tokens that the retry costs
}

// Error names the partition and both numbers.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("budget: partition %q has %d of the %d tokens that a retry costs; it refills by calls that succeed without one",
		e.Partition, e.Available, e.Need)
}

// A Reservation holds the tokens of one retry, from the moment it is armed to
// the moment its outcome is known. All methods are safe for concurrent use; on
// a nil Reservation, as a client without a budget has, they return zeros.
type Reservation struct {
	from   *Partition // the balance that paid; it cannot be dropped meanwhile
	tokens int32
	level  int32
	closed atomic.Bool // set by the first Settle or Cancel
}

// Partition returns the name of the balance that paid: the lower-cased key, or
// [Other].
func (r *Reservation) Partition() string {
	if r == nil {
		return ""
	}
	return r.from.key
}

// Tokens returns how many tokens were taken, before or after the settlement.
func (r *Reservation) Tokens() int {
	if r == nil {
		return 0
	}
	return int(r.tokens)
}

// Level returns the balance right after the tokens were taken, in the same
// atomic step, whatever other calls did since.
func (r *Reservation) Level() int {
	if r == nil {
		return 0
	}
	return int(r.level)
}

// Settlement is what closing a reservation moved, in tokens. Its zero value
// means that nothing moved, because the reservation was closed before.
//
// Reserved is always Kept + Refunded + Overflow, and for a balance at any time
//
//	Capacity − Level = open reservations + Σ Kept + Σ Overflow − Σ added by Replenish
type Settlement struct {
	Reserved int // what the reservation held
	Kept     int // what the retry cost
	Refunded int // what went back into the balance
	Overflow int // what should have gone back but found it full: successful calls had refilled it meanwhile
	Level    int // the balance right after, in the same atomic step
}

// Settle closes the reservation by how its retry ended, and returns what moved.
// The first Settle or Cancel counts; the others return the zero Settlement.
func (r *Reservation) Settle(o Outcome) Settlement {
	if r == nil || !r.closed.CompareAndSwap(false, true) {
		return Settlement{}
	}
	return r.from.settle(int(r.tokens), r.from.bucket.cfg.keep(o, int(r.tokens)))
}

// Cancel closes the reservation of a retry that was never sent, or was given up
// by the caller: all tokens go back, whatever the profile says about retries
// that succeed. The first Settle or Cancel counts; the others return the zero
// Settlement, which makes a deferred Cancel a safe net under any exit.
func (r *Reservation) Cancel() Settlement {
	if r == nil || !r.closed.CompareAndSwap(false, true) {
		return Settlement{}
	}
	return r.from.settle(int(r.tokens), 0)
}
