package breaker

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Config describes a [Breaker]. The zero value is the default of every field.
// Durations are rounded up to whole milliseconds and are at most 30 days.
type Config struct {
	// Store keeps the gates. nil: a memory store of this Breaker's own, which is
	// also the fastest.
	Store Store
	// ConsecutiveFailures is the streak that opens a gate whose window holds
	// fewer than MinCalls samples. 0: 5; negative: streaks never open, though
	// a streak of MinCalls still counts as a rate.
	ConsecutiveFailures int
	// FailureRate is the share of failures in the window, in (0, 1], from which
	// a gate opens. 0: 0.5; negative: no rate, and no streak is noise. One of
	// the two must be on.
	FailureRate float64
	// MinCalls is how many samples the window must hold before the rate
	// counts. 0: 20; negative is an error.
	MinCalls int
	// BucketWidth is half of the window's length: the window holds the current
	// bucket and the one before. 0: 30 s; otherwise at least 1 ms.
	BucketWidth time.Duration
	// Cooldown is how long a first opening lasts. 0: 60 s; otherwise at least
	// 1 ms.
	Cooldown time.Duration
	// MaxCooldown bounds the doubled cooldowns. 0: 10 min, or Cooldown if that
	// is longer; otherwise at least Cooldown.
	MaxCooldown time.Duration
	// ProbeLease is how long a probe may take before the next caller may probe
	// in its place. 0: 30 s; otherwise at least 1 ms.
	ProbeLease time.Duration
	// StoreTimeout bounds each operation on Store. 0: 250 ms; negative: none
	// but the store's own. The memory store needs none.
	StoreTimeout time.Duration
	// MaxKeys bounds the gates that the memory store keeps, and those that the
	// Breaker keeps while Store fails. 0: 4096; negative is an error.
	MaxKeys int
	// OnChange is called after each change of state, outside all locks, on the
	// goroutine on which it happened. It may use the Breaker. nil: nobody is
	// told but hooks.
	OnChange func(events.BreakerChanged)
	// OnPanic receives what a hook or OnChange panicked with on a background
	// goroutine. nil: it is only counted, see Breaker.HookPanics.
	OnPanic func(any)
}

func (c Config) withDefaults() (Config, error) {
	if c.ConsecutiveFailures == 0 {
		c.ConsecutiveFailures = 5
	}
	if c.FailureRate == 0 {
		c.FailureRate = 0.5
	}
	if math.IsNaN(c.FailureRate) || c.FailureRate > 1 {
		return c, fmt.Errorf("breaker: Config.FailureRate is %v; give a share in (0, 1], or a negative one for none", c.FailureRate)
	}
	if c.FailureRate > 0 && c.FailureRate < 1e-6 {
		return c, fmt.Errorf("breaker: Config.FailureRate is %v; the finest rate is 1e-6", c.FailureRate)
	}
	if c.ConsecutiveFailures < 0 && c.FailureRate < 0 {
		return c, fmt.Errorf("breaker: Config.ConsecutiveFailures (%d) and Config.FailureRate (%v) are both off; nothing would ever open, use no breaker instead",
			c.ConsecutiveFailures, c.FailureRate)
	}
	for _, n := range []struct {
		field string
		value *int
		unset int
	}{{"MinCalls", &c.MinCalls, 20}, {"MaxKeys", &c.MaxKeys, 4096}} {
		if *n.value < 0 {
			return c, fmt.Errorf("breaker: Config.%s is %d; give a positive number, or 0 for %d", n.field, *n.value, n.unset)
		}
		if *n.value == 0 {
			*n.value = n.unset
		}
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		unset time.Duration
	}{
		{"BucketWidth", &c.BucketWidth, 30 * time.Second},
		{"Cooldown", &c.Cooldown, 60 * time.Second},
		{"ProbeLease", &c.ProbeLease, 30 * time.Second},
	} {
		if err := setDuration(d.field, d.value, d.unset); err != nil {
			return c, err
		}
	}
	if err := setDuration("MaxCooldown", &c.MaxCooldown, max(10*time.Minute, c.Cooldown)); err != nil {
		return c, err
	}
	if c.MaxCooldown < c.Cooldown {
		return c, fmt.Errorf("breaker: Config.MaxCooldown is %v; it may not be shorter than Cooldown, %v", c.MaxCooldown, c.Cooldown)
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = 250 * time.Millisecond
	}
	return c, nil
}

// longest bounds durations, so that their milliseconds fit 32 bits.
const longest = 30 * 24 * time.Hour

func setDuration(field string, d *time.Duration, unset time.Duration) error {
	switch {
	case *d == 0:
		*d = unset
	case *d < time.Millisecond:
		return fmt.Errorf("breaker: Config.%s is %v; give at least 1ms, or 0 for %v", field, *d, unset)
	case *d > longest:
		return fmt.Errorf("breaker: Config.%s is %v; give at most %v", field, *d, longest)
	}
	*d = ceilMillis(*d)
	return nil
}

func ceilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// params turns a complete Config into the rules of its gates.
func (c Config) params() Params {
	return Params{
		ConsecutiveFailures: max(0, c.ConsecutiveFailures),
		FailureRate:         max(0, int(math.Round(c.FailureRate*1e6))),
		MinCalls:            c.MinCalls,
		BucketWidth:         c.BucketWidth,
		Cooldown:            c.Cooldown,
		MaxCooldown:         c.MaxCooldown,
		ProbeLease:          c.ProbeLease,
		Timeout:             max(0, c.StoreTimeout),
	}
}
