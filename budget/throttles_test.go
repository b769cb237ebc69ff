package budget

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wantUntil asserts what th remembers of key at now; the zero time is nothing.
func wantUntil(t testing.TB, th *Throttles, now time.Time, key string, want time.Time) {
	t.Helper()
	if got, ok := th.UntilAt(now, key); !got.Equal(want) || ok != !want.IsZero() {
		t.Fatalf("UntilAt(%v, %q) = %v, %v; want %v", now, key, got, ok, want)
	}
}

func TestTheEarliestLiveDeadlineIsRemembered(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	th := NewThrottles(0)
	wantUntil(t, th, start, "a", never)

	th.RecordAt(start, "a", at(10))
	th.RecordAt(start, "a", at(30)) // a storm: each later than the one before
	th.RecordAt(at(5), "a", at(60))
	wantUntil(t, th, at(5), "a", at(10))
	th.RecordAt(at(5), "a", at(8))
	wantUntil(t, th, at(5), "a", at(8))
	wantUntil(t, th, at(5), "b", never)
	if th.Len() != 1 {
		t.Errorf("%d keys remembered", th.Len())
	}

	th.RecordAt(at(8), "a", at(20)) // the one at 8 has passed
	wantUntil(t, th, at(8), "a", at(20))
	th.RecordAt(at(8), "a", at(8)) // passed on arrival
	th.RecordAt(at(8), "a", at(1))
	wantUntil(t, th, at(20).Add(-1), "a", at(20))
	wantUntil(t, th, at(20), "a", never)
	if th.Len() != 0 {
		t.Errorf("a passed deadline is still remembered")
	}
}

func TestPassedDeadlinesAreForgottenWhenAnyKeyIsAsked(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	th := NewThrottles(0)
	for i := range 100 {
		th.RecordAt(start, fmt.Sprint(i), start.Add(time.Duration(i+1)*time.Second))
	}
	wantUntil(t, th, start.Add(60*time.Second), "unknown", never)
	if th.Len() != 40 {
		t.Errorf("%d remembered, want 40", th.Len())
	}
	wantUntil(t, th, start.Add(100*time.Second), "unknown", never)
	if th.Len() != 0 || len(th.queue) != 0 || len(th.byKey) != 0 {
		t.Errorf("%d remembered, want none", th.Len())
	}
}

func TestRoomIsMadeFromPassedDeadlinesAndThenTheEarliest(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	th := NewThrottles(3)
	th.RecordAt(start, "a", at(30))
	th.RecordAt(start, "b", at(10))
	th.RecordAt(start, "c", at(20))

	th.RecordAt(start, "a", at(5)) // a known key needs no room
	wantUntil(t, th, start, "a", at(5))
	if th.Len() != 3 {
		t.Fatalf("%d remembered", th.Len())
	}
	th.RecordAt(start, "d", at(1)) // a had become the earliest
	wantUntil(t, th, start, "a", never)
	wantUntil(t, th, start, "d", at(1))
	th.RecordAt(at(1), "e", at(40)) // d has passed, so b need not go
	for key, want := range map[string]time.Time{"b": at(10), "c": at(20), "d": never, "e": at(40)} {
		wantUntil(t, th, at(1), key, want)
	}
}

func TestTheMemoryIsBoundedUnlessToldOtherwise(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for _, th := range []*Throttles{NewThrottles(0), NewThrottles(-1), {}} {
		for i := range 10_000 {
			th.RecordAt(start, fmt.Sprint(i), start.Add(time.Duration(1+i)*time.Second))
		}
		if th.Len() != 4096 || len(th.byKey) != 4096 {
			t.Errorf("%d keys remembered", th.Len())
		}
		wantUntil(t, th, start, "9999", start.Add(10_000*time.Second))
		wantUntil(t, th, start, "5903", never)
		wantUntil(t, th, start, "5904", start.Add(5905*time.Second))
	}
}

func TestSteppingTheWallClockMovesNoThrottle(t *testing.T) {
	now := time.Now()
	until := now.Add(30 * time.Second)
	for name, recorded := range map[string]time.Time{"a delay in seconds": until, "an HTTP date": until.Round(0)} {
		th := NewThrottles(0)
		th.RecordAt(now, "a", recorded)
		for _, step := range []time.Duration{6 * time.Hour, -6 * time.Hour} {
			later := stepped(t, now.Add(10*time.Second), step)
			got, ok := th.UntilAt(later, "a")
			if !ok || got.Sub(later) != 20*time.Second || !got.Equal(recorded) {
				t.Errorf("%s, step %v: %v, %v", name, step, got.Sub(later), ok)
			}
		}
		if _, ok := th.UntilAt(stepped(t, until, -6*time.Hour), "a"); ok {
			t.Errorf("%s: still live when it has passed", name)
		}
	}
}

func TestADeadlineBeyondExpressionIsKeptAsItIs(t *testing.T) {
	now, far := time.Now(), time.Unix(1<<55, 0)
	th := NewThrottles(0)
	th.RecordAt(now, "a", far)
	th.RecordAt(now, "b", now.Add(math.MaxInt64))
	wantUntil(t, th, now, "a", far)
	wantUntil(t, th, now, "b", now.Add(math.MaxInt64))
}

func TestThrottlesRunByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := NewThrottles(0)
		until := time.Now().Add(time.Second)
		th.Record("a", until)
		if got, ok := th.Until("a"); !ok || !got.Equal(until) {
			t.Errorf("Until = %v, %v", got, ok)
		}
		<-time.After(time.Second)
		if _, ok := th.Until("a"); ok || th.Len() != 0 {
			t.Error("still live when it has passed")
		}
	})
}

func TestAskingWithNothingRememberedDoesNotAllocateOrLock(t *testing.T) {
	th := NewThrottles(0)
	th.mu.Lock() // so that any attempt to take it would hang
	defer th.mu.Unlock()
	if n := testing.AllocsPerRun(100, func() { th.Until("https://example.com:443") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestThrottlesHoldUnderConcurrentUse(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	th := NewThrottles(8)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 500 {
				now := start.Add(time.Duration(j) * time.Second)
				key := fmt.Sprint((i + j) % 12)
				th.RecordAt(now, key, now.Add(time.Duration(1+(i+j)%7)*time.Second))
				if until, ok := th.UntilAt(now, key); ok && !until.After(now) {
					t.Errorf("a passed deadline was given")
				}
				if n := th.Len(); n > 8 {
					t.Errorf("%d keys remembered, at most 8 allowed", n)
				}
			}
		})
	}
	wg.Wait()
	checkThrottles(t, th)
}

// checkThrottles asserts what ties th's parts together.
func checkThrottles(t testing.TB, th *Throttles) {
	t.Helper()
	if len(th.queue) != len(th.byKey) || th.Len() != len(th.byKey) {
		t.Fatalf("%d in the queue, %d by key, %d counted", len(th.queue), len(th.byKey), th.Len())
	}
	for i, e := range th.queue {
		if e.place != i || th.byKey[e.key] != e || i > 0 && e.until.Before(th.queue[(i-1)/2].until) {
			t.Fatalf("place %d of the queue holds %+v", i, *e)
		}
	}
}

func TestSpreadAddsUpToATenthAndAtMostASecond(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		r    float64
		want time.Duration
	}{
		{5 * time.Second, 0, 5 * time.Second},
		{5 * time.Second, 0.5, 5250 * time.Millisecond},
		{5 * time.Second, 1, 5500 * time.Millisecond},
		{time.Minute, 0.25, time.Minute + 250*time.Millisecond},
		{time.Minute, 1, time.Minute + time.Second},
		{time.Minute, math.Inf(1), time.Minute + time.Second},
		{time.Minute, -3, time.Minute},
		{time.Minute, math.NaN(), time.Minute},
		{9, 1, 9},
		{0, 1, 0},
		{-time.Second, 1, -time.Second},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MaxInt64 - 5, 1, math.MaxInt64},
		{math.MinInt64, 1, math.MinInt64},
	} {
		if got := Spread(tt.wait, tt.r); got != tt.want {
			t.Errorf("Spread(%v, %v) = %v, want %v", tt.wait, tt.r, got, tt.want)
		}
	}
}

// FuzzThrottles runs operations of three bytes (what and how far ahead, key,
// time that passes before) against a plain list.
func FuzzThrottles(f *testing.F) {
	f.Add(byte(2), []byte{3, 0, 0, 9, 0, 1, 0x80, 0, 2, 4, 1, 0, 5, 2, 0, 0x80, 1, 9})
	f.Add(byte(0), []byte{1, 1, 1, 2, 2, 0, 3, 3, 0, 0x81, 2, 3})
	f.Add(byte(3), []byte{20, 0, 0, 10, 1, 0, 5, 2, 0, 30, 3, 4, 30, 4, 6, 0x80, 0, 0, 0x80, 1, 0})
	f.Fuzz(func(t *testing.T, size byte, ops []byte) {
		limit := 1 + int(size%5)
		th := NewThrottles(limit)
		now := time.Unix(1_000_000, 0)
		model := map[string]time.Time{}
		ops = ops[:min(len(ops), 600)] // longer ones find nothing new and cost time
		for ; len(ops) >= 3; ops = ops[3:] {
			now = now.Add(time.Duration(ops[2]%16) * time.Second)
			for key, until := range model {
				if !until.After(now) {
					delete(model, key)
				}
			}
			key := string(rune('a' + ops[1]%8))
			if ops[0] < 0x80 {
				// A part of a second that tells the keys apart, so that "the earliest" is one key.
				until := now.Add(time.Duration(int(ops[0])-8)*time.Second + time.Duration(ops[1]%8))
				th.RecordAt(now, key, until)
				if until.After(now) {
					known, ok := model[key]
					if !ok && len(model) == limit {
						earliest := ""
						for k := range model {
							if earliest == "" || model[k].Before(model[earliest]) {
								earliest = k
							}
						}
						delete(model, earliest)
					}
					if !ok || until.Before(known) {
						model[key] = until
					}
				}
			}
			for k := range 8 {
				key := string(rune('a' + k))
				wantUntil(t, th, now, key, model[key])
			}
			if th.Len() != len(model) {
				t.Fatalf("%d remembered, want %d", th.Len(), len(model))
			}
			checkThrottles(t, th)
		}
	})
}
