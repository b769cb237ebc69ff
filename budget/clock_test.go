package budget

import (
	"context"
	"math"
	"math/big"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// stepped returns t as read on a wall clock that was set forward by d (whole
// seconds) while the monotonic clock went on as before. A suspend on a platform
// whose monotonic clock stands still looks the same. There is no public way to
// make such a time; the layout is checked before it is trusted.
func stepped(t testing.TB, at time.Time, d time.Duration) time.Time {
	t.Helper()
	out := at
	wall := (*uint64)(unsafe.Pointer(&out)) // has-monotonic bit, 33 bits of seconds, 30 bits of nanoseconds
	*wall += uint64(d/time.Second) << 30
	if out.Sub(at) != 0 || out.Round(0).Sub(at.Round(0)) != d {
		t.Fatalf("time.Time has another layout: monotonic moved by %v, wall by %v", out.Sub(at), out.Round(0).Sub(at.Round(0)))
	}
	return out
}

var never time.Time

func TestAClockStopsAtTheEarlierOfTotalAndDeadline(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for _, tt := range []struct {
		name     string
		total    time.Duration
		deadline time.Time
		stop     time.Time
		left     time.Duration
	}{
		{"the total alone", 2 * time.Minute, never, start.Add(2 * time.Minute), 2 * time.Minute},
		{"the total first", 5 * time.Second, start.Add(time.Minute), start.Add(5 * time.Second), 5 * time.Second},
		{"the deadline first", time.Minute, start.Add(5 * time.Second), start.Add(5 * time.Second), 5 * time.Second},
		{"no total", -1, start.Add(time.Hour), start.Add(time.Hour), time.Hour},
		{"neither", -1, never, never, math.MaxInt64},
		{"a total of nothing", 0, never, start, 0},
		{"a deadline that has passed", time.Minute, start.Add(-time.Second), start, 0},
		{"a deadline long passed", time.Minute, time.Unix(-1<<55, 0), start, 0},
		{"a deadline beyond expression", -1, time.Unix(1<<55, 0), never, math.MaxInt64},
		{"a total beyond expression", math.MaxInt64, never, never, math.MaxInt64},
		{"a total almost beyond", math.MaxInt64 - 1, never, start.Add(math.MaxInt64 - 1), math.MaxInt64 - 1},
	} {
		c := StartClockAt(start, tt.total, tt.deadline)
		if got := c.Stop(); !got.Equal(tt.stop) || got.IsZero() != tt.stop.IsZero() {
			t.Errorf("%s: Stop() = %v, want %v", tt.name, got, tt.stop)
		}
		if got := c.RemainingAt(start); got != tt.left {
			t.Errorf("%s: RemainingAt(start) = %v, want %v", tt.name, got, tt.left)
		}
	}
}

func TestAClockRefusesWaitsThatEndAfterTheStop(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	limited, endless := StartClockAt(start, 10*time.Second, never), StartClockAt(start, -1, never)
	for _, tt := range []struct {
		name  string
		clock Clock
		after time.Duration
		delay time.Duration
		want  bool
	}{
		{"a wait that fits", limited, 0, 9 * time.Second, true},
		{"a wait that ends at the stop", limited, 4 * time.Second, 6 * time.Second, true},
		{"a nanosecond too long", limited, 4 * time.Second, 6*time.Second + 1, false},
		{"no wait just before the stop", limited, 10*time.Second - 1, 0, true},
		{"no wait at the stop", limited, 10 * time.Second, 0, false},
		{"no wait after the stop", limited, time.Hour, 0, false},
		{"a negative wait in time", limited, 0, -time.Hour, true},
		{"a negative wait at the stop", limited, 10 * time.Second, -time.Hour, false},
		{"a wait whose end overflows", limited, 9 * time.Second, math.MaxInt64, false},
		{"before the start", limited, -time.Hour, 10*time.Second + 1, false},
		{"the longest wait without an end", endless, time.Hour, math.MaxInt64, true},
		{"the zero clock", Clock{}, 0, 0, false},
	} {
		if got := tt.clock.AllowsAt(start.Add(tt.after), tt.delay); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if left := limited.RemainingAt(start.Add(time.Hour)); left != 0 {
		t.Errorf("%v remain after the stop", left)
	}
}

func TestSteppingTheWallClockMovesNoClock(t *testing.T) {
	start := time.Now()
	deadlines := map[string]time.Time{
		"no deadline":                  never,
		"a monotonic deadline":         start.Add(10 * time.Second),
		"a deadline on the wall clock": start.Add(10 * time.Second).Round(0),
	}
	for name, deadline := range deadlines {
		for _, total := range []time.Duration{10 * time.Second, -1} {
			if total < 0 && deadline.IsZero() {
				continue
			}
			c := StartClockAt(start, total, deadline)
			for _, step := range []time.Duration{0, 6 * time.Hour, -6 * time.Hour} {
				now := stepped(t, start.Add(4*time.Second), step)
				if got := c.RemainingAt(now); got != 6*time.Second {
					t.Errorf("%s, total %v, step %v: %v remain, want 6s", name, total, step, got)
				}
				if !c.AllowsAt(now, 6*time.Second) || c.AllowsAt(now, 6*time.Second+1) {
					t.Errorf("%s, total %v, step %v: the stop moved", name, total, step)
				}
			}
		}
	}
}

func TestTimeSuspendedDoesNotCountWhereTheMonotonicClockStands(t *testing.T) {
	start := time.Now()
	c := StartClockAt(start, time.Minute, start.Add(30*time.Second).Round(0))
	woken := stepped(t, start.Add(5*time.Second), 8*time.Hour) // five seconds awake, eight hours asleep
	if got := c.RemainingAt(woken); got != 25*time.Second {
		t.Errorf("%v remain after a suspend, want 25s", got)
	}
	// Times without a monotonic reading do count it: there is nothing else to go by.
	wall := StartClockAt(start.Round(0), time.Minute, never)
	if got := wall.RemainingAt(woken.Round(0)); got != 0 {
		t.Errorf("%v remain by the wall clock, want none", got)
	}
}

func TestAWallClockThatGoesBackNeverLengthensAClock(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	c := StartClockAt(start, time.Minute, never)
	if got := c.RemainingAt(start.Add(-24 * time.Hour)); got != time.Minute {
		t.Errorf("%v remain, want no more than the total", got)
	}
}

func TestAClockRunsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		deadline, _ := ctx.Deadline()
		c := StartClock(time.Minute, deadline)
		<-time.After(4 * time.Second) // virtual time
		if got := c.Remaining(); got != 6*time.Second {
			t.Errorf("%v remain, want 6s", got)
		}
		if !c.Allows(6*time.Second) || c.Allows(6*time.Second+1) {
			t.Error("the clock does not stop with its context")
		}
		<-ctx.Done()
		if c.Remaining() != 0 || c.Allows(0) || !c.Stop().Equal(time.Now()) {
			t.Errorf("the clock goes on after its context: %v", c.Remaining())
		}
	})
}

