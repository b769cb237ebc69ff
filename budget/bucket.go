package budget

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Other is the name of the balance that keys share while MaxPartitions
// partitions are below capacity or in use. As a key it means that balance.
const Other = "_other"

// A Bucket holds retry tokens per partition. Make one with [New]; several
// clients may share it. It must not be copied.
type Bucket struct {
	cfg   Config     // immutable
	other *Partition // the balance named Other; never dropped; immutable

	_ [64]byte // what follows is written; what stands above is read by every call

	// edition counts the partitions that entered the table, from 1. Written
	// under mu, read without. Handles without a balance read it on each use.
	edition atomic.Uint64

	_ [64]byte

	// spare is MaxPartitions less the partitions that are below capacity or in
	// use: how many keys could still get a balance of their own. It lags behind
	// their states by the instant between two atomic operations.
	spare atomic.Int64

	otherUsed atomic.Bool // whether a key ever had to share other

	mu    sync.RWMutex
	table map[string]*Partition // by key; none is dropped; guarded by mu
	ring  []*Partition          // the values of table, each in a place of its own; guarded by mu
	hand  int                   // place in ring whose turn it is to be dropped; guarded by mu
}

// Level is the state of one partition at one instant, in tokens.
type Level struct {
	Tokens   int // what a Reserve would find: 0 to Capacity
	Capacity int // Config.Capacity
	Reserved int // tokens in open reservations; may exceed Capacity-Tokens, as successful calls refill meanwhile
}

// New returns a bucket whose partitions are all full. The error names the field
// of c that is out of range, and its value; New(Config{}) is one.
func New(c Config) (*Bucket, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &Bucket{cfg: c, table: make(map[string]*Partition)}
	b.spare.Store(int64(c.MaxPartitions))
	b.edition.Store(1)
	b.other = b.handle(Other)
	b.other.state.Store(uint64(b.other.full))
	return b, nil
}

// Config returns the configuration that the bucket was made with.
func (b *Bucket) Config() Config { return b.cfg }

// Capacity returns Config.Capacity: the level of a full partition.
func (b *Bucket) Capacity() int { return b.cfg.Capacity }

// Partition returns a handle for key, which is lower-cased. It gives the key a
// balance if there is room, so that [Bucket.Levels] lists it; never fails; and
// is worth caching, as Replenish through a handle needs no look-up.
func (b *Bucket) Partition(key string) *Partition {
	key = strings.ToLower(key)
	if key == Other {
		b.otherUsed.Store(true)
		return b.other
	}
	if p := b.find(key); p != nil {
		return p
	}
	p := b.handle(strings.Clone(key)) // keys are often cut out of longer strings
	if q := b.admit(p); q != b.other {
		return q
	}
	return p // it gets a balance of its own when one is free at a later Reserve
}

// Reserve is [Partition.Reserve] by key.
func (b *Bucket) Reserve(key string, k Kind) (*Reservation, error) {
	return b.Partition(key).Reserve(k)
}

// Replenish is [Partition.Replenish] by key. It never makes a partition: for a
// key without a balance it goes to [Other], where such a key was charged.
func (b *Bucket) Replenish(key string) {
	if p := b.find(strings.ToLower(key)); p != nil {
		p.Replenish()
		return
	}
	b.other.Replenish()
}

// Level returns the tokens that a Reserve for key would find now. That is the
// capacity for an unknown key, unless no balance of its own is to be had: then
// it is the level of [Other]. It never makes a partition.
func (b *Bucket) Level(key string) int {
	if key = strings.ToLower(key); key == Other {
		return b.other.Level()
	}
	if p := b.find(key); p != nil {
		return p.Level()
	}
	return b.levelWithoutBalance()
}

// Levels returns every partition that has a balance, by name in lexical order:
// full ones too, and [Other] once a key had to share it. They are read before
// the first is yielded; each is consistent in itself, but as calls go on
// meanwhile, they need not be of one instant.
func (b *Bucket) Levels() iter.Seq2[string, Level] {
	type named struct {
		name  string
		level Level
	}
	return func(yield func(string, Level) bool) {
		b.mu.RLock()
		all := make([]named, 0, len(b.ring)+1)
		for _, p := range b.ring {
			all = append(all, named{p.key, p.level()})
		}
		b.mu.RUnlock()
		if b.otherUsed.Load() {
			all = append(all, named{Other, b.other.level()})
		}
		slices.SortFunc(all, func(x, y named) int { return cmp.Compare(x.name, y.name) })
		for _, n := range all {
			if !yield(n.name, n.level) {
				return
			}
		}
	}
}

// level reads the balance of p, which is not dropped.
func (p *Partition) level() Level {
	w := word(p.state.Load())
	return Level{Tokens: w.tokens(), Capacity: p.bucket.cfg.Capacity, Reserved: w.reserved()}
}

// levelWithoutBalance is the level of a key that has no balance.
func (b *Bucket) levelWithoutBalance() int {
	if b.spare.Load() > 0 {
		return b.cfg.Capacity
	}
	return b.other.Level()
}

// handle returns a new handle, dropped: full, and outside the table.
func (b *Bucket) handle(key string) *Partition {
	p := &Partition{full: word(b.cfg.Capacity), bucket: b, key: key}
	p.state.Store(uint64(p.full | dropped))
	return p
}

// find returns the partition of the lower-cased key in the table, or nil.
func (b *Bucket) find(key string) *Partition {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.table[key]
}

// admit gives the key of p, a dropped handle, a balance: the one that it has
// meanwhile; else p itself, put into the table; else, when no place is spare,
// that of other.
func (b *Bucket) admit(p *Partition) *Partition {
	// The edition is read after spare, so that the key had no balance of its
	// own at the moment at which there was no room for one.
	if b.spare.Load() > 0 || p.absent.Load() != b.edition.Load() {
		b.mu.Lock()
		q := b.admitLocked(p)
		b.mu.Unlock()
		if q != nil {
			return q
		}
	}
	b.otherUsed.Store(true)
	return b.other
}

func (b *Bucket) admitLocked(p *Partition) *Partition {
	if q := b.table[p.key]; q != nil {
		return q
	}
	if len(b.ring) < b.cfg.MaxPartitions {
		b.ring = append(b.ring, p)
	} else if place := b.dropLocked(); place >= 0 {
		b.ring[place] = p
	} else {
		p.absent.Store(b.edition.Load())
		return nil
	}
	b.table[p.key] = p
	p.state.Store(uint64(p.full))
	b.edition.Add(1)
	return p
}

// dropLocked takes the next partition in turn that is full and without
// reservations out of the table, and returns its place in the ring, or -1 if
// there is none. spare stays as it is: a full partition takes the place.
func (b *Bucket) dropLocked() int {
	if b.spare.Load() <= 0 {
		return -1 // spares the search, which is long when there is nothing to find
	}
	for range b.ring {
		place, p := b.hand, b.ring[b.hand]
		b.hand = (b.hand + 1) % len(b.ring)
		if p.state.CompareAndSwap(uint64(p.full), uint64(p.full|dropped)) {
			delete(b.table, p.key)
			return place
		}
	}
	return -1
}
