package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// RetryIf stands above the built-in verdict. Here a job that is not done yet is
// asked for again, although its answer is 200, and 503 is final.
func ExampleRetryPolicy_retryIf() {
	answers := []string{"pending", "pending", "done"}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, answers[0])
		answers = answers[1:]
	}))
	defer upstream.Close()

	c, err := client.New(client.Config{Retry: client.RetryPolicy{
		MaxRetries: 5,
		BaseDelay:  10 * time.Millisecond,
		RetryIf: func(_ context.Context, try client.Try) client.Verdict {
			switch {
			case try.Err != nil:
				return client.Default
			case try.Response.StatusCode == http.StatusServiceUnavailable:
				return client.Stop
			}
			// Reading Response.Body would take it from the caller.
			if start, err := try.PeekBody(64); err == nil && bytes.HasPrefix(start, []byte("pending")) {
				return client.Retry
			}
			return client.Default
		},
	}})
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
	defer resp.Body.Close()
	report, _ := client.ReportOf(resp)
	fmt.Println(resp.Status, "after", report.Attempts, "attempts;", report.Tokens, "tokens left")
	// Output: 200 OK after 3 attempts; 495 tokens left
}

// throttling is an upstream that asks for silence for half a minute.
func throttling(asked *int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
}

// A worker that respects Retry-After: by default a call waits for it inside,
// up to a minute. This one has other work to do: its calls wait for a second at
// most, and what the server does not want yet goes back into the queue, with the
// time at which it is welcome. The jobs after it are not even sent.
func ExampleThrottledError() {
	asked := 0
	upstream := throttling(&asked)
	defer upstream.Close()
	c, err := client.New(client.Config{MaxTotalRetryDuration: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	later := map[string]time.Time{} // when to do a job
	for _, job := range []string{"a", "b", "c"} {
		resp, err := c.Get(upstream.URL + "/" + job)
		if throttled, ok := errors.AsType[*client.ThrottledError](err); ok {
			later[job] = throttled.Until
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		if report, _ := client.ReportOf(resp); report.Skipped == events.SkipDeadline {
			fmt.Println(job, "was refused:", resp.StatusCode)
			later[job] = time.Now() // the next call learns the time
		}
	}
	fmt.Println(len(later), "jobs wait;", asked, "request was sent")
	fmt.Println("b for more than ten seconds:", time.Until(later["b"]) > 10*time.Second)
	// Output:
	// a was refused: 429
	// 3 jobs wait; 1 request was sent
	// b for more than ten seconds: true
}

// One call with a policy of its own. Fields that are zero have the documented
// defaults, not the client's values.
func ExampleWithRetry() {
	upstream := everySecondFails()
	defer upstream.Close()
	c, err := client.New(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	for _, policy := range []client.RetryPolicy{{MaxRetries: -1}, {}, {RetryNonIdempotent: true}} {
		ctx := client.WithRetry(context.Background(), policy)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream.URL, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := c.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		report, _ := client.ReportOf(resp)
		fmt.Printf("%d after %d attempts, not retried: %q\n", resp.StatusCode, report.Attempts, report.Skipped)
	}
	// Output:
	// 503 after 1 attempts, not retried: "disabled"
	// 200 after 1 attempts, not retried: ""
	// 200 after 2 attempts, not retried: ""
}

// A call that a person waits for: better an answer at once than half a minute
// later. The answer that is in hand comes back as it was.
func ExampleWithTotalRetryDuration() {
	asked := 0
	upstream := throttling(&asked)
	defer upstream.Close()
	c, err := client.New(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx := client.WithTotalRetryDuration(context.Background(), 2*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := c.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	report, _ := client.ReportOf(resp)
	fmt.Println(resp.StatusCode, "Retry-After:", resp.Header.Get("Retry-After"), "not retried:", report.Skipped)
	// Output: 429 Retry-After: 30 not retried: deadline
}

// The template of the path names the spans: "GET /users/{id}".
func ExampleWithRoute() {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	c, err := client.New(client.Config{Hooks: &events.Hooks{
		AttemptStarted: func(_ context.Context, e events.AttemptStarted) context.Context {
			fmt.Println(e.Method, e.Route)
			return nil
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx := client.WithRoute(context.Background(), "/users/{id}")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL+"/users/7", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := c.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output: GET /users/{id}
}

// What a call went through, and why there was no further retry.
func ExampleReportOf() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "we are down", http.StatusServiceUnavailable)
	}))
	defer upstream.Close()
	c, err := client.New(client.Config{Retry: client.RetryPolicy{MaxRetries: 2}})
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
	defer resp.Body.Close()
	report, _ := client.ReportOf(resp)
	fmt.Printf("%d: %d attempts, then refused: %s; %d of %d tokens left\n",
		resp.StatusCode, report.Attempts, report.Skipped, report.Tokens, report.Capacity)
	// Output: 503: 3 attempts, then refused: attempts; 490 of 500 tokens left
}
