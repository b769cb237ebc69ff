package budget_test

import (
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/budget"
)

func TestNewNamesTheFieldAndTheValueThatIsOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*budget.Config)
		want   string // "" : accepted
	}{
		{"the zero value", func(c *budget.Config) { *c = budget.Config{} }, "Config.Capacity is 0,"},
		{"a negative capacity", func(c *budget.Config) { c.Capacity = -1 }, "Config.Capacity is -1,"},
		{"an absurd capacity", func(c *budget.Config) { c.Capacity = budget.MaxCapacity + 1 }, "Config.Capacity is 1000001,"},
		{"the largest capacity", func(c *budget.Config) { c.Capacity = budget.MaxCapacity }, ""},
		{"a free retry", func(c *budget.Config) { c.Cost = 0 }, "Config.Cost is 0,"},
		{"a negative cost", func(c *budget.Config) { c.Cost = -10 }, "Config.Cost is -10,"},
		{"a retry that no partition can pay", func(c *budget.Config) { c.Capacity = 9 }, "Config.Cost is 10,"},
		{"a retry that takes all", func(c *budget.Config) { c.Capacity = 10 }, ""},
		{"a free throttled retry", func(c *budget.Config) { c.ThrottleCost = 0 }, "Config.ThrottleCost is 0,"},
		{"a negative throttled cost", func(c *budget.Config) { c.ThrottleCost = -5 }, "Config.ThrottleCost is -5,"},
		{"a throttled retry that no partition can pay", func(c *budget.Config) { c.ThrottleCost = 501 }, "Config.ThrottleCost is 501,"},
		{"a dearer throttled retry", func(c *budget.Config) { c.ThrottleCost = 500 }, ""},
		{"a failure that earns", func(c *budget.Config) { c.FailureCost = -1 }, "Config.FailureCost is -1,"},
		{"a failure that keeps more than was reserved", func(c *budget.Config) { c.FailureCost = 11 }, "Config.FailureCost is 11,"},
		{"a free failure", func(c *budget.Config) { c.FailureCost = 0 }, ""},
		{"a success that earns", func(c *budget.Config) { c.SuccessCost = -1 }, "Config.SuccessCost is -1,"},
		{"a success that costs more than a failure", func(c *budget.Config) { c.SuccessCost = 6 }, "Config.SuccessCost is 6,"},
		{"a success that costs as much as a failure", func(c *budget.Config) { c.SuccessCost = 5 }, ""},
		{"a healthy call that costs", func(c *budget.Config) { c.Replenish = -1 }, "Config.Replenish is -1,"},
		{"a healthy call that adds more than fits", func(c *budget.Config) { c.Replenish = 501 }, "Config.Replenish is 501,"},
		{"healthy calls that add nothing", func(c *budget.Config) { c.Replenish = 0 }, ""},
		{"no partitions", func(c *budget.Config) { c.MaxPartitions = 0 }, "Config.MaxPartitions is 0,"},
		{"negative partitions", func(c *budget.Config) { c.MaxPartitions = -1 }, "Config.MaxPartitions is -1,"},
		{"absurdly many partitions", func(c *budget.Config) { c.MaxPartitions = budget.MaxPartitionLimit + 1 }, "Config.MaxPartitions is 1000001,"},
		{"one partition", func(c *budget.Config) { c.MaxPartitions = 1 }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := budget.Default()
			tt.change(&c)
			b, err := budget.New(c)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("New: %v", err)
				}
				if b.Config() != c || b.Capacity() != c.Capacity {
					t.Errorf("Config() = %+v, want it unchanged: %+v", b.Config(), c)
				}
				return
			}
			if err == nil {
				t.Fatalf("New accepted %+v", c)
			}
			if b != nil {
				t.Error("New returned a bucket with its error")
			}
			if msg := err.Error(); !strings.HasPrefix(msg, "budget: ") || !strings.Contains(msg, tt.want) {
				t.Errorf("error %q, want it to begin with %q and to hold %q", msg, "budget: ", tt.want)
			}
		})
	}
}

func TestEveryProfileIsAcceptedAndReadsAsDocumented(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  budget.Config
		want budget.Config
	}{
		{"Default", budget.Default(), budget.Config{Capacity: 500, Cost: 10, ThrottleCost: 10, FailureCost: 5, SuccessCost: 0, Replenish: 1, MaxPartitions: 4096}},
		{"AWS2026", budget.AWS2026(), budget.Config{Capacity: 500, Cost: 14, ThrottleCost: 5, FailureCost: 14, SuccessCost: 0, Replenish: 1, MaxPartitions: 4096}},
		{"Legacy", budget.Legacy(), budget.Config{Capacity: 500, Cost: 10, ThrottleCost: 10, FailureCost: 10, SuccessCost: 10, Replenish: 1, MaxPartitions: 4096}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s() = %+v, want %+v", tt.name, tt.got, tt.want)
		}
		if _, err := budget.New(tt.got); err != nil {
			t.Errorf("New(%s()): %v", tt.name, err)
		}
	}
}
