package client

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/pool"
)

// oneShot is a body without GetBody.
func oneShot(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

func TestEachGateRefusesWithItsReason(t *testing.T) {
	asked := func(verdict Verdict, times *int) RetryPolicy {
		return RetryPolicy{RetryIf: func(context.Context, Try) Verdict { *times++; return verdict }}
	}
	var times int
	for _, row := range []struct {
		name    string
		cfg     Config
		off     bool // SetRetries(false)
		method  string
		body    io.Reader
		timeout time.Duration // of the context
		empty   bool          // the budget
		answer  string
		reason  events.SkipReason // "" for none
		asked   int               // times that RetryIf was asked
		hits    int               // 0: 1
	}{
		{name: "the kill switch comes first", off: true, method: "POST", body: oneShot("x"), answer: "503", reason: events.SkipDisabled},
		{name: "a policy without retries", cfg: Config{Retry: RetryPolicy{MaxRetries: -1}}, answer: "503", reason: events.SkipDisabled},
		{name: "the kill switch says nothing of what is not retryable", off: true, answer: "404"},
		{name: "a one-shot body", method: "PUT", body: oneShot("x"), answer: "503", reason: events.SkipBody},
		{name: "a one-shot body comes before the method", method: "POST", body: oneShot("x"), answer: "503", reason: events.SkipBody},
		{name: "RetryIf is not asked about a one-shot body", cfg: Config{Retry: asked(Retry, &times)}, method: "PUT", body: oneShot("x"), answer: "503", reason: events.SkipBody},
		{name: "a method that is not idempotent", method: "POST", body: strings.NewReader("x"), answer: "503", reason: events.SkipMethod},
		{name: "RetryIf's Stop is no skip", cfg: Config{Retry: asked(Stop, &times)}, answer: "503", asked: 1},
		{name: "RetryIf's Default leaves the method's reason", cfg: Config{Retry: asked(Default, &times)}, method: "POST", answer: "503", reason: events.SkipMethod, asked: 1},
		{name: "the bucket", empty: true, answer: "503", reason: events.SkipBucket},
		{name: "the bucket comes before the deadline", empty: true, timeout: time.Second, answer: "503 Retry-After: 5", reason: events.SkipBucket},
		{name: "the context's deadline", timeout: time.Second, answer: "503 Retry-After: 5", reason: events.SkipDeadline},
		{name: "the total retry time", cfg: Config{MaxTotalRetryDuration: 10 * time.Second, RetryAfterCeiling: time.Hour}, answer: "429 Retry-After: 300", reason: events.SkipDeadline},
		{name: "the ceiling", cfg: Config{MaxTotalRetryDuration: time.Hour}, answer: "429 Retry-After: 300", reason: events.SkipDeadline},
		{name: "a 404 is nobody's business", answer: "404"},
	} {
		t.Run(row.name, func(t *testing.T) {
			times = 0
			inBubble(t, func(t *testing.T) {
				row.cfg.Budget = capacity(t, 20)
				if row.empty {
					spend(t, row.cfg.Budget, 20)
				}
				level := row.cfg.Budget.Level(partition)
				r := newRig(t, row.cfg, statuses(row.answer))
				r.client.SetRetries(!row.off)
				ctx := context.Background()
				if row.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.timeout)
					defer cancel()
				}
				method := row.method
				if method == "" {
					method = http.MethodGet
				}
				start := time.Now()
				resp, body, err := r.do(ctx, method, row.body)
				if err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(start); waited != 0 {
					t.Errorf("the refusal took %v, want none", waited)
				}
				if want := "body of " + row.answer[:3]; body != want {
					t.Errorf("body %q, want %q", body, want)
				}
				if got := len(r.requests()); got != 1 {
					t.Errorf("%d hits, want 1", got)
				}
				report, _ := ReportOf(resp)
				if report.Skipped != row.reason {
					t.Errorf("Report.Skipped %q, want %q", report.Skipped, row.reason)
				}
				skips := eventstest.All[events.RetrySkipped](r.rec)
				if row.reason == "" && len(skips) != 0 || row.reason != "" && (len(skips) != 1 || skips[0].Reason != row.reason) {
					t.Errorf("skips %+v, want reason %q once", skips, row.reason)
				}
				if times != row.asked {
					t.Errorf("RetryIf was asked %d times, want %d", times, row.asked)
				}
				if got := r.level(); got != level {
					t.Errorf("level %d, want %d", got, level)
				}
				r.rec.ExpectNothing(t, eventstest.Type[events.RetryArmed](), eventstest.Type[events.BudgetReserved]())
				balanced(t, r)
			})
		})
	}
}

func TestEventsOfARetryComeInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, statuses("503 Retry-After: 3", "200"))
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		const want = "CallStarted AttemptStarted AttemptDone ThrottleRecorded BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone"
		if got := r.kinds(); got != want {
			t.Errorf("events\n got %s\nwant %s", got, want)
		}
		armed := eventstest.One[events.RetryArmed](t, r.rec)
		if armed.Attempt != 1 || armed.Next != 2 || armed.Waited != 3*time.Second || armed.Cause != events.CauseThrottled || armed.Cost != 10 || armed.Level != 490 {
			t.Errorf("RetryArmed %+v", armed)
		}
		done := eventstest.One[events.CallDone](t, r.rec)
		if done.Outcome != events.OutcomeRecovered || done.Attempts != 2 || done.Status != 200 || done.Duration != 3*time.Second {
			t.Errorf("CallDone %+v", done)
		}
	})
}

