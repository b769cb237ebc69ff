package budget_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/budget"
)

// newBucket returns a bucket of profile c with capacity tokens; 0 keeps c's own.
func newBucket(t testing.TB, c budget.Config, capacity int) *budget.Bucket {
	t.Helper()
	if capacity > 0 {
		c.Capacity = capacity
	}
	b, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reserve reserves tokens that must be there.
func reserve(t testing.TB, p *budget.Partition, k budget.Kind) *budget.Reservation {
	t.Helper()
	r, err := p.Reserve(k)
	if err != nil {
		t.Fatalf("Reserve(%v) at level %d: %v", k, p.Level(), err)
	}
	return r
}

// denied asserts that a reservation is refused with these numbers.
func denied(t testing.TB, p *budget.Partition, k budget.Kind, want budget.ExhaustedError) {
	t.Helper()
	before := p.Level()
	r, err := p.Reserve(k)
	var exhausted *budget.ExhaustedError
	if !errors.As(err, &exhausted) || *exhausted != want {
		t.Fatalf("Reserve(%v) = %v, %v; want %+v", k, r, err, want)
	}
	if r != nil {
		t.Fatal("a refused Reserve returned a reservation")
	}
	if p.Level() != before {
		t.Fatalf("a refused Reserve moved the level from %d to %d", before, p.Level())
	}
}

func level(t testing.TB, p *budget.Partition, want int) {
	t.Helper()
	if got := p.Level(); got != want {
		t.Fatalf("level %d, want %d", got, want)
	}
}

func TestASettlementKeepsWhatTheProfileSays(t *testing.T) {
	const throttled, transient = budget.Throttled, budget.Transient
	for _, tt := range []struct {
		profile string
		config  budget.Config
		kind    budget.Kind
		outcome budget.Outcome
		want    budget.Settlement
	}{
		{"Default", budget.Default(), transient, budget.Refund, budget.Settlement{Reserved: 10, Kept: 0, Refunded: 10, Level: 500}},
		{"Default", budget.Default(), transient, budget.Partial, budget.Settlement{Reserved: 10, Kept: 5, Refunded: 5, Level: 495}},
		{"Default", budget.Default(), transient, budget.Charge, budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
		{"Default", budget.Default(), throttled, budget.Refund, budget.Settlement{Reserved: 10, Kept: 0, Refunded: 10, Level: 500}},
		{"Default", budget.Default(), throttled, budget.Partial, budget.Settlement{Reserved: 10, Kept: 5, Refunded: 5, Level: 495}},
		{"Default", budget.Default(), throttled, budget.Charge, budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
		{"AWS2026", budget.AWS2026(), transient, budget.Refund, budget.Settlement{Reserved: 14, Kept: 0, Refunded: 14, Level: 500}},
		{"AWS2026", budget.AWS2026(), transient, budget.Partial, budget.Settlement{Reserved: 14, Kept: 14, Refunded: 0, Level: 486}},
		{"AWS2026", budget.AWS2026(), transient, budget.Charge, budget.Settlement{Reserved: 14, Kept: 14, Refunded: 0, Level: 486}},
		{"AWS2026", budget.AWS2026(), throttled, budget.Refund, budget.Settlement{Reserved: 5, Kept: 0, Refunded: 5, Level: 500}},
		{"AWS2026", budget.AWS2026(), throttled, budget.Partial, budget.Settlement{Reserved: 5, Kept: 5, Refunded: 0, Level: 495}},
		{"AWS2026", budget.AWS2026(), throttled, budget.Charge, budget.Settlement{Reserved: 5, Kept: 5, Refunded: 0, Level: 495}},
		{"Legacy", budget.Legacy(), transient, budget.Refund, budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
		{"Legacy", budget.Legacy(), transient, budget.Partial, budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
		{"Legacy", budget.Legacy(), throttled, budget.Charge, budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
		{"Default", budget.Default(), transient, budget.Outcome(9), budget.Settlement{Reserved: 10, Kept: 10, Refunded: 0, Level: 490}},
	} {
		t.Run(tt.profile+"/"+tt.kind.String()+"/"+tt.outcome.String(), func(t *testing.T) {
			p := newBucket(t, tt.config, 0).Partition("https://a:443")
			r := reserve(t, p, tt.kind)
			if got := 500 - tt.want.Reserved; r.Level() != got || p.Level() != got {
				t.Errorf("levels after Reserve: %d by the reservation, %d by the partition; want %d", r.Level(), p.Level(), got)
			}
			if r.Tokens() != tt.want.Reserved || r.Partition() != "https://a:443" {
				t.Errorf("reservation of %d from %q", r.Tokens(), r.Partition())
			}
			if got := r.Settle(tt.outcome); got != tt.want {
				t.Errorf("Settle = %+v, want %+v", got, tt.want)
			}
			level(t, p, tt.want.Level)
		})
	}
}

func TestOnlyTheFirstSettleOrCancelCounts(t *testing.T) {
	p := newBucket(t, budget.Default(), 0).Partition("a")
	second := map[string]func(*budget.Reservation) budget.Settlement{
		"Settle": func(r *budget.Reservation) budget.Settlement { return r.Settle(budget.Refund) },
		"Cancel": (*budget.Reservation).Cancel,
	}
	for name, again := range second {
		for first, settle := range second {
			r := reserve(t, p, budget.Transient)
			if s := settle(r); s != (budget.Settlement{Reserved: 10, Refunded: 10, Level: 500}) {
				t.Errorf("first %s = %+v", first, s)
			}
			if s := again(r); s != (budget.Settlement{}) {
				t.Errorf("%s after %s = %+v, want the zero value", name, first, s)
			}
			level(t, p, 500)
			if r.Tokens() != 10 || r.Level() != 490 || r.Partition() != "a" {
				t.Errorf("a closed reservation forgot what it was: %d tokens, level %d, %q", r.Tokens(), r.Level(), r.Partition())
			}
		}
	}
}

func TestARetryThatWasNeverSentIsFreeUnderEveryProfile(t *testing.T) {
	for name, c := range map[string]budget.Config{"Default": budget.Default(), "AWS2026": budget.AWS2026(), "Legacy": budget.Legacy()} {
		p := newBucket(t, c, 0).Partition("a")
		if s := reserve(t, p, budget.Transient).Cancel(); s.Kept != 0 || s.Refunded != c.Cost || s.Level != 500 {
			t.Errorf("%s: Cancel = %+v", name, s)
		}
	}
}

func TestANilReservationSettlesToNothing(t *testing.T) {
	var r *budget.Reservation
	if r.Settle(budget.Charge) != (budget.Settlement{}) || r.Cancel() != (budget.Settlement{}) || r.Tokens() != 0 || r.Level() != 0 || r.Partition() != "" {
		t.Error("a nil reservation holds something")
	}
}

func TestSpentTokensComeBackUpToTheCapacity(t *testing.T) {
	spend := map[string]func(p *budget.Partition) (settle func()){
		"kept for good": func(p *budget.Partition) func() {
			reserve(t, p, budget.Transient).Settle(budget.Charge)
			return func() {}
		},
		"still in reserve": func(p *budget.Partition) func() { r := reserve(t, p, budget.Transient); return func() { r.Cancel() } },
	}
	for name, spend := range spend {
		t.Run(name, func(t *testing.T) {
			p := newBucket(t, budget.Default(), 20).Partition("a")
			settle := spend(p)
			level(t, p, 10)
			add := func(calls, want int) {
				t.Helper()
				sum := 0
				for range calls {
					sum += p.Replenish()
				}
				if sum != want {
					t.Errorf("%d calls added %d tokens, want %d", calls, sum, want)
				}
			}
			add(5, 5)
			level(t, p, 15)
			add(10, 5)
			level(t, p, 20)
			settle()
			level(t, p, 20)
		})
	}
	t.Run("by a settlement", func(t *testing.T) {
		p := newBucket(t, budget.Default(), 20).Partition("a")
		reserve(t, p, budget.Transient).Settle(budget.Partial)
		level(t, p, 15)
	})
	t.Run("in steps larger than what is missing", func(t *testing.T) {
		c := budget.Default()
		c.Replenish = 7
		p := newBucket(t, c, 20).Partition("a")
		reserve(t, p, budget.Transient).Settle(budget.Charge)
		for i, want := range []int{7, 3, 0} {
			if got := p.Replenish(); got != want {
				t.Errorf("Replenish number %d added %d, want %d", i+1, got, want)
			}
		}
	})
}

func TestARefundThatFindsThePartitionFullIsAccountedFor(t *testing.T) {
	p := newBucket(t, budget.Default(), 20).Partition("a")
	r := reserve(t, p, budget.Transient)
	for range 8 {
		p.Replenish()
	}
	want := budget.Settlement{Reserved: 10, Kept: 0, Refunded: 2, Overflow: 8, Level: 20}
	if got := r.Settle(budget.Refund); got != want {
		t.Errorf("Settle = %+v, want %+v", got, want)
	}
}

func TestACallThatAlwaysFailsDrainsItsPartition(t *testing.T) {
	// Three retries remain, every response fails: two hits, then a refusal.
	p := newBucket(t, budget.Default(), 10).Partition("a")
	reserve(t, p, budget.Transient).Settle(budget.Partial)
	level(t, p, 5)
	denied(t, p, budget.Transient, budget.ExhaustedError{Partition: "a", Available: 5, Need: 10})

	// GET 404, then 200, then a healthy call.
	p = newBucket(t, budget.Default(), 20).Partition("a")
	reserve(t, p, budget.Transient).Settle(budget.Charge)
	reserve(t, p, budget.Transient).Settle(budget.Refund)
	level(t, p, 10)
	p.Replenish()
	level(t, p, 11)
}

func TestTheAWSProfileFollowsTheSDKs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity int
		kind     budget.Kind
		levels   []int // after each reservation; all but the last are followed by a failure
		last     budget.Outcome
		end      int
		denied   bool
	}{
		{"two failures, then success", 500, budget.Transient, []int{486, 472}, budget.Refund, 486, false},
		{"one retry's worth", 14, budget.Transient, []int{0}, budget.Partial, 0, true},
		{"less than two retries' worth", 20, budget.Transient, []int{6}, budget.Partial, 6, true},
		{"two retries' worth, the second succeeds", 30, budget.Transient, []int{16, 2}, budget.Refund, 16, false},
		{"throttled, then success", 500, budget.Throttled, []int{495}, budget.Refund, 500, false},
		{"throttled again", 500, budget.Throttled, []int{495, 490}, budget.Partial, 490, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newBucket(t, budget.AWS2026(), tt.capacity).Partition("a")
			for i, want := range tt.levels {
				r := reserve(t, p, tt.kind)
				level(t, p, want)
				if i < len(tt.levels)-1 {
					r.Settle(budget.Partial)
				} else {
					r.Settle(tt.last)
				}
			}
			level(t, p, tt.end)
			if tt.denied {
				denied(t, p, tt.kind, budget.ExhaustedError{Partition: "a", Available: tt.end, Need: 14})
			}
		})
	}
}

func TestTheLegacyProfileRunsDryAfterFiftyRetriesThatSucceed(t *testing.T) {
	p := newBucket(t, budget.Legacy(), 0).Partition("a")
	for i := 1; i <= 50; i++ {
		reserve(t, p, budget.Transient).Settle(budget.Refund)
		level(t, p, 500-10*i)
	}
	denied(t, p, budget.Transient, budget.ExhaustedError{Partition: "a", Available: 0, Need: 10})
}

// aws-sdk-go-v2#3550: a budget at zero came back only with a restart.
func TestAnEmptyPartitionRefillsThroughHealthyCalls(t *testing.T) {
	p := newBucket(t, budget.Default(), 0).Partition("a")
	for range 50 {
		reserve(t, p, budget.Transient).Settle(budget.Charge)
	}
	denied(t, p, budget.Transient, budget.ExhaustedError{Partition: "a", Available: 0, Need: 10})
	for i := 1; i <= 500; i++ {
		if added := p.Replenish(); added != 1 {
			t.Fatalf("call %d added %d", i, added)
		}
	}
	level(t, p, 500)
	if added := p.Replenish(); added != 0 {
		t.Errorf("a full partition took %d more", added)
	}
}

// aws-sdk-go-v2#3186: a retry that met a plain client error was charged.
func TestARetryThatEndsInAFinalResponseIsRefunded(t *testing.T) {
	p := newBucket(t, budget.Default(), 0).Partition("a")
	for range 1000 {
		reserve(t, p, budget.Transient).Settle(budget.Refund)
	}
	level(t, p, 500)
}

func TestAnExhaustedErrorSaysWhoHasWhatAndNeedsWhat(t *testing.T) {
	msg := (&budget.ExhaustedError{Partition: "https://a:443", Available: 3, Need: 10}).Error()
	for _, part := range []string{"budget: ", `"https://a:443"`, "has 3 of the 10 tokens"} {
		if !strings.Contains(msg, part) {
			t.Errorf("%q lacks %q", msg, part)
		}
	}
}

func TestAnUnknownKindIsAnErrorAndTakesNothing(t *testing.T) {
	p := newBucket(t, budget.Default(), 0).Partition("a")
	r, err := p.Reserve(budget.Kind(7))
	var exhausted *budget.ExhaustedError
	if r != nil || err == nil || errors.As(err, &exhausted) || !strings.Contains(err.Error(), "7") {
		t.Errorf("Reserve(Kind(7)) = %v, %v", r, err)
	}
	level(t, p, 500)
	if got := budget.Kind(7).String(); got != "Kind(7)" {
		t.Errorf("String() = %q", got)
	}
}
