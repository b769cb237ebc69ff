package logbridge_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/logbridge"
)

const origin = "https://api.test:443"

var meta = events.Meta{Client: "shop", Origin: origin, Partition: origin, Call: 7}

// handler writes text without the time.
func handler(w *bytes.Buffer, level slog.Level) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime})
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func ExampleNew() {
	h := logbridge.New(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	ctx := context.Background()
	h.RetryArmed(ctx, events.RetryArmed{Meta: meta, Attempt: 1, Cause: events.CauseStatus, Waited: 20 * time.Millisecond, Cost: 10, Level: 0})
	h.RetrySkipped(ctx, events.RetrySkipped{Meta: meta, Reason: events.SkipBucket, Attempt: 2, Status: 503, Level: 0, Needed: 10})
	h.CallDone(ctx, events.CallDone{Meta: meta, Method: http.MethodGet, Outcome: events.OutcomeEscaped, Status: 503, Attempts: 2, Skipped: events.SkipBucket, Duration: time.Second})
	// Output:
	// level=INFO msg="plimsoll: an attempt failed and is retried" client=shop origin=https://api.test:443 call=7 attempt=1 cause=status waited=20ms cost=10 level=0
	// level=WARN msg="plimsoll: a retry was wanted and not armed" client=shop origin=https://api.test:443 call=7 reason=bucket attempt=2 status=503 level=0 needed=10
	// level=ERROR msg="plimsoll: a failure reached the caller" client=shop origin=https://api.test:443 call=7 method=GET status=503 attempts=2 skipped=bucket duration=1s
}

// healthy emits what a healthy call over a pool emits.
func healthy(h *events.Hooks) {
	record := events.Join(h, &events.Hooks{})
	ctx := context.Background()
	if record.CallStarted != nil {
		record.CallStarted(ctx, events.CallStarted{Meta: meta})
	}
	record.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Status: 200, Attempts: 1})
	record.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeCanceled, Class: events.ClassCanceled})
	record.ConnClosed(ctx, events.ConnClosed{Meta: meta, Cause: events.ConnIdleTimeout})
	record.StreamClosed(ctx, events.StreamClosed{Meta: meta, Reason: events.StreamEnded})
}

func TestTheHealthyPathLogsNothing(t *testing.T) {
	var out bytes.Buffer
	h := logbridge.New(slog.New(handler(&out, slog.LevelDebug)))
	healthy(h)
	if out.Len() != 0 {
		t.Errorf("logged %q, want nothing", out.String())
	}
	for name, set := range map[string]bool{
		"CallStarted": h.CallStarted != nil, "AttemptStarted": h.AttemptStarted != nil, "AttemptDone": h.AttemptDone != nil,
		"ConnAcquired": h.ConnAcquired != nil, "ConnReleased": h.ConnReleased != nil, "BudgetReplenished": h.BudgetReplenished != nil,
	} {
		if set {
			t.Errorf("%s has a hook, want none: it would run for every call", name)
		}
	}
}

func TestEachEventHasItsLevel(t *testing.T) {
	tenant := meta
	tenant.Partition = "tenant"
	for _, tt := range []struct {
		emit func(context.Context, *events.Hooks)
		want string
	}{
		{func(ctx context.Context, h *events.Hooks) {
			h.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeEscaped, Class: events.ClassEOF, Recoveries: 1})
		}, "level=ERROR"},
		{func(ctx context.Context, h *events.Hooks) {
			h.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeRejected, Class: events.ClassBreaker})
		}, "level=WARN"},
		{func(ctx context.Context, h *events.Hooks) {
			h.RetrySkipped(ctx, events.RetrySkipped{Meta: meta, Reason: events.SkipDeadline, Remaining: time.Second, Delay: time.Minute})
		}, "level=WARN"},
		{func(ctx context.Context, h *events.Hooks) {
			h.ThrottleRecorded(ctx, events.ThrottleRecorded{Meta: tenant, Delay: time.Second})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.ThrottleWaited(ctx, events.ThrottleWaited{Meta: meta, Wait: time.Second})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.ConnRecovered(ctx, events.ConnRecovered{Meta: meta, Class: events.ClassStale})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.ConnClosed(ctx, events.ConnClosed{Meta: meta, Cause: events.ConnPing})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.BreakerChanged(ctx, events.BreakerChanged{Meta: meta, Key: origin, To: events.BreakerOpen, Cooldown: time.Minute})
		}, "level=WARN"},
		{func(ctx context.Context, h *events.Hooks) {
			h.BreakerChanged(ctx, events.BreakerChanged{Meta: meta, Key: origin, From: events.BreakerHalfOpen})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.BreakerStoreChanged(ctx, events.BreakerStoreChanged{Meta: meta})
		}, "level=WARN"},
		{func(ctx context.Context, h *events.Hooks) {
			h.BreakerStoreChanged(ctx, events.BreakerStoreChanged{Meta: meta, Available: true})
		}, "level=INFO"},
		{func(ctx context.Context, h *events.Hooks) {
			h.StreamClosed(ctx, events.StreamClosed{Meta: meta, Reason: events.StreamIdle})
		}, "level=WARN"},
		{func(ctx context.Context, h *events.Hooks) {
			h.Reloaded(ctx, events.Reloaded{Meta: events.Meta{Client: "shop"}, Generation: 2})
		}, "level=INFO"},
	} {
		var out bytes.Buffer
		tt.emit(t.Context(), logbridge.New(slog.New(handler(&out, slog.LevelInfo))))
		if !strings.HasPrefix(out.String(), tt.want) || strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "client=shop") {
			t.Errorf("logged %q, want one record of the client with %s", out.String(), tt.want)
		}
		out.Reset()
		tt.emit(t.Context(), logbridge.New(slog.New(handler(&out, slog.LevelError+1))))
		if out.Len() != 0 {
			t.Errorf("logged %q past the handler's level", out.String())
		}
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	u, err := url.Parse("https://user:hunter2@api.test/a?key=t0ken")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h := events.Join(logbridge.New(slog.New(handler(&out, slog.LevelDebug))), &events.Hooks{
		CallStarted:    func(ctx context.Context, _ events.CallStarted) context.Context { return ctx },
		AttemptStarted: func(ctx context.Context, _ events.AttemptStarted) context.Context { return ctx },
	})
	ctx := h.CallStarted(t.Context(), events.CallStarted{Meta: meta, URL: events.URLOf(u)})
	h.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, URL: events.URLOf(u), Header: http.Header{"Authorization": {"t0ken"}}})
	h.RetrySkipped(ctx, events.RetrySkipped{Meta: meta, Reason: events.SkipBody, Class: events.ClassReset})
	h.CallDone(ctx, events.CallDone{Meta: meta, Method: http.MethodPost, Outcome: events.OutcomeEscaped, Class: events.ClassReset})
	for _, secret := range []string{"hunter2", "t0ken"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, out.String())
		}
	}
	if !strings.Contains(out.String(), "error=reset") {
		t.Errorf("the class is not in the log: %s", out.String())
	}
}

func TestWithoutALoggerTheDefaultOneIsUsed(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	h := logbridge.New(nil)
	slog.SetDefault(slog.New(handler(&out, slog.LevelInfo)))
	h.Reloaded(t.Context(), events.Reloaded{Generation: 3})
	if want := "level=INFO msg=\"plimsoll: transports and configuration were swapped\" generation=3\n"; out.String() != want {
		t.Errorf("logged %q, want %q", out.String(), want)
	}
}
