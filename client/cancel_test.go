package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// blocked is a body whose Read blocks until it is let go.
type blocked struct {
	closeCounter
	let chan struct{}
}

func (b *blocked) Read([]byte) (int, error) {
	<-b.let
	return 0, io.EOF
}

func TestACancellationEndsEveryWaitAtOnce(t *testing.T) {
	for _, row := range []struct {
		name     string
		cfg      Config
		handler  http.Handler
		attempts int
		before   func(t *testing.T, r *rig)
		body     func(let chan struct{}) io.ReadCloser // nil: "body"
	}{
		// A backoff drawn from centuries is longer than the second.
		{name: "the backoff", handler: statuses("503"), attempts: 1, cfg: Config{MaxTotalRetryDuration: -1, Retry: RetryPolicy{BaseDelay: 1 << 62, MaxDelay: 1 << 62}}},
		{name: "Retry-After", handler: statuses("503 Retry-After: 30"), attempts: 1},
		{name: "the throttle", handler: statuses("200"), attempts: 0, before: func(_ *testing.T, r *rig) {
			r.client.transport.throttles.Record(partition, time.Now().Add(30*time.Second))
		}},
		{name: "the response", handler: answersInTurn("hang"), attempts: 1},
		{name: "the drain", attempts: 1, cfg: Config{MaxTotalRetryDuration: time.Minute}, handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			<-time.After(time.Second - time.Millisecond)
			w.WriteHeader(503)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		})},
		{name: "the queue for a connection", attempts: 1, cfg: Config{Transport: &http.Transport{MaxConnsPerHost: 1}},
			handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.(http.Flusher).Flush()
				<-req.Context().Done()
			}),
			before: func(t *testing.T, r *rig) {
				resp, err := r.client.Get(r.url)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { resp.Body.Close() })
				r.rec.Reset()
			}},
		{name: "the body of the attempt before", attempts: 1,
			cfg: Config{Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1}, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
				go io.Copy(io.Discard, req.Body)
				synctest.Wait() // until it reads
				return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
			})},
			body: func(let chan struct{}) io.ReadCloser { return &blocked{let: let} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				row.cfg.Breaker = breakers(t, 2)
				r := newRig(t, row.cfg, row.handler)
				if row.before != nil {
					row.before(t, r)
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Second, func() { cancel(errBoom) })
				let := make(chan struct{})
				var body io.ReadCloser = &closeCounter{Reader: strings.NewReader("body")}
				if row.body != nil {
					body = row.body(let)
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPut, r.url, body)
				req.ContentLength = 4
				made := 0
				req.GetBody = func() (io.ReadCloser, error) {
					made++
					return io.NopCloser(strings.NewReader("body")), nil
				}
				start := time.Now()
				resp, err := r.client.Transport.RoundTrip(req)
				if took := time.Since(start); took != time.Second {
					t.Errorf("took %v, want 1s", took)
				}
				if resp != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) {
					t.Errorf("got %v, %v; want the cancellation and its cause", resp, err)
				}
				if made != 0 {
					t.Errorf("GetBody was asked %d times", made)
				}
				done := eventstest.One[events.CallDone](t, r.rec)
				if done.Outcome != events.OutcomeCanceled || done.Class != events.ClassCanceled || done.Attempts != row.attempts {
					t.Errorf("CallDone %+v, want it canceled after %d attempts", done, row.attempts)
				}
				r.rec.ExpectNothing(t, eventstest.Type[events.RetrySkipped](), eventstest.Type[events.RetryArmed]())
				if got := r.level(); got != 500 {
					t.Errorf("level %d, want 500", got)
				}
				if s, _ := row.cfg.Breaker.Snapshot(partition); s.State != breaker.Closed {
					t.Errorf("the breaker is %v", s.State)
				}
				close(let)
				synctest.Wait()
				switch b := body.(type) {
				case *closeCounter:
					if n := b.closed.Load(); n != 1 {
						t.Errorf("the body was closed %d times", n)
					}
				case *blocked:
					if n := b.closed.Load(); n != 1 {
						t.Errorf("the body was closed %d times", n)
					}
				}
			})
		})
	}
}
