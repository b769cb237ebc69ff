package budget

import (
	"errors"
	"maps"
	"testing"
)

// balanceModel is a partition as a user understands it.
type balanceModel struct{ tokens, reserved int }

// bucketModel is a bucket as a user understands it: a key without an entry is
// full, which is why dropping full partitions must not show. It knows nothing
// of handles, of the table or of which partition is dropped next.
type bucketModel struct {
	cfg      Config
	balances map[string]*balanceModel
}

func (m *bucketModel) of(name string) *balanceModel {
	if m.balances[name] == nil {
		m.balances[name] = &balanceModel{tokens: m.cfg.Capacity}
	}
	return m.balances[name]
}

func (m *bucketModel) busy(name string) bool {
	b := m.of(name)
	return b.tokens < m.cfg.Capacity || b.reserved > 0
}

// crowded reports whether no further key can have a balance of its own.
func (m *bucketModel) crowded() bool {
	n := 0
	for name := range m.balances {
		if name != Other && m.busy(name) {
			n++
		}
	}
	return n >= m.cfg.MaxPartitions
}

// payer is the balance that a Reserve of key must be charged to.
func (m *bucketModel) payer(key string) string {
	if m.busy(key) || !m.crowded() {
		return key
	}
	return Other
}

// openReservation is a reservation and what the model knows of it.
type openReservation struct {
	real   *Reservation
	from   string
	tokens int
}

// FuzzBucket runs operations on a few keys, through handles of any age and by
// key, against bucketModel. Each operation is two bytes: what, and on which.
func FuzzBucket(f *testing.F) {
	f.Add(byte(1), []byte{0, 0, 0, 1, 1, 0, 2, 1, 3, 0, 1, 1})
	f.Add(byte(2), []byte{1, 0, 1, 1, 1, 2, 1, 3, 4, 0, 4, 0, 4, 0, 3, 2, 3, 3, 1, 2})
	f.Add(byte(1), []byte{0, 0, 1, 1, 4, 0, 1, 2, 2, 2, 3, 0, 3, 1, 6, 2, 0, 0, 1, 0, 7, 0})
	f.Add(byte(3), []byte{8, 0, 8, 1, 8, 2, 8, 3, 5, 0, 5, 0, 9, 1, 9, 2, 2, 0, 2, 1, 2, 2, 8, 4})
	f.Fuzz(func(t *testing.T, setup byte, ops []byte) {
		cfg := Config{Capacity: 20, Cost: 10, ThrottleCost: 3, FailureCost: 5, SuccessCost: 1,
			Replenish: 1 + int(setup>>4), MaxPartitions: 1 + int(setup%4)}
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m := &bucketModel{cfg: cfg, balances: map[string]*balanceModel{}}
		keys := []string{"a", "b", "c", "d", "e", "f"}
		handles := []*Partition{}
		pending := []openReservation{}

		reserve := func(key string, kind Kind, by func(Kind) (*Reservation, error)) {
			payer := m.payer(key)
			need, balance := cfg.Cost, m.of(payer)
			if kind == Throttled {
				need = cfg.ThrottleCost
			}
			r, err := by(kind)
			var exhausted *ExhaustedError
			switch {
			case balance.tokens < need:
				if !errors.As(err, &exhausted) || *exhausted != (ExhaustedError{payer, balance.tokens, need}) {
					t.Fatalf("Reserve %s: %v, %v; want a refusal by %s with %d of %d", key, r, err, payer, balance.tokens, need)
				}
			case err != nil:
				t.Fatalf("Reserve %s: %v; want it granted by %s with %d", key, err, payer, balance.tokens)
			default:
				balance.tokens -= need
				balance.reserved += need
				if r.Partition() != payer || r.Tokens() != need || r.Level() != balance.tokens {
					t.Fatalf("Reserve %s: %d of %s leave %d; want %d of %s leave %d", key, r.Tokens(), r.Partition(), r.Level(), need, payer, balance.tokens)
				}
				pending = append(pending, openReservation{r, payer, need})
			}
		}
		replenish := func(key string, listed map[string]Level, by func() int) {
			name := key
			if _, own := listed[key]; !own {
				name = Other
			}
			balance := m.of(name)
			want := min(cfg.Replenish, cfg.Capacity-balance.tokens)
			balance.tokens += want
			if got := by(); got != want {
				t.Fatalf("Replenish %s added %d to %s, want %d", key, got, name, want)
			}
		}

		ops = ops[:min(len(ops), 400)] // longer ones find nothing new and cost time
		for len(ops) >= 2 {
			op, arg := ops[0], int(ops[1])
			ops = ops[2:]
			key := keys[arg%len(keys)]
			listed := maps.Collect(b.Levels())
			switch op % 10 {
			case 0:
				handles = append(handles, b.Partition(key))
			case 1:
				reserve(key, Transient, func(k Kind) (*Reservation, error) { return b.Reserve(key, k) })
			case 2:
				replenish(key, listed, func() int {
					name := key
					if _, own := listed[key]; !own {
						name = Other
					}
					before := b.Level(name)
					b.Replenish(key)
					return b.Level(name) - before
				})
			case 3, 4, 5, 6:
				if len(pending) == 0 {
					continue
				}
				i := arg % len(pending)
				r := pending[i]
				pending = append(pending[:i:i], pending[i+1:]...)
				kept := [...]int{min(cfg.SuccessCost, r.tokens), min(cfg.FailureCost, r.tokens), r.tokens, 0}[op%10-3]
				balance := m.of(r.from)
				refunded := min(r.tokens-kept, cfg.Capacity-balance.tokens)
				balance.tokens += refunded
				balance.reserved -= r.tokens
				want := Settlement{Reserved: r.tokens, Kept: kept, Refunded: refunded, Overflow: r.tokens - kept - refunded, Level: balance.tokens}
				var got Settlement
				if op%10 == 6 {
					got = r.real.Cancel()
				} else {
					got = r.real.Settle(Outcome(op%10 - 3))
				}
				if got != want || r.real.Settle(Charge) != (Settlement{}) {
					t.Fatalf("settling %d of %s gives %+v, want %+v once", r.tokens, r.from, got, want)
				}
			default:
				if len(handles) == 0 {
					continue
				}
				p := handles[arg%len(handles)]
				switch op % 10 {
				case 7:
					replenish(p.Key(), listed, p.Replenish)
				case 8:
					reserve(p.Key(), Throttled, p.Reserve)
				case 9:
					reserve(p.Key(), Transient, p.Reserve)
				}
			}
			checkTable(t, b)
			checkModel(t, b, m, keys, handles)
		}
	})
}

// checkModel asserts that b shows what m says, every way there is to look.
func checkModel(t *testing.T, b *Bucket, m *bucketModel, keys []string, handles []*Partition) {
	t.Helper()
	listed := map[string]bool{}
	for name, l := range b.Levels() {
		listed[name] = true
		if want := m.of(name); l != (Level{want.tokens, m.cfg.Capacity, want.reserved}) {
			t.Fatalf("%s is listed as %+v, want %+v", name, l, *want)
		}
	}
	for name := range m.balances {
		if m.busy(name) && !listed[name] {
			t.Fatalf("%s is busy and not listed", name)
		}
	}
	for _, key := range keys {
		if got, want := b.Level(key), m.of(m.payer(key)).tokens; got != want {
			t.Fatalf("level of %s is %d, want %d", key, got, want)
		}
	}
	for _, p := range handles {
		if got, want := p.Level(), m.of(m.payer(p.Key())).tokens; got != want {
			t.Fatalf("level of the handle of %s is %d, want %d", p.Key(), got, want)
		}
	}
}
