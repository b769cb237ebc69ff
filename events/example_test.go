package events_test

import (
	"context"
	"fmt"

	"github.com/plimsoll-http/plimsoll/events"
)

func ExampleJoin() {
	log := &events.Hooks{RetrySkipped: func(_ context.Context, e events.RetrySkipped) {
		fmt.Println("log: no retry:", e.Reason)
	}}
	count := &events.Hooks{RetrySkipped: func(context.Context, events.RetrySkipped) {
		fmt.Println("count: one more")
	}}
	hooks := events.Join(log, nil, count)
	hooks.RetrySkipped(context.Background(), events.RetrySkipped{Reason: events.SkipBucket})
	// Output:
	// log: no retry: bucket
	// count: one more
}

func ExampleWith() {
	ctx := events.With(context.Background(), &events.Hooks{
		CallDone: func(_ context.Context, e events.CallDone) { fmt.Println(e.Outcome, "after", e.Attempts, "attempts") },
	})
	// A client calls the hooks of its request's context after its own.
	events.From(ctx).CallDone(ctx, events.CallDone{Outcome: events.OutcomeRecovered, Attempts: 2})
	// Output: recovered after 2 attempts
}
