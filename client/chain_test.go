package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// redirectOnce sends /path to /next, and answers there.
var redirectOnce = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/path" {
		http.Redirect(w, req, "/next", http.StatusFound)
	}
})

func TestAChainThatWentAgainstTheThrottleForgetsItAtItsNextHop(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{MaxTotalRetryDuration: time.Second, Retry: RetryPolicy{Overrun: Send}}, redirectOnce)
		r.client.transport.throttles.Record(partition, time.Now().Add(4*time.Second))
		start := time.Now()
		resp, _, err := r.get()
		if err != nil || resp.StatusCode != 200 || resp.Request.URL.Path != "/next" {
			t.Fatalf("got %v, %v", resp, err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		if _, throttled := r.client.transport.throttles.Until(partition); !throttled {
			t.Error("the throttle is gone for others too")
		}
	})
}

func TestAChainThatForgotOneThrottleRemembersThatOfAnotherPartition(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{
			MaxTotalRetryDuration: time.Second, Retry: RetryPolicy{Overrun: Send},
			Partition: func(req *http.Request) string { return req.URL.Path },
		}, redirectOnce)
		for _, key := range []string{"/path", "/next"} {
			r.client.transport.throttles.Record(key, time.Now().Add(4*time.Second))
		}
		_, _, err := r.get()
		if throttled, ok := errors.AsType[*ThrottledError](err); !ok || throttled.Key != "/next" {
			t.Errorf("error %v, want the second hop's throttle", err)
		}
		if got := len(r.requests()); got != 1 {
			t.Errorf("%d hits, want 1", got)
		}
	})
}

func TestTheHopsOfAChainWaitForTheThrottlesOfTheirPartitions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Partition: func(req *http.Request) string { return req.URL.Path }}, redirectOnce)
		r.client.transport.throttles.Record("/next", time.Now().Add(4*time.Second))
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		hits := r.requests()
		if len(hits) != 2 || hits[0].at != 0 || hits[1].at < 4*time.Second {
			t.Errorf("hits %+v, want one at once and one after 4s", hits)
		}
	})
}

func TestResendsCountRetriesRecoveriesAndRedirects(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		answers := answersInTurn("200", "abort", "503", "302 Location: /next", "200")
		r := newRig(t, Config{Retry: RetryPolicy{MaxDelay: 1}}, answers)
		for range 2 {
			if _, _, err := r.get(); err != nil {
				t.Fatal(err)
			}
		}
		// The second call: a recovery of the connection that the first one left,
		// a retry, and a redirect.
		var started, done []int
		for _, e := range eventstest.All[events.AttemptStarted](r.rec) {
			started = append(started, e.Resend)
		}
		for _, e := range eventstest.All[events.AttemptDone](r.rec) {
			done = append(done, e.Resend)
		}
		if s, d := fmt.Sprint(started), fmt.Sprint(done); s != "[0 0 2 3]" || d != "[0 1 2 3]" {
			t.Errorf("resend counts %s at the start and %s at the end, want [0 0 2 3] and [0 1 2 3]", s, d)
		}
		var calls []int
		for _, e := range eventstest.All[events.CallStarted](r.rec) {
			calls = append(calls, e.Resend)
		}
		if got := fmt.Sprint(calls); got != "[0 0 3]" {
			t.Errorf("resend counts of the calls %s, want [0 0 3]", got)
		}
	})
}

func TestCancelOfARequestEndsItsWaits(t *testing.T) {
	for name, answer := range map[string]string{"the response": "hang", "Retry-After": "503 Retry-After: 30"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{}, answersInTurn(answer))
				cancel := make(chan struct{})
				time.AfterFunc(time.Second, func() { close(cancel) })
				req, _ := http.NewRequest(http.MethodGet, r.url, nil)
				req.Cancel = cancel //nolint:staticcheck // what http.Client.Timeout sets
				start := time.Now()
				_, err := r.client.Transport.RoundTrip(req)
				if took := time.Since(start); took != time.Second || !errors.Is(err, context.Canceled) {
					t.Errorf("%v after %v, want context.Canceled after 1s", err, took)
				}
				if req.Cancel != cancel { //nolint:staticcheck // what http.Client.Timeout sets
					t.Error("the request was changed")
				}
				if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeCanceled {
					t.Errorf("CallDone %+v", done)
				}
				balanced(t, r)
			})
		})
	}
}
