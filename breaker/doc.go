// Package breaker refuses operations on a key, such as an origin, while that
// key fails.
//
//	b, err := breaker.New(breaker.Config{})
//	...
//	permit, err := b.Admit(ctx, "https://api.example:443")
//	if err != nil {
//		return err // a *RejectedError: do not even try
//	}
//	// ... the operation ...
//	permit.Success() // or Failure, Backpressure, Cancel, SuccessUncounted
//
// # When a gate opens
//
// Every key has a gate of its own. It is [Closed] and admits everyone until one
// of two channels opens it; both are judged after every sample.
//
// Rate: failures/calls ≥ FailureRate over the window, which must hold at least
// MinCalls samples. The window is the current bucket of BucketWidth and the one
// before. Buckets are numbered from the Unix epoch, so all processes agree on
// them.
//
// Streak: ConsecutiveFailures failures in a row, while the window holds fewer
// than MinCalls samples (a cold start, little traffic). With MinCalls samples
// and a rate below FailureRate a streak is noise. A streak of
// max(MinCalls, ConsecutiveFailures) opens in any case, as a rate opening: that
// is the sudden death of a busy key. With FailureRate off, every streak opens.
//
// # For how long
//
// A first opening lasts Cooldown. The gate remembers a level, in units of
// Cooldown. A rate opening takes level 0 to 1 and doubles any other, and lasts
// level × Cooldown, at most MaxCooldown. A failed probe is never a first
// opening: it takes level 0 to 2. A streak opening lasts Cooldown and leaves
// the level as it is. The level halves (down to 0) per Cooldown spent closed,
// which adds up across streak openings.
//
// # How it closes
//
// When the cooldown is over, exactly one caller is admitted: the probe, which
// makes the gate [HalfOpen]. Its lease lasts ProbeLease (or what
// [Breaker.AdmitLease] asked for) and can be renewed. Its success closes the
// gate and empties the window; its failure reopens it. Backpressure and Cancel
// give the lease back: half-open and nobody's, so that the next caller probes.
// A lease that ran out goes to the next caller; until somebody takes it, its
// holder's result still counts.
//
// Results of an earlier generation (the gate has changed its state since their
// admission) or of a lease that somebody else holds change nothing.
//
// # What callers are told
//
// RetryAfter, of a [Result] or a [RejectedError], is how long until a retry is
// certainly worth attempting: what is left of the cooldown for a refusal by an
// open gate and for the settlement that opened it. It is 0 in every other case:
// closed gates, half-open refusals, probes, releases, and results that are
// fenced out, whatever the State beside it. Callers keep a minimum delay of
// their own.
//
// # Events
//
// What happens inside Admit or a settlement is emitted there, to the hooks of
// Admit's context ([events.From]), with its Meta; a permit keeps the context
// for that. BreakerChanged and Config.OnChange tell of changes of state, in
// this order; BreakerProbe of a lease that was granted (after the change to
// half-open, or alone where the gate is half-open already) or given back; and
// BreakerRejected of refusals. A lease that passes from one caller to another
// changes no state and gives no BreakerChanged.
//
// What happens outside a call goes to the subscribers of [Breaker.Notify].
//
// Hooks and callbacks run outside all locks, on the goroutine on which the
// thing happened, and may use the Breaker. If one panics inside Admit or a
// settlement, the panic goes on to the caller and the gate is consistent: an
// admission that could not be returned is taken back. On other goroutines the
// panic is recovered.
//
// # Goroutines and blocking
//
// The package starts no goroutine. With the memory store nothing waits: a
// healthy call takes no lock, an admission by a closed gate, its success and a
// refusal by an open gate are a few atomic operations. Numbers stay exact; they
// are those of [Transition], applied to one event after the other.
//
// With another [Store], Admit, a settlement and Renew take as long as the store
// does, at most about StoreTimeout. While the store returns errors, local gates
// decide and the store is tried once a second; subscribers hear of the loss and
// of the return (BreakerStoreChanged).
//
// The zero value of a Breaker or a Permit is not usable.
package breaker