func TestAClockDoesNotAllocate(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	allowed := true
	if n := testing.AllocsPerRun(100, func() {
		c := StartClock(time.Minute, deadline)
		allowed = allowed && c.Allows(time.Second) && c.Remaining() > 0
	}); n != 0 || !allowed {
		t.Errorf("%v allocations, allowed: %v", n, allowed)
	}
}

// FuzzClock compares a clock with exact arithmetic, in times before and after
// the start, deadlines up to centuries away, and any delay.
func FuzzClock(f *testing.F) {
	f.Add(int64(120e9), int64(0), int64(1e9), int64(5e9), false)
	f.Add(int64(-1), int64(1e9), int64(2e9), int64(0), true)
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), true)
	f.Add(int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64), true)
	f.Add(int64(10), int64(5), int64(5), int64(0), true)
	f.Fuzz(func(t *testing.T, total, deadlineIn, elapsed, delay int64, withDeadline bool) {
		start := time.Unix(1_700_000_000, 0)
		var deadline time.Time
		if withDeadline {
			deadline = start.Add(time.Duration(deadlineIn))
		}
		now := start.Add(time.Duration(elapsed))
		c := StartClockAt(start, time.Duration(total), deadline)

		limit, ends := big.NewInt(math.MaxInt64), false
		for _, end := range []struct {
			in      int64
			applies bool
		}{{total, total >= 0}, {max(0, deadlineIn), withDeadline}} {
			if in := big.NewInt(end.in); end.applies && in.Cmp(limit) < 0 {
				limit, ends = in, true
			}
		}
		want := new(big.Int).Set(limit)
		if ends {
			want.Sub(want, big.NewInt(max(0, elapsed)))
			if want.Sign() < 0 {
				want.SetInt64(0)
			}
		}
		got := c.RemainingAt(now)
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("%v remain, want %v ns", got, want)
		}
		allowed := want.Sign() > 0 && big.NewInt(delay).Cmp(want) <= 0
		if c.AllowsAt(now, time.Duration(delay)) != allowed {
			t.Fatalf("AllowsAt(%d) = %v with %v ns left", delay, !allowed, want)
		}
		if c.Stop().IsZero() == ends {
			t.Fatalf("Stop() = %v, but ends: %v", c.Stop(), ends)
		}
		if ends && c.Stop().Sub(start) != time.Duration(limit.Int64()) {
			t.Fatalf("Stop() is %v after the start, want %v ns", c.Stop().Sub(start), limit)
		}
	})
}
