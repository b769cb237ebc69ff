package budget_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
)

func ExampleNew() {
	cfg := budget.Default()
	cfg.Capacity = 20 // two retries in flight
	bucket, err := budget.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}

	p := bucket.Partition("https://api.example.com:443")
	first, _ := p.Reserve(budget.Transient)
	second, _ := p.Reserve(budget.Transient)
	_, err = p.Reserve(budget.Transient)
	if exhausted, ok := errors.AsType[*budget.ExhaustedError](err); ok {
		fmt.Printf("denied: %d available, %d needed\n", exhausted.Available, exhausted.Need)
	}

	fmt.Printf("%+v\n", first.Settle(budget.Refund))   // the retry succeeded
	fmt.Printf("%+v\n", second.Settle(budget.Partial)) // the retry met another 503
	fmt.Println("added", p.Replenish(), "by a healthy call")
	fmt.Println("level", p.Level())
	// Output:
	// denied: 0 available, 10 needed
	// {Reserved:10 Kept:0 Refunded:10 Overflow:0 Level:10}
	// {Reserved:10 Kept:5 Refunded:5 Overflow:0 Level:15}
	// added 1 by a healthy call
	// level 16
}

func ExampleNew_invalid() {
	_, err := budget.New(budget.Config{})
	fmt.Println(err)
	// Output:
	// budget: Config.Capacity is 0, want 1 to 1000000 (MaxCapacity); Config has no defaults, start from budget.Default()
}

func ExampleBucket_Levels() {
	bucket, err := budget.New(budget.AWS2026())
	if err != nil {
		fmt.Println(err)
		return
	}
	bucket.Partition("https://b.example.com:443")
	r, _ := bucket.Reserve("https://a.example.com:443", budget.Throttled)
	defer r.Cancel()
	for name, l := range bucket.Levels() {
		fmt.Printf("%s: %d of %d, %d reserved\n", name, l.Tokens, l.Capacity, l.Reserved)
	}
	// Output:
	// https://a.example.com:443: 495 of 500, 5 reserved
	// https://b.example.com:443: 500 of 500, 0 reserved
}

func ExampleStartClock() {
	clock := budget.StartClock(2*time.Minute, time.Time{})
	fmt.Println(clock.Allows(time.Minute), clock.Allows(time.Hour))
	// Output:
	// true false
}

func ExampleClock_AllowsAt() {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := budget.StartClockAt(start, 2*time.Minute, start.Add(10*time.Second))
	now := start.Add(4 * time.Second)
	fmt.Println("left", clock.RemainingAt(now))
	fmt.Println("wait of 6s:", clock.AllowsAt(now, 6*time.Second))
	fmt.Println("wait of 7s:", clock.AllowsAt(now, 7*time.Second))
	// Output:
	// left 6s
	// wait of 6s: true
	// wait of 7s: false
}

func ExampleNewThrottles() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	throttles := budget.NewThrottles(0)
	throttles.RecordAt(now, "https://api.example.com:443", now.Add(5*time.Second))
	throttles.RecordAt(now, "https://api.example.com:443", now.Add(30*time.Second)) // later: ignored

	until, ok := throttles.UntilAt(now, "https://api.example.com:443")
	fmt.Println(until.Sub(now), ok)
	_, ok = throttles.UntilAt(now.Add(5*time.Second), "https://api.example.com:443")
	fmt.Println(ok)
	// Output:
	// 5s true
	// false
}

func ExampleSpread() {
	for _, r := range []float64{0, 0.5, 0.999} { // rand.Float64()
		fmt.Println(budget.Spread(20*time.Second, r))
	}
	// Output:
	// 20s
	// 20.5s
	// 20.999s
}
