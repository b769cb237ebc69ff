package budget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// churn runs many goroutines that reserve, settle, replenish and make handles
// for more keys than b has room for, and returns what was kept, overflowed and
// added. Meanwhile it asserts that no level leaves 0 to capacity.
func churn(t *testing.T, b *Bucket, keys int, settle func(*rand.Rand, *Reservation) Settlement) (kept, overflow, added int64) {
	const workers, rounds = 32, 1500
	var keptSum, overflowSum, addedSum atomic.Int64
	capacity := b.Capacity()
	within := func(what string, level int) {
		if level < 0 || level > capacity {
			t.Errorf("%s: level %d outside 0 to %d", what, level, capacity)
		}
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			for name, l := range b.Levels() {
				within(name, l.Tokens)
				if l.Reserved < 0 || l.Reserved > workers*2*b.cfg.Cost {
					t.Errorf("%s: %d reserved", name, l.Reserved)
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	var workersDone sync.WaitGroup
	for i := range workers {
		workersDone.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			key := func() string { return fmt.Sprint("host", rng.IntN(keys)) }
			handles := make([]*Partition, 4) // some grow old
			for j := range handles {
				handles[j] = b.Partition(key())
			}
			var open []*Reservation
			closeOne := func() {
				s := settle(rng, open[0])
				if s.Reserved != s.Kept+s.Refunded+s.Overflow || s.Reserved != open[0].Tokens() {
					t.Errorf("unbalanced %+v", s)
				}
				within("settlement", s.Level)
				if again := open[0].Cancel(); again != (Settlement{}) {
					t.Errorf("second settlement %+v", again)
				}
				keptSum.Add(int64(s.Kept))
				overflowSum.Add(int64(s.Overflow))
				open = open[1:]
			}
			for range rounds {
				p := handles[rng.IntN(len(handles))]
				switch op := rng.IntN(16); {
				case op < 5:
					r, err := p.Reserve(Kind(rng.IntN(2)))
					var exhausted *ExhaustedError
					if err == nil {
						within("reservation", r.Level())
						if name := r.Partition(); name != p.Key() && name != Other {
							t.Errorf("%s paid for %s", name, p.Key())
						}
						open = append(open, r)
					} else if !errors.As(err, &exhausted) || exhausted.Available >= exhausted.Need {
						t.Errorf("Reserve: %v", err)
					}
				case op < 9:
					addedSum.Add(int64(p.Replenish()))
				case op < 10:
					within(p.Key(), p.Level())
				case op < 11:
					within("by key", b.Level(key()))
				case op < 12:
					handles[rng.IntN(len(handles))] = b.Partition(key())
				default:
					if len(open) > 0 {
						closeOne()
					}
				}
				if len(open) > 1 {
					closeOne()
				}
			}
			for len(open) > 0 {
				closeOne()
			}
		})
	}
	workersDone.Wait()
	close(done)
	wg.Wait()
	checkTable(t, b)
	return keptSum.Load(), overflowSum.Load(), addedSum.Load()
}

// missing returns how many tokens all balances lack to be full, and asserts
// that none is reserved.
func missing(t *testing.T, b *Bucket) (sum int64) {
	for name, l := range b.Levels() {
		sum += int64(l.Capacity - l.Tokens)
		if l.Reserved != 0 {
			t.Errorf("%s: %d tokens reserved by nobody", name, l.Reserved)
		}
	}
	return sum
}

func TestConcurrentUseNeitherLosesNorDoublesTokens(t *testing.T) {
	settlements := map[string]func(*rand.Rand, *Reservation) Settlement{
		"all outcomes": func(rng *rand.Rand, r *Reservation) Settlement {
			if o := rng.IntN(4); o < 3 {
				return r.Settle(Outcome(o))
			}
			return r.Cancel()
		},
		"refunds only": func(_ *rand.Rand, r *Reservation) Settlement { return r.Settle(Refund) },
	}
	for name, settle := range settlements {
		for _, size := range []struct{ partitions, keys int }{{1, 1}, {1, 3}, {3, 8}, {64, 64}} {
			t.Run(fmt.Sprintf("%s/%d keys in %d partitions", name, size.keys, size.partitions), func(t *testing.T) {
				c := Default()
				c.Capacity, c.ThrottleCost, c.MaxPartitions = 100, 3, size.partitions
				b, err := New(c)
				if err != nil {
					t.Fatal(err)
				}
				kept, overflow, added := churn(t, b, size.keys, settle)
				if got, want := missing(t, b), kept+overflow-added; got != want {
					t.Errorf("%d tokens are missing, want kept %d + overflow %d - added %d = %d", got, kept, overflow, added, want)
				}
			})
		}
	}
}

func TestRefundsAloneLeaveEveryPartitionFull(t *testing.T) {
	b := small(t, 3)
	b.cfg.Replenish = 0
	kept, overflow, added := churn(t, b, 8, func(_ *rand.Rand, r *Reservation) Settlement { return r.Settle(Refund) })
	if kept != 0 || overflow != 0 || added != 0 || missing(t, b) != 0 {
		t.Errorf("kept %d, overflow %d, added %d, missing %d; want none", kept, overflow, added, missing(t, b))
	}
}

func TestOneReservationIsSettledOnceByManyGoroutines(t *testing.T) {
	p := small(t, 1).Partition("a")
	for range 200 {
		r := take(t, p, "a")
		var moved atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				var s Settlement
				if i%2 == 0 {
					s = r.Settle(Refund)
				} else {
					s = r.Cancel()
				}
				moved.Add(int64(s.Refunded))
			})
		}
		wg.Wait()
		if moved.Load() != 10 || p.Level() != 500 {
			t.Fatalf("%d tokens went back, level %d", moved.Load(), p.Level())
		}
	}
}

func TestFiftyRetriesAreGrantedToAnyNumberOfCallers(t *testing.T) {
	p := small(t, 1).Partition("a")
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 3 {
				if _, err := p.Reserve(Transient); err == nil {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if granted.Load() != 50 || p.Level() != 0 {
		t.Errorf("%d reservations granted, level %d; want 50 and 0", granted.Load(), p.Level())
	}
}
