package breaker

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTheZeroConfigIsTheDefault(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := b.Config()
	if c.ConsecutiveFailures != 5 || c.FailureRate != 0.5 || c.MinCalls != 20 || c.BucketWidth != 30*time.Second ||
		c.Cooldown != time.Minute || c.MaxCooldown != 10*time.Minute || c.ProbeLease != 30*time.Second ||
		c.StoreTimeout != 250*time.Millisecond || c.MaxKeys != 4096 {
		t.Errorf("the defaults are %+v", c)
	}
}

func TestAnInvalidConfigNamesItsFieldAndValue(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   []string
	}{
		{Config{FailureRate: 1.5}, []string{"FailureRate", "1.5"}},
		{Config{FailureRate: math.NaN()}, []string{"FailureRate", "NaN"}},
		{Config{FailureRate: 1e-9}, []string{"FailureRate", "1e-09"}},
		{Config{FailureRate: -1, ConsecutiveFailures: -2}, []string{"FailureRate", "-1", "ConsecutiveFailures", "-2"}},
		{Config{MinCalls: -3}, []string{"MinCalls", "-3"}},
		{Config{MaxKeys: -4}, []string{"MaxKeys", "-4"}},
		{Config{BucketWidth: -time.Second}, []string{"BucketWidth", "-1s"}},
		{Config{Cooldown: time.Microsecond}, []string{"Cooldown", "1µs"}},
		{Config{Cooldown: 31 * 24 * time.Hour}, []string{"Cooldown", "744h"}},
		{Config{MaxCooldown: time.Second}, []string{"MaxCooldown", "1s", "1m"}},
		{Config{ProbeLease: -1}, []string{"ProbeLease", "-1ns"}},
	} {
		b, err := New(test.config)
		if err == nil || b != nil {
			t.Errorf("New(%+v) gave no error", test.config)
			continue
		}
		for _, want := range append(test.want, "breaker: Config.") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("New(%+v): %q does not contain %q", test.config, err, want)
			}
		}
	}
}

func TestDurationsAreRoundedUpToMilliseconds(t *testing.T) {
	b, err := New(Config{Cooldown: 1500 * time.Microsecond, ProbeLease: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if c := b.Config(); c.Cooldown != 2*time.Millisecond || c.ProbeLease != time.Millisecond {
		t.Errorf("Cooldown and ProbeLease are %v and %v, want 2ms and 1ms", c.Cooldown, c.ProbeLease)
	}
}

func TestALongCooldownRaisesTheDefaultMaximum(t *testing.T) {
	b, err := New(Config{Cooldown: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Config().MaxCooldown; got != time.Hour {
		t.Errorf("MaxCooldown is %v, want 1h", got)
	}
}
