package budget

// A word is the state of one balance, so that a single atomic operation reads
// or changes all of it:
//
//	bits  0–19  tokens available, 0 to MaxCapacity
//	bit   20    dropped: the partition is not in its bucket's table
//	bits 21–63  tokens in open reservations
//
// A dropped word is always full and without reservations, and only an attach,
// under the bucket's lock, changes it: no operation on tokens succeeds on one.
type word uint64

const (
	tokenMask     word = 1<<20 - 1
	dropped       word = 1 << 20
	reservedShift      = 21
	// settledMask selects what tells whether Replenish has anything to do.
	settledMask = tokenMask | dropped
)

func (w word) tokens() int   { return int(w & tokenMask) }
func (w word) reserved() int { return int(w >> reservedShift) }
func (w word) gone() bool    { return w&dropped != 0 }

// moved returns w with tokens added to its balance and reserved added to its
// open reservations; both may be negative. The caller keeps the balance within
// 0 and the capacity, so that nothing carries from one field to the other; open
// reservations wrap within their 43 bits.
func (w word) moved(tokens, reserved int) word {
	return w + word(tokens) + word(reserved)<<reservedShift
}
