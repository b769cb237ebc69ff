package breaker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

func Example() {
	b, err := breaker.New(breaker.Config{
		ConsecutiveFailures: 2,
		OnChange:            func(e events.BreakerChanged) { fmt.Println(e.Key, "is", e.To, "for", e.Cooldown) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		permit, err := b.Admit(context.Background(), "https://api.example:443")
		if rejected, ok := errors.AsType[*breaker.RejectedError](err); ok {
			fmt.Println("refused:", rejected.State)
			continue
		}
		// ... the operation fails ...
		permit.Failure()
	}
	// Output:
	// https://api.example:443 is open for 1m0s
	// refused: open
}

func ExampleNew() {
	_, err := breaker.New(breaker.Config{FailureRate: 50})
	fmt.Println(err)
	// Output:
	// breaker: Config.FailureRate is 50; give a share in (0, 1], or a negative one for none
}

func ExampleTransition() {
	p := breaker.Params{ConsecutiveFailures: 1, MinCalls: 20, BucketWidth: 30e9, Cooldown: 60e9, MaxCooldown: 600e9, ProbeLease: 30e9}
	gate, answer := breaker.Transition(breaker.Gate{}, breaker.Event{Verb: breaker.DoAdmit}, p, 1000)
	gate, answer = breaker.Transition(gate, breaker.Event{Verb: breaker.DoSettle, Grant: answer.Grant, Outcome: breaker.Failure}, p, 1200)
	fmt.Println(gate.State, answer.Result.RetryAfter)
	// Output:
	// open 1m0s
}

func ExampleNewMemory() {
	// Two breakers with rules of their own share the gates.
	gates := breaker.NewMemory(1000)
	first, err := breaker.New(breaker.Config{Store: gates, ConsecutiveFailures: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := breaker.New(breaker.Config{Store: gates})
	if err != nil {
		fmt.Println(err)
		return
	}
	permit, err := first.Admit(context.Background(), "db")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(permit.Failure().State)
	_, err = second.Admit(context.Background(), "db")
	_, refused := errors.AsType[*breaker.RejectedError](err)
	fmt.Println(refused)
	// Output:
	// open
	// true
}
