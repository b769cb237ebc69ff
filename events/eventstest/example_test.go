package eventstest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// In a test, hand rec.Hooks() to the client as its Hooks. This example plays
// the client itself, so that it shows the failure of a test.
func Example() {
	rec := eventstest.NewRecorder()

	hooks, ctx := rec.Hooks(), context.Background()
	call := events.Meta{Client: "default", Origin: "https://api.test:443", Partition: "https://api.test:443", Call: 1}
	hooks.CallStarted(ctx, events.CallStarted{Meta: call, Method: "GET"})
	hooks.RetryArmed(ctx, events.RetryArmed{Meta: call, Attempt: 1, Next: 2, Waited: 12 * time.Millisecond, Cause: events.CauseStatus, Cost: 10, Level: 490})
	hooks.CallDone(ctx, events.CallDone{Meta: call, Method: "GET", Outcome: events.OutcomeRecovered, Attempts: 2, Status: 200})

	t := &fakeTB{} // the *testing.T of a test
	rec.Expect(t,
		eventstest.Where(func(e events.RetryArmed) bool { return e.Cause == events.CauseStatus }),
		eventstest.Type[events.CallDone](),
	)
	rec.ExpectNothing(t, eventstest.Type[events.ConnStale](), eventstest.Type[events.RetryArmed]())
	fmt.Println(t.failures[0])
	// Output:
	// eventstest: expected no RetryArmed, event 2 is one
	// timeline of 3:
	//    1  CallStarted{Origin:https://api.test:443 Call:1 Method:GET}
	//    2  RetryArmed{Origin:https://api.test:443 Call:1 Attempt:1 Next:2 Waited:12ms Cause:status Cost:10 Level:490}
	//    3  CallDone{Origin:https://api.test:443 Call:1 Method:GET Outcome:recovered Attempts:2 Status:200}
}

func ExampleRecorder_Select() {
	rec := recordCall()
	fmt.Println(rec.Select(eventstest.Type[events.RetryArmed](), eventstest.Type[events.RetrySkipped]()))
	// Output:
	// timeline of 2:
	//    1  RetryArmed{Origin:http://a.test:80 Call:7 Attempt:1 Next:2 Waited:25ms Cause:status Cost:10}
	//    2  RetrySkipped{Origin:http://a.test:80 Call:7 Reason:bucket Attempt:2 Status:503 Needed:10}
}

func ExampleAll() {
	rec := recordCall()
	for _, e := range eventstest.All[events.RetrySkipped](rec) {
		fmt.Println(e.Reason, e.Status, "needed", e.Needed)
	}
	// Output: bucket 503 needed 10
}

func ExampleRecorder_WaitFor() {
	rec := eventstest.NewRecorder()
	go rec.Hooks().ConnClosed(context.Background(), events.ConnClosed{Cause: events.ConnPeer})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := rec.WaitFor(ctx, func() bool { return eventstest.Count[events.ConnClosed](rec) == 1 })
	fmt.Println(err, rec)
	// Output:
	// <nil> timeline of 1:
	//    1  ConnClosed{Cause:peer}
}