// breakers returns a breaker that opens after n failures in a row.
func breakers(t testing.TB, n int) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(breaker.Config{ConsecutiveFailures: n})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnOpenBreakerSkipsTheRetryBeforeTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Breaker: breakers(t, 2)}, statuses("503"))
		resp, body, err := r.get()
		if err != nil || resp.StatusCode != 503 || body != "body of 503" {
			t.Fatalf("got %v %q %v", resp, body, err)
		}
		if got := len(r.requests()); got != 2 {
			t.Errorf("%d hits, want 2", got)
		}
		if skip := eventstest.One[events.RetrySkipped](t, r.rec); skip.Reason != events.SkipBreaker || skip.Attempt != 2 {
			t.Errorf("skip %+v", skip)
		}
		if got := r.level(); got != 495 {
			t.Errorf("level %d, want 495: the first retry failed, the second was never paid for", got)
		}
		if n := eventstest.Count[events.BudgetReserved](r.rec); n != 1 {
			t.Errorf("%d reservations, want one: a gate that is known to be shut is not waited for", n)
		}
		_, _, err = r.get()
		var rejected *breaker.RejectedError
		if !errors.As(err, &rejected) || rejected.State != breaker.Open {
			t.Fatalf("error %v, want a *breaker.RejectedError", err)
		}
		if done := eventstest.All[events.CallDone](r.rec); done[1].Outcome != events.OutcomeRejected || done[1].Class != events.ClassBreaker {
			t.Errorf("CallDone %+v", done[1])
		}
		r.rec.Expect(t, eventstest.Type[events.BreakerChanged](), eventstest.Type[events.BreakerRejected]())
		balanced(t, r)
	})
}

func TestABreakerThatOpensDuringTheWaitRefundsAndReturnsTheResponse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 5)
		r := newRig(t, Config{Breaker: b, Retry: RetryPolicy{BaseDelay: time.Second}}, statuses("503 Retry-After: 2"))
		time.AfterFunc(time.Second, func() {
			for range 5 {
				p, err := b.Admit(context.Background(), partition)
				if err != nil {
					return
				}
				p.Failure()
			}
		})
		resp, body, err := r.get()
		if err != nil || resp.StatusCode != 503 || body != "body of 503" {
			t.Fatalf("got %v %q %v", resp, body, err)
		}
		if got := r.level(); got != 500 {
			t.Errorf("level %d, want 500", got)
		}
		const want = "CallStarted AttemptStarted AttemptDone ThrottleRecorded BudgetReserved BreakerRejected BudgetSettled RetrySkipped CallDone"
		if got := r.kinds(); got != want {
			t.Errorf("events\n got %s\nwant %s", got, want)
		}
		balanced(t, r)
	})
}

func TestAFallbackAnswersForAShutBreaker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg := Config{Breaker: breakers(t, 1), BreakerFallback: func(_ *http.Request, e *breaker.RejectedError) (*http.Response, error) {
			return &http.Response{StatusCode: 299, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("fallback for " + e.State.String()))}, nil
		}}
		r := newRig(t, cfg, statuses("503"))
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		resp, body, err := r.get()
		if err != nil || resp.StatusCode != 299 || body != "fallback for open" {
			t.Fatalf("got %v %q %v", resp, body, err)
		}
		if report, ok := ReportOf(resp); !ok || report.Attempts != 0 {
			t.Errorf("report %+v %v", report, ok)
		}
		balanced(t, r)
	})
}

func TestBackoffStaysInItsBoundsAndDoesNotOverflow(t *testing.T) {
	p := RetryPolicy{BaseDelay: 25 * time.Millisecond, MaxDelay: 20 * time.Second}
	for n := 1; n < 200; n++ {
		ceiling := 20 * time.Second
		if n <= 10 {
			ceiling = min(ceiling, p.BaseDelay<<(n-1))
		}
		var most time.Duration
		for range 200 {
			d := backoff(&p, n)
			if d < 0 || d > ceiling {
				t.Fatalf("retry %d: backoff %v outside [0, %v]", n, d, ceiling)
			}
			most = max(most, d)
		}
		if most < ceiling/2 {
			t.Errorf("retry %d: the longest of 200 backoffs is %v, of up to %v", n, most, ceiling)
		}
	}
	for _, n := range []int{1, 62, 63, 64, 65, math.MaxInt} {
		if d := backoff(&RetryPolicy{BaseDelay: math.MaxInt64, MaxDelay: math.MaxInt64}, n); d < 0 {
			t.Errorf("retry %d: backoff %v", n, d)
		}
	}
}

func TestOnlyErrorsThatAnotherTryCanMendAreRetried(t *testing.T) {
	for _, row := range []struct {
		name  string
		err   error
		hits  int
		class events.ErrorClass
	}{
		{"a cut connection", io.ErrUnexpectedEOF, 5, events.ClassEOF},
		{"a reset connection", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, 5, events.ClassReset},
		{"a dial that timed out", &pool.DialError{Phase: pool.PhaseConnect, Err: os.ErrDeadlineExceeded}, 5, events.ClassDial},
		{"a refused connection", &pool.DialError{Phase: pool.PhaseConnect, Err: syscall.ECONNREFUSED}, 1, events.ClassDial},
		{"an unknown authority", &pool.TLSHandshakeError{Err: x509.UnknownAuthorityError{}}, 1, events.ClassTLSHandshake},
		{"a cancellation", context.Canceled, 1, events.ClassCanceled},
		{"something else", errBoom, 1, events.ClassOther},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				hits := 0
				r := newRig(t, Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { hits++; return nil, row.err })}, statuses("200"))
				_, _, err := r.get()
				if !errors.Is(err, row.err) || hits != row.hits {
					t.Errorf("%d attempts, error %v; want %d and %v", hits, err, row.hits, row.err)
				}
				if done := eventstest.One[events.CallDone](t, r.rec); done.Class != row.class {
					t.Errorf("class %q, want %q", done.Class, row.class)
				}
			})
		})
	}
}
