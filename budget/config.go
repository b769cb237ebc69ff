package budget

import "fmt"

// Upper ends of the ranges of [Config].
const (
	// MaxCapacity is the largest Capacity that [New] accepts, in tokens.
	MaxCapacity = 1_000_000
	// MaxPartitionLimit is the largest MaxPartitions that [New] accepts. A
	// partition takes about 200 bytes besides its key.
	MaxPartitionLimit = 1_000_000
)

// Config says what retries cost. It is literal: a zero is zero tokens and not a
// default, so start from [Default], [AWS2026] or [Legacy] and change fields.
// [New] rejects values out of range; it changes none. All fields but
// MaxPartitions are in tokens.
type Config struct {
	// Capacity is the balance that a partition starts with and never passes.
	// Range: 1 to MaxCapacity.
	Capacity int

	// Cost is what Reserve takes for a Transient retry. A partition with less
	// refuses it. Range: 1 to Capacity.
	Cost int

	// ThrottleCost is what Reserve takes for a Throttled retry: one that
	// answers a server which asked for patience (429, or 503 with
	// Retry-After). It may be below, at or above Cost. Range: 1 to Capacity.
	ThrottleCost int

	// FailureCost is what a Partial settlement keeps: the retry got a response,
	// and the response still fails. A reservation of fewer tokens, such as a
	// cheaper Throttled one, keeps all that it has. Equal to Cost, every failed
	// retry is charged in full. Range: 0 to Cost.
	FailureCost int

	// SuccessCost is what a Refund settlement keeps: the retry succeeded, or
	// ended the need for further ones. A reservation of fewer tokens keeps all
	// that it has. 0 makes a successful retry free; equal to Cost, every retry
	// is charged for good. It does not apply to Cancel, for retries that never
	// were sent. Range: 0 to FailureCost.
	SuccessCost int

	// Replenish is what one call of Replenish adds, capped at Capacity. With 0
	// only settlements give tokens back, so that charged ones never return.
	// Range: 0 to Capacity.
	Replenish int

	// MaxPartitions is how many partitions may have a balance of their own;
	// further keys share the one named Other. Range: 1 to MaxPartitionLimit.
	MaxPartitions int
}

// Default returns the profile that a client uses unless told otherwise:
// capacity 500; a retry reserves 10, keeps 5 if its response still fails, 10 if
// it got none, and nothing if it succeeded; a healthy call adds 1; 4096
// partitions. It allows 50 retries in flight against one origin, and lasts as
// long as there are five healthy calls for each retry that fails.
func Default() Config {
	return Config{
		Capacity:      500,
		Cost:          10,
		ThrottleCost:  10,
		FailureCost:   5,
		SuccessCost:   0,
		Replenish:     1,
		MaxPartitions: 4096,
	}
}

// AWS2026 returns the retry quota of the AWS SDKs' standard mode as of 2026
// (AWS_NEW_RETRIES_2026, described in the AWS SDKs and Tools Reference Guide
// under "Retry behavior"): capacity 500; a transient retry takes 14, one after
// throttling 5; a retry that fails keeps everything, one that succeeds nothing;
// a call whose first attempt succeeded adds 1.
func AWS2026() Config {
	c := Default()
	c.Cost, c.ThrottleCost = 14, 5
	c.FailureCost = c.Cost
	return c
}

// Legacy returns a profile for demonstrations and proofs. It charges every
// retry that was sent for good, whatever its outcome, so that each costs 10 of
// 500 and a client that saves every call by a retry still runs dry after 50.
func Legacy() Config {
	c := Default()
	c.FailureCost, c.SuccessCost = c.Cost, c.Cost
	return c
}

// price returns what Reserve takes for a retry of kind k.
func (c *Config) price(k Kind) (int, error) {
	switch k {
	case Transient:
		return c.Cost, nil
	case Throttled:
		return c.ThrottleCost, nil
	default:
		return 0, fmt.Errorf("budget: unknown Kind %d; use Transient or Throttled", int(k))
	}
}

// keep returns how many of the reserved tokens a retry with outcome o costs.
// An unknown outcome costs all of them.
func (c *Config) keep(o Outcome, reserved int) int {
	switch o {
	case Refund:
		return min(c.SuccessCost, reserved)
	case Partial:
		return min(c.FailureCost, reserved)
	default:
		return reserved
	}
}

// validate returns an error for the first field that is out of range. Ranges
// depend on fields above only, so that the first complaint is the cause.
func (c *Config) validate() error {
	for _, f := range []struct {
		name      string
		value     int
		low, high int
		bound     string // what high stands for
	}{
		{"Capacity", c.Capacity, 1, MaxCapacity, "MaxCapacity"},
		{"Cost", c.Cost, 1, c.Capacity, "Capacity"},
		{"ThrottleCost", c.ThrottleCost, 1, c.Capacity, "Capacity"},
		{"FailureCost", c.FailureCost, 0, c.Cost, "Cost"},
		{"SuccessCost", c.SuccessCost, 0, c.FailureCost, "FailureCost"},
		{"Replenish", c.Replenish, 0, c.Capacity, "Capacity"},
		{"MaxPartitions", c.MaxPartitions, 1, MaxPartitionLimit, "MaxPartitionLimit"},
	} {
		if f.value < f.low || f.value > f.high {
			return fmt.Errorf("budget: Config.%s is %d, want %d to %d (%s); Config has no defaults, start from budget.Default()",
				f.name, f.value, f.low, f.high, f.bound)
		}
	}
	return nil
}
