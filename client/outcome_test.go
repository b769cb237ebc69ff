package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

func TestTheBreakerIsToldWhatBecameOfEachAttempt(t *testing.T) {
	const waiting = "waits for the caller"
	classify := func(o breaker.Outcome) func(*http.Response, error) breaker.Outcome {
		return func(*http.Response, error) breaker.Outcome { return o }
	}
	success, failure, nothing := breaker.Snapshot{Calls: 1}, breaker.Snapshot{Calls: 1, Failures: 1, Streak: 1}, breaker.Snapshot{}
	ended := func(err error) func() (context.Context, context.CancelFunc) {
		return func() (context.Context, context.CancelFunc) {
			if err == context.DeadlineExceeded {
				return context.WithTimeout(context.Background(), time.Second)
			}
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}
	}
	for _, row := range []struct {
		name string
		say  string // a status, waiting, or "" for a connection that breaks
		cfg  Config
		ctx  func() (context.Context, context.CancelFunc)
		want breaker.Snapshot
	}{
		{name: "200", say: "200", want: success},
		{name: "301", say: "301", want: success},
		{name: "404", say: "404", want: success},
		{name: "408", say: "408", want: failure},
		{name: "425", say: "425", want: success},
		{name: "429", say: "429", want: nothing},
		{name: "500", say: "500", want: failure},
		{name: "501", say: "501", want: success},
		{name: "502", say: "502", want: failure},
		{name: "503", say: "503", want: failure},
		{name: "504", say: "504", want: failure},
		{name: "a broken connection", want: failure},
		{name: "an attempt timeout", say: waiting, cfg: Config{AttemptTimeout: time.Second}, want: failure},
		{name: "the context's deadline", say: waiting, ctx: ended(context.DeadlineExceeded), want: failure},
		{name: "the caller's cancellation", say: waiting, ctx: ended(context.Canceled), want: nothing},
		{name: "Classify of a response", say: "404", cfg: Config{Classify: classify(breaker.Failure)}, want: failure},
		{name: "Classify of an error", cfg: Config{Classify: classify(breaker.Backpressure)}, want: nothing},
		{name: "Classify of a failure", say: "503", cfg: Config{Classify: classify(breaker.SuccessUncounted)}, want: nothing},
		{name: "Classify is not asked for cancellations", say: waiting, cfg: Config{Classify: classify(breaker.Failure)}, ctx: ended(context.Canceled), want: nothing},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := breakers(t, 5)
				row.cfg.Breaker, row.cfg.Retry.MaxRetries = b, -1
				r := newRig(t, row.cfg, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					switch row.say {
					case waiting:
						<-req.Context().Done()
					case "":
						panic(http.ErrAbortHandler)
					default:
						status, err := strconv.Atoi(row.say)
						if err != nil {
							t.Error(err)
						}
						w.WriteHeader(status)
					}
				}))
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if row.ctx != nil {
					ctx, cancel = row.ctx()
				}
				defer cancel()
				_, _, err := r.do(ctx, http.MethodGet, nil)
				if row.ctx != nil && !errors.Is(err, ctx.Err()) {
					t.Errorf("error %v, want %v", err, ctx.Err())
				}
				got, ok := b.Snapshot(partition)
				if got.Generation = 0; !ok || got != row.want {
					t.Errorf("the breaker's snapshot is %+v, want %+v", got, row.want)
				}
				balanced(t, r)
			})
		})
	}
}
