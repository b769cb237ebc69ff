package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

type secretKey struct{}

func TestTheTextOfABodyShowsNothingOfItsCall(t *testing.T) {
	r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	ctx := context.WithValue(t.Context(), secretKey{}, "s3cret")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		if got := fmt.Sprintf(verb, resp.Body); got != "client: the body of a response" {
			t.Errorf("%s of a body is %s", verb, got)
		}
	}
}

// A body whose length is known has come whole when it ends; of another one the
// end proves nothing once the call was canceled.
func TestTheEndOfABodyCountsAfterACancellationIfItsLengthIsKnown(t *testing.T) {
	for _, length := range []int64{2, -1} {
		rec := eventstest.NewRecorder()
		c := newClient(t, Config{NoTelemetry: true, Hooks: rec.Hooks(), Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: length, Body: io.NopCloser(strings.NewReader("ok")), Request: req}, nil
		})})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		done := eventstest.One[events.CallDone](t, rec)
		switch {
		case string(got) != "ok":
			t.Errorf("length %d: the body is %q", length, got)
		case length < 0 && (!errors.Is(err, context.Canceled) || done.Outcome != events.OutcomeCanceled):
			t.Errorf("a body of unknown length ends with %v and outcome %s, want a cancellation", err, done.Outcome)
		case length > 0 && (err != nil || done.Outcome != events.OutcomeOK):
			t.Errorf("a body of %d bytes ends with %v and outcome %s, want it whole", length, err, done.Outcome)
		}
	}
}

// Pool and breaker know from the context on whose behalf they act.
func TestEventsOfPoolAndBreakerNameTheirCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		gate, err := breaker.New(breaker.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, Config{Name: "shop", Breaker: gate, Partition: func(*http.Request) string { return "tenant" }},
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
		for range 50 {
			if resp, _, err := r.get(); err == nil && resp.StatusCode < 500 {
				t.Fatal(resp.Status)
			}
		}
		calls := map[uint64]bool{}
		var acquired []events.ConnAcquired
		var rejected []events.BreakerRejected
		for _, e := range r.rec.Timeline() {
			switch e := e.(type) {
			case events.CallStarted:
				calls[e.Call] = true
			case events.ConnAcquired:
				acquired = append(acquired, e)
			case events.BreakerRejected:
				rejected = append(rejected, e)
			}
		}
		if len(acquired) == 0 || len(rejected) == 0 {
			t.Fatalf("%d connections acquired, %d calls rejected", len(acquired), len(rejected))
		}
		check := func(what string, m events.Meta) {
			t.Helper()
			if m.Client != "shop" || !calls[m.Call] || m.Partition != "tenant" || m.Origin == "" {
				t.Errorf("%s of %+v, want a call of the client", what, m)
			}
		}
		for _, e := range acquired {
			check("ConnAcquired", e.Meta)
		}
		for _, e := range rejected {
			check("BreakerRejected", e.Meta)
		}
	})
}
