package budget_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
)

// The budget alone, around a retry loop of one's own.
func Example() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer upstream.Close()

	config := budget.Default()
	config.Capacity = 20
	bucket, err := budget.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}

	// get retries a GET as often as the budget allows.
	get := func(url string) (status int, err error) {
		tokens := bucket.Partition(url)
		var retry *budget.Reservation // of the attempt under way; nil for the first one
		defer func() { retry.Cancel() }()
		for {
			resp, err := http.Get(url)
			if err != nil {
				retry.Settle(budget.Charge)
				return 0, err
			}
			resp.Body.Close()
			if resp.StatusCode < 500 {
				if retry == nil {
					tokens.Replenish() // a call that needed no retry
				}
				retry.Settle(budget.Refund)
				return resp.StatusCode, nil
			}
			retry.Settle(budget.Partial)
			if retry, err = tokens.Reserve(budget.Transient); err != nil {
				return resp.StatusCode, err
			}
		}
	}

	status, err := get(upstream.URL)
	exhausted, _ := errors.AsType[*budget.ExhaustedError](err)
	fmt.Println(status, "no further retry:", exhausted.Available, "tokens left,", exhausted.Need, "needed")
	// Output: 503 no further retry: 5 tokens left, 10 needed
}

func ExampleStartClockAt() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, deadline := range []time.Time{{}, now.Add(time.Minute)} { // none, and one in a minute
		fmt.Println(budget.StartClockAt(now, 2*time.Minute, deadline).RemainingAt(now))
	}
	// Output:
	// 2m0s
	// 1m0s
}
