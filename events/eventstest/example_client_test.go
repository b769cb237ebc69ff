package eventstest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// A test of a program that uses the client: the recorder's hooks go into its
// configuration, and the assertions say what happened, in which order, and what
// did not.
func ExampleNewRecorder() {
	t := &fakeTB{} // the *testing.T of a test
	asked := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer upstream.Close()

	rec := eventstest.NewRecorder()
	c, err := client.New(client.Config{Hooks: rec.Hooks()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	resp, err := c.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()

	rec.Expect(t,
		eventstest.Where(func(e events.AttemptDone) bool { return e.Status == 503 }),
		eventstest.Type[events.RetryArmed](),
		eventstest.Where(func(e events.BudgetSettled) bool { return e.Outcome == events.SettledRefund }),
		eventstest.Where(func(e events.CallDone) bool { return e.Outcome == events.OutcomeRecovered }),
	)
	rec.ExpectNothing(t, eventstest.Type[events.RetrySkipped](), eventstest.Type[events.BudgetReplenished]())
	fmt.Println(len(t.failures), "failures;", eventstest.Count[events.AttemptStarted](rec), "attempts")
	// Output: 0 failures; 2 attempts
}
