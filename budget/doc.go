// Package budget bounds how much a client may retry: in tokens ([Bucket]), in
// time ([Clock]), and by what servers asked for ([Throttles]). It imports the
// standard library alone, starts no goroutine, and emits no event: what moved
// is in the return values, and the caller reports it.
//
// # Tokens
//
// A [Bucket] holds one balance of tokens per partition, usually per origin. A
// retry goes through three steps:
//
//	r, err := bucket.Partition(origin).Reserve(budget.Transient) // before the retry is armed
//	// … wait, send …
//	s := r.Settle(budget.Refund)                                 // once its outcome is known
//
// Reserve takes the full price out of the balance, or takes nothing and returns
// an [*ExhaustedError]. Settle gives back what the outcome does not cost. Every
// reservation must be settled or cancelled once; further calls do nothing. A
// reservation that never is stays taken, and pins its partition.
//
// A balance grows in two ways only: by settlements, and by
// [Partition.Replenish], which a client calls once for each successful call
// that needed no retry. Nothing refills with time. It never passes Capacity.
//
// Which [Outcome] a retry had is the caller's decision, and so is whether a
// call replenishes. The rule of both [Default] and [AWS2026] is: one Replenish
// for a call whose first attempt succeeded (a resend on a fresh connection
// inside that attempt does not matter), none for a call that was retried, whose
// own settlement already gave its tokens back.
//
// # Partitions
//
// At most MaxPartitions partitions have a balance of their own. One that is
// full and has no open reservation is indistinguishable from one that does not
// exist, so these, and only these, are dropped to make room, each in turn. While MaxPartitions partitions are below capacity or in use, further keys
// share the balance named [Other], which comes on top of MaxPartitions. Of a
// key without a balance of its own:
//
//   - Reserve gives it one if there is room, and else charges Other;
//   - Replenish goes to Other, and never makes a balance;
//   - Level is the capacity if there is room, and else that of Other.
//
// A [*Partition] is a handle and stays correct for as long as it is held: when
// its partition is dropped it takes part again at the next Reserve, and when
// its key got a new balance meanwhile, through another handle or through the
// Bucket's methods, it uses that one. Tokens are neither lost nor doubled by
// any of this: at most one balance exists per key, and a reservation is settled
// where it was made.
//
// # Concurrency and cost
//
// Everything here is safe for concurrent use, except that a [Clock] is a value
// to copy. No method blocks beyond a short critical section, none calls code of
// the caller while it holds a lock, and none panics.
//
// A balance is one atomic word. Replenish on a full partition is one atomic
// load, whatever other partitions do; each balance has cache lines of its own.
// Reserve and Settle are one compare-and-swap each and one allocation together.
// A lock is taken only when a key gains a balance, by the Bucket's methods that
// take a key, and by a handle whose partition was dropped, the first time that
// it is used after some key gained a balance.
//
// # Time
//
// [Clock] and [Throttles] never compare with the wall clock where a monotonic
// reading is at hand. Each has methods that take the present as an argument and
// are pure on it; those that do not take it call [time.Now].
package budget
