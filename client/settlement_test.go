package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/pool"
)

// answersInTurn answers with statuses in turn, as statuses does, "abort" being a
// connection that is cut and "hang" an answer that never comes.
func answersInTurn(list ...string) http.Handler {
	plain := statuses(list...)
	i := 0
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := list[min(i, len(list)-1)]
		i++
		switch answer {
		case "abort":
			plain.ServeHTTP(discarded{http.Header{}}, req) // keeps step
			panic(http.ErrAbortHandler)
		case "hang":
			<-req.Context().Done()
		default:
			plain.ServeHTTP(w, req)
		}
	})
}

// discarded is a ResponseWriter that nobody sees.
type discarded struct{ h http.Header }

func (d discarded) Header() http.Header         { return d.h }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// TestEveryRowOfTheSettlement has a row for each way in which a retry that was
// paid for ends. The retry waits for 3 s, as the server asks.
func TestEveryRowOfTheSettlement(t *testing.T) {
	const first = "503 Retry-After: 3"
	const begin = "CallStarted AttemptStarted AttemptDone ThrottleRecorded BudgetReserved"
	const retried = begin + " RetryArmed AttemptStarted AttemptDone"
	verdicts := func(verdicts ...Verdict) func(context.Context, Try) Verdict {
		return func(_ context.Context, try Try) Verdict {
			if try.Attempt > len(verdicts) {
				panic("RetryIf was asked although no retries remain")
			}
			return verdicts[try.Attempt-1]
		}
	}
	for _, row := range []struct {
		name    string
		policy  RetryPolicy
		answers []string
		total   time.Duration // 0: the default
		cancel  error         // cause of a cancellation after
		after   time.Duration
		during  func(r *rig) // at 1 s, while the call waits
		getBody error
		level   int // afterwards, of 40
		hits    int
		took    time.Duration
		events  string
		skip    events.SkipReason
		status  int   // 0: an error
		err     error // what it is
	}{
		{
			name: "a response that needs no retry", answers: []string{first, "404"},
			level: 40, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 404,
		},
		{
			name: "a failure that RetryIf lets pass", policy: RetryPolicy{RetryIf: verdicts(Default, Stop)}, answers: []string{first, "500"},
			level: 40, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 500,
		},
		{
			name: "a failure that is retried", answers: []string{first, first, "200"},
			level: 35, hits: 3, took: 6 * time.Second, status: 200,
			events: retried + " ThrottleRecorded BudgetSettled BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone",
		},
		{
			name: "a response that RetryIf wants again", policy: RetryPolicy{RetryIf: verdicts(Default, Retry, Default)}, answers: []string{first, "418", "200"},
			level: 35, hits: 3, took: 3 * time.Second, status: 200,
			events: retried + " BudgetSettled BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone",
		},
		{
			name: "the last one, which the built-in verdict would retry", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Default)}, answers: []string{first, "500"},
			level: 35, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled RetrySkipped CallDone", skip: events.SkipAttempts, status: 500,
		},
		{
			name: "the last one, after a Retry with which the built-in verdict agreed", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Retry)}, answers: []string{first, "418"},
			level: 35, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 418,
		},
		{
			name: "the last one, after a Retry against the built-in verdict", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Retry)}, answers: []string{"418", "418"},
			level: 35, hits: 2, status: 418,
			events: "CallStarted AttemptStarted AttemptDone BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone",
		},
		{
			name: "the last one, after a Retry, with a status of success", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Retry)}, answers: []string{first, "204"},
			level: 40, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 204,
		},
		{
			name: "the last one, after a Retry, with 399", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Retry)}, answers: []string{first, "399"},
			level: 40, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 399,
		},
		{
			name: "the last one, after a Retry, with 400", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Retry)}, answers: []string{first, "400"},
			level: 35, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 400,
		},
		{
			name: "the last one, after a Default, with another failure", policy: RetryPolicy{MaxRetries: 1, RetryIf: verdicts(Default)}, answers: []string{first, "418"},
			level: 40, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled CallDone", status: 418,
		},
		{
			name: "the last one without a response", policy: RetryPolicy{MaxRetries: 1}, answers: []string{first, "abort"},
			level: 30, hits: 2, took: 3 * time.Second, events: retried + " BudgetSettled RetrySkipped CallDone", skip: events.SkipAttempts, err: io.EOF,
		},
		{
			name: "one without a response that is retried", answers: []string{first, "abort", "200"},
			level: 30, hits: 3, took: 3 * time.Second, status: 200,
			events: retried + " BudgetSettled BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone",
		},
		{
			name: "never launched: the total retry time is over after the wait", total: 3 * time.Second, answers: []string{first},
			level: 40, hits: 1, took: 3 * time.Second, events: begin + " BudgetSettled RetrySkipped CallDone", skip: events.SkipDeadline, status: 503,
		},
		{
			name: "never launched: a deadline cuts the wait", cancel: context.DeadlineExceeded, after: time.Second, answers: []string{first},
			level: 40, hits: 1, took: time.Second, events: begin + " BudgetSettled RetrySkipped CallDone", skip: events.SkipDeadline, err: context.DeadlineExceeded,
		},
		{
			name: "never launched: the caller cancels the wait", cancel: errBoom, after: time.Second, answers: []string{first},
			level: 40, hits: 1, took: time.Second, events: begin + " BudgetSettled CallDone", err: errBoom,
		},
		{
			name: "never launched: the body cannot be made again", getBody: errBoom, answers: []string{first},
			level: 40, hits: 1, took: 3 * time.Second, events: begin + " BudgetSettled RetrySkipped CallDone", skip: events.SkipBody, status: 503,
		},
		{
			name: "never launched: the breaker opens during the wait", answers: []string{first}, during: func(r *rig) {
				for range 5 {
					if p, err := r.client.transport.cfg.Breaker.Admit(context.Background(), partition); err == nil {
						p.Failure()
					}
				}
			},
			level: 40, hits: 1, took: 3 * time.Second, events: begin + " BreakerRejected BudgetSettled RetrySkipped CallDone", skip: events.SkipBreaker, status: 503,
		},
		{
			name: "never launched: retries are switched off during the wait", answers: []string{first}, during: func(r *rig) { r.client.SetRetries(false) },
			level: 40, hits: 1, took: 3 * time.Second, events: begin + " BudgetSettled RetrySkipped CallDone", skip: events.SkipDisabled, status: 503,
		},
		{
			name: "canceled by the caller after the launch", cancel: errBoom, after: 4 * time.Second, answers: []string{first, "hang"},
			level: 40, hits: 2, took: 4 * time.Second, events: retried + " BudgetSettled CallDone", err: errBoom,
		},
		{
			name: "the deadline passes after the launch", cancel: context.DeadlineExceeded, after: 4 * time.Second, answers: []string{first, "hang"},
			level: 30, hits: 2, took: 4 * time.Second, events: retried + " BudgetSettled CallDone", err: context.DeadlineExceeded,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				row.policy.BaseDelay, row.policy.MaxDelay = 1, 1
				b := breakers(t, 5)
				r := newRig(t, Config{
					Budget: capacity(t, 40), Breaker: b, Retry: row.policy, MaxTotalRetryDuration: row.total, Pool: pool.Config{Recoveries: -1},
				}, answersInTurn(row.answers...))
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if row.cancel != nil {
					time.AfterFunc(row.after, func() { cancel(row.cancel) })
				}
				if row.during != nil {
					time.AfterFunc(time.Second, func() { row.during(r) })
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPut, r.url, strings.NewReader("body"))
				if row.getBody != nil {
					req.GetBody = func() (io.ReadCloser, error) { return nil, row.getBody }
				}
				start := time.Now()
				resp, err := r.client.Transport.RoundTrip(req)
				if took := time.Since(start).Truncate(time.Millisecond); took != row.took {
					t.Errorf("took %v, want %v", took, row.took)
				}
				status := 0
				var report Report
				if err == nil {
					status = resp.StatusCode
					report, _ = ReportOf(resp)
					if text, err := io.ReadAll(resp.Body); err != nil || status != 204 && string(text) != "body of "+resp.Status[:3] {
						t.Errorf("body %q, %v", text, err)
					}
					resp.Body.Close()
				} else {
					report, _ = ReportOfError(err)
				}
				if status != row.status || row.err != nil && !errors.Is(err, row.err) {
					t.Errorf("status %d, error %v; want %d, %v", status, err, row.status, row.err)
				}
				if report.Skipped != row.skip {
					t.Errorf("report %+v, want it skipped for %q", report, row.skip)
				}
				if got := r.level(); got != row.level {
					t.Errorf("level %d, want %d", got, row.level)
				}
				if got := len(r.requests()); got != row.hits {
					t.Errorf("%d hits, want %d", got, row.hits)
				}
				if got := r.kinds(); got != row.events {
					t.Errorf("events\n got %s\nwant %s", got, row.events)
				}
				if row.skip != "" {
					if got := eventstest.One[events.RetrySkipped](t, r.rec); got.Reason != row.skip {
						t.Errorf("skip %+v, want %q", got, row.skip)
					}
				}
				if row.err == errBoom {
					if s, _ := b.Snapshot(partition); s.State != breaker.Closed {
						t.Errorf("the breaker is %v", s.State)
					}
				}
				balanced(t, r)
			})
		})
	}
}
