package budget

import "sync/atomic"

// A Partition is a handle on the balance of one key, to be kept by callers that
// use the key often. It stays correct however long it is kept; see the package
// comment for what happens when its balance is dropped meanwhile.
type Partition struct {
	state  atomic.Uint64 // a word
	full   word          // the word of a full balance in the table; immutable
	bucket *Bucket       // immutable
	key    string        // lower-cased; immutable

	// Both matter only while state is dropped, and save a look-up each.
	heir   atomic.Pointer[Partition] // what the key's balance was when last looked up; nil: it had none
	absent atomic.Uint64             // the table's edition at which the key had no balance

	_ [72]byte // to 128: a balance shares no pair of cache lines with another
}

// Key returns the lower-cased key. The balance in use may be that of [Other];
// [Reservation.Partition] tells.
func (p *Partition) Key() string { return p.key }

// Replenish adds Config.Replenish tokens for a call that succeeded without a
// retry, up to the capacity, and returns how many were added. On a full
// partition it is one atomic load.
func (p *Partition) Replenish() (added int) {
	if word(p.state.Load())&settledMask == p.full {
		return 0
	}
	return p.replenish()
}

func (p *Partition) replenish() (added int) {
	for {
		q := p.balance()
		if q == nil {
			q = p.bucket.other
		}
		w := word(q.state.Load()) // if dropped meanwhile, then full: nothing to add
		added = min(p.bucket.cfg.Replenish, p.bucket.cfg.Capacity-w.tokens())
		if added == 0 || q.change(w, w.moved(added, 0)) {
			return added
		}
	}
}

// Level returns the tokens that a Reserve would find now.
func (p *Partition) Level() int {
	for {
		q := p.balance()
		if q == nil {
			return p.bucket.levelWithoutBalance()
		}
		if w := word(q.state.Load()); !w.gone() {
			return w.tokens()
		}
	}
}

// Reserve takes the price of a retry of kind k from the balance, giving the key
// one if it has none and there is room. If the balance is too low, it takes
// nothing and returns an [*ExhaustedError]; an unknown kind is another error.
func (p *Partition) Reserve(k Kind) (*Reservation, error) {
	need, err := p.bucket.cfg.price(k)
	if err != nil {
		return nil, err
	}
	for {
		q := p.balance()
		if q == nil {
			q = p.bucket.admit(p)
		}
		w := word(q.state.Load())
		if w.gone() {
			continue
		}
		if w.tokens() < need {
			return nil, &ExhaustedError{Partition: q.key, Available: w.tokens(), Need: need}
		}
		if next := w.moved(-need, need); q.change(w, next) {
			return &Reservation{from: q, tokens: int32(need), level: int32(next.tokens())}, nil
		}
	}
}

// settle closes a reservation of reserved tokens, of which keep are the price.
func (p *Partition) settle(reserved, keep int) Settlement {
	for {
		w := word(p.state.Load())
		refund := min(reserved-keep, p.bucket.cfg.Capacity-w.tokens())
		if next := w.moved(refund, -reserved); p.change(w, next) {
			return Settlement{
				Reserved: reserved,
				Kept:     keep,
				Refunded: refund,
				Overflow: reserved - keep - refund,
				Level:    next.tokens(),
			}
		}
	}
}

// change replaces w by next, if w still is the state, and keeps the bucket's
// count of spare places right.
func (p *Partition) change(w, next word) bool {
	if !p.state.CompareAndSwap(uint64(w), uint64(next)) {
		return false
	}
	if p == p.bucket.other {
		return true
	}
	switch {
	case w == p.full && next != p.full:
		p.bucket.spare.Add(-1)
	case w != p.full && next == p.full:
		p.bucket.spare.Add(1)
	}
	return true
}

// balance returns the partition that holds the balance of p's key: p itself
// unless it was dropped, or nil if the key has none. The result may be dropped
// at any time, which its state tells.
//
// Without a lock it relies on two facts: a partition that is not dropped is the
// only one of its key, and a key that has no balance gains one only together
// with a new edition of the table.
func (p *Partition) balance() *Partition {
	if !word(p.state.Load()).gone() {
		return p
	}
	if q := p.heir.Load(); q != nil && !word(q.state.Load()).gone() {
		return q
	}
	b := p.bucket
	if p.absent.Load() == b.edition.Load() {
		return nil
	}
	b.mu.RLock()
	q, edition := b.table[p.key], b.edition.Load()
	b.mu.RUnlock()
	p.heir.Store(q)
	if q == nil {
		p.absent.Store(edition)
	}
	return q
}
