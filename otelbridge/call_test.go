package otelbridge_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestACallSpansItsAttemptsAndWaits(t *testing.T) {
	r := newRig(t)
	caller, parent := r.tracer.Tracer("caller").Start(t.Context(), "caller")
	ctx := r.callStarted(caller)
	r.hooks.ThrottleWaited(ctx, events.ThrottleWaited{Meta: meta, Wait: 2 * time.Second})
	first, _ := r.attemptStarted(ctx, 1)
	r.hooks.ConnStale(first, events.ConnStale{Meta: meta, Conn: 1, Try: 1, Class: events.ClassEOF})
	r.hooks.ConnRecovered(first, events.ConnRecovered{Meta: meta, Conn: 2, Recoveries: 1, Class: events.ClassEOF})
	r.hooks.AttemptDone(first, events.AttemptDone{Meta: meta, Attempt: 1, Status: 503})
	r.hooks.BudgetReserved(ctx, events.BudgetReserved{Meta: meta, Reserved: 10, Level: 490})
	r.hooks.RetryArmed(ctx, events.RetryArmed{Meta: meta, Attempt: 1, Next: 2, Waited: 3 * time.Second, Cause: events.CauseStatus})
	second, _ := r.attemptStarted(ctx, 2)
	r.hooks.AttemptDone(second, events.AttemptDone{Meta: meta, Attempt: 2, Resend: 2, Status: 200})
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeRecovered, Attempts: 2, Recoveries: 1, Status: 200})
	parent.End()

	call := r.span(catalog.SpanCall)
	if call.Parent.SpanID() != parent.SpanContext().SpanID() || call.SpanKind != trace.SpanKindInternal {
		t.Errorf("the call's span is %v, a child of %v, want an INTERNAL child of the caller's", call.SpanKind, call.Parent.SpanID())
	}
	for name, wait := range map[string]time.Duration{catalog.SpanThrottleWait: 2 * time.Second, catalog.SpanBackoff: 3 * time.Second} {
		s := r.span(name)
		if s.Parent.SpanID() != call.SpanContext.SpanID() || s.SpanKind != trace.SpanKindInternal {
			t.Errorf("%s is %v, a child of %v, want an INTERNAL child of the call", name, s.SpanKind, s.Parent.SpanID())
		}
		if got := s.EndTime.Sub(s.StartTime); got != wait {
			t.Errorf("%s lasts %v, want %v", name, got, wait)
		}
	}
	var attempts []trace.SpanID
	for _, s := range r.spans.GetSpans() {
		if client, ok := s.InstrumentationScope.Attributes.Value(catalog.KeyClient); s.Name != "caller" && (!ok || client.AsString() != meta.Client) {
			t.Errorf("the scope of %s names the client %q, want %s", s.Name, client.AsString(), meta.Client)
		}
		if s.SpanKind == trace.SpanKindClient {
			attempts = append(attempts, s.SpanContext.SpanID())
			if s.Parent.SpanID() != call.SpanContext.SpanID() {
				t.Errorf("an attempt is a child of %v, want of the call", s.Parent.SpanID())
			}
		}
	}
	if len(attempts) != 2 {
		t.Fatalf("%d CLIENT spans, want 2", len(attempts))
	}
	if got := r.span(catalog.SpanRecovery).Parent.SpanID(); got != attempts[0] {
		t.Errorf("the recovery is a child of %v, want of the first attempt", got)
	}
	if len(call.Events) != 1 || call.Events[0].Name != catalog.EventBudgetReserved {
		t.Errorf("the call has the events %v, want %s alone", call.Events, catalog.EventBudgetReserved)
	}
	if attr(call.Attributes, catalog.KeyOutcome) != "recovered" || attr(call.Attributes, catalog.KeyAttempts) != "2" || call.Status.Code != codes.Unset {
		t.Errorf("the call has %v and status %v, want recovered, 2 attempts, no error", call.Attributes, call.Status)
	}
}

func TestACallFailsForItsCallerOnly(t *testing.T) {
	for _, tt := range []struct {
		done    events.CallDone
		code    codes.Code
		errType string
	}{
		{events.CallDone{Outcome: events.OutcomeOK, Status: 404}, codes.Unset, ""},
		{events.CallDone{Outcome: events.OutcomeEscaped, Status: 503, Skipped: events.SkipBucket}, codes.Error, "503"},
		{events.CallDone{Outcome: events.OutcomeEscaped, Class: events.ClassEOF}, codes.Error, "eof"},
		{events.CallDone{Outcome: events.OutcomeRejected, Class: events.ClassBreaker}, codes.Error, "breaker"},
		{events.CallDone{Outcome: events.OutcomeCanceled, Class: events.ClassCanceled}, codes.Unset, "canceled"},
	} {
		r := newRig(t)
		ctx := r.callStarted(t.Context())
		tt.done.Meta = meta
		r.hooks.CallDone(ctx, tt.done)
		s := r.span(catalog.SpanCall)
		if s.Status.Code != tt.code || attr(s.Attributes, catalog.KeyErrorType) != tt.errType || attr(s.Attributes, catalog.KeySkipReason) != string(tt.done.Skipped) {
			t.Errorf("%s with status %d and class %q: span status %v with %v, want %v, error type %q", tt.done.Outcome, tt.done.Status, tt.done.Class, s.Status, s.Attributes, tt.code, tt.errType)
		}
		escapes := 0.0
		if tt.done.Outcome == events.OutcomeEscaped {
			escapes = 1
		}
		reason := string(tt.done.Skipped)
		if reason == "" {
			reason = catalog.None
		}
		if got := r.value(catalog.CallEscapes, attribute.String(catalog.KeySkipReason, reason)); got != escapes {
			t.Errorf("%s: %v escapes, want %v", tt.done.Outcome, got, escapes)
		}
	}
}

// Who looks for calls that did not go well finds them by their own spans. A
// healthy one's says what its attempt's does not.
func TestOnlyAHealthyCallLeavesItsAttributesToItsAttempt(t *testing.T) {
	custom, late, lateCustom := meta, meta, meta
	custom.Partition = "tenant-a"
	late.Origin, late.Partition = "http://late.example.com:80", "http://late.example.com:80"
	lateCustom.Origin, lateCustom.Partition = late.Origin, "tenant-b"
	for _, m := range []events.Meta{meta, custom, late, lateCustom} {
		partition := ""
		if m.Partition != m.Origin {
			partition = m.Partition
		}
		for _, tt := range []struct {
			done    events.CallDone
			attempt bool // it has a span
			healthy bool
		}{
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Status: 200}, true, true},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Status: 404}, true, true},
			{events.CallDone{Outcome: events.OutcomeRecovered, Attempts: 1, Recoveries: 1, Status: 200}, true, false},
			{events.CallDone{Outcome: events.OutcomeRecovered, Attempts: 2, Status: 200}, true, false},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 2, Status: 200}, true, false},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Skipped: events.SkipMethod, Status: 404}, true, false},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Recoveries: 1, Status: 200}, true, false},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Class: events.ClassOther, Status: 200}, true, false},
			{events.CallDone{Outcome: events.OutcomeEscaped, Attempts: 1, Status: 503}, true, false},
			{events.CallDone{Outcome: events.OutcomeEscaped, Attempts: 1, Class: events.ClassEOF}, true, false},
			{events.CallDone{Outcome: events.OutcomeCanceled, Attempts: 1, Class: events.ClassCanceled}, true, false},
			{events.CallDone{Outcome: events.OutcomeOK, Attempts: 1, Status: 200}, false, false},
			{events.CallDone{Outcome: events.OutcomeRejected, Class: events.ClassBreaker}, false, false},
		} {
			r := newRig(t, func(c *otelbridge.Config) { c.MaxOrigins = 1 })
			r.call(meta, 200) // from here on late is one of the rest
			r.spans.Reset()
			tt.done.Meta = m
			ctx := r.hooks.CallStarted(t.Context(), events.CallStarted{Meta: m})
			if tt.attempt {
				inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet})
				r.hooks.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: tt.done.Status})
			}
			r.hooks.CallDone(ctx, tt.done)
			s := r.span(catalog.SpanCall)
			want := map[string]string{}
			if !tt.healthy {
				address, port := "api.example.com", "443"
				if m.Origin == late.Origin {
					address, port = "late.example.com", "80"
				}
				want = map[string]string{
					catalog.KeyClient: meta.Client, catalog.KeyAddress: address, catalog.KeyPort: port, catalog.KeyOutcome: string(tt.done.Outcome),
				}
			}
			if partition != "" {
				want[catalog.KeyPartition] = partition
			}
			for _, key := range []string{catalog.KeyClient, catalog.KeyAddress, catalog.KeyPort, catalog.KeyOutcome, catalog.KeyPartition} {
				if got := attr(s.Attributes, key); got != want[key] {
					t.Errorf("%s, %s after %d attempts: %s is %q, want %q", m.Partition, tt.done.Outcome, tt.done.Attempts, key, got, want[key])
				}
			}
			if tt.healthy && len(s.Attributes) != len(want) {
				t.Errorf("a healthy call has %v, want %v", s.Attributes, want)
			}
			if got := s.InstrumentationScope.Attributes; got.Len() != 1 {
				t.Errorf("the scope of the call's span has %v", got.ToSlice())
			} else if v, _ := got.Value(catalog.KeyClient); v.AsString() != meta.Client {
				t.Errorf("the scope of the call's span names the client %q, want %s", v.AsString(), meta.Client)
			}
		}
	}
}

func TestAnEventAfterTheCallStandsAloneInItsTrace(t *testing.T) {
	r := newRig(t)
	ctx := r.callStarted(t.Context())
	inner, _ := r.attemptStarted(ctx, 1)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200})
	r.hooks.ConnReleased(inner, events.ConnReleased{Meta: meta, Conn: 1})
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	r.hooks.ConnClosed(inner, events.ConnClosed{Meta: meta, Conn: 1, Cause: events.ConnPeer})

	call, closed := r.span(catalog.SpanCall), r.span(catalog.EventConnClosed)
	if len(call.Events) != 1 || call.Events[0].Name != catalog.EventConnReleased {
		t.Errorf("the call has the events %v, want the release that came after the attempt's end", call.Events)
	}
	if closed.SpanContext.TraceID() != call.SpanContext.TraceID() || closed.StartTime != closed.EndTime || closed.SpanKind != trace.SpanKindInternal {
		t.Errorf("the close is a %v span from %v to %v in trace %v, want an INTERNAL one without length in the call's trace", closed.SpanKind, closed.StartTime, closed.EndTime, closed.SpanContext.TraceID())
	}
}

func TestAnAttemptThatNeverEndedEndsWithItsCall(t *testing.T) {
	r := newRig(t)
	ctx := r.callStarted(t.Context())
	r.attemptStarted(ctx, 1)
	r.attemptStarted(ctx, 2)
	if n := len(r.spans.GetSpans()); n != 1 {
		t.Fatalf("%d spans have ended when the second attempt starts, want the first attempt's", n)
	}
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeEscaped, Class: events.ClassOther})
	if n := len(r.spans.GetSpans()); n != 3 {
		t.Errorf("%d spans were exported, want two attempts and the call", n)
	}
}

func TestACallInsideAnAttemptHasItsOwnState(t *testing.T) {
	r := newRig(t)
	outer := r.callStarted(t.Context())
	attempt, _ := r.attemptStarted(outer, 1)
	inner := r.callStarted(attempt)
	r.hooks.BudgetReplenished(inner, events.BudgetReplenished{Meta: meta, Added: 1, Level: 5})
	r.hooks.CallDone(inner, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	if s := r.span(catalog.SpanCall); len(s.Events) != 1 {
		t.Errorf("the inner call has %d events, want its own", len(s.Events))
	}
}

func TestTwoBridgesKeepTheirOwnSpans(t *testing.T) {
	a, b := newRig(t), newRig(t)
	h := events.Join(a.hooks, b.hooks)
	ctx := h.CallStarted(t.Context(), events.CallStarted{Meta: meta})
	inner := h.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1})
	h.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200})
	h.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	for _, r := range []*rig{a, b} {
		if n := len(r.spans.GetSpans()); n != 2 {
			t.Errorf("%d spans, want 2", n)
		}
	}
}

func TestEventsWithoutACallAreReportedAllTheSame(t *testing.T) {
	r := newRig(t)
	bg := context.Background()
	r.hooks.AttemptDone(bg, events.AttemptDone{Meta: meta, Status: 200})
	r.hooks.CallDone(bg, events.CallDone{Meta: meta, Outcome: events.OutcomeOK})
	r.hooks.ConnRecovered(bg, events.ConnRecovered{Meta: meta, Conn: 2, Class: events.ClassStale})
	r.hooks.RetryArmed(bg, events.RetryArmed{Meta: meta, Cause: events.CauseTimeout, Waited: time.Second})
	inner, _ := r.attemptStarted(bg, 1)
	r.hooks.ConnAcquired(inner, events.ConnAcquired{Meta: meta, Conn: 1})
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Status: 200})

	if got := r.at(catalog.RequestDuration, attribute.String(catalog.KeyMethod, "_OTHER")); len(got) != 1 {
		t.Errorf("%d series without a method, want 1", len(got))
	}
	if got := r.value(catalog.RetryArmed, attribute.String(catalog.KeyCause, "timeout")); got != 1 {
		t.Errorf("%v retries armed, want 1", got)
	}
	if s := r.span("GET"); len(s.Events) != 1 || attr(s.Attributes, catalog.KeyURLFull) == "" {
		t.Errorf("an attempt without a call has %v and %d events, want its URL and one event", s.Attributes, len(s.Events))
	}
	if s := r.span(catalog.SpanRecovery); attr(s.Attributes, catalog.KeyAddress) != "api.example.com" {
		t.Errorf("a recovery without a call has %v, want the origin", s.Attributes)
	}
}

func TestExemplarsPointToTheSpan(t *testing.T) {
	r := newRig(t)
	ctx := r.callStarted(t.Context())
	inner, _ := r.attemptStarted(ctx, 1)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200, Duration: time.Second})
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeEscaped, Status: 503, Duration: time.Second})
	for name, attrs := range map[string][]attribute.KeyValue{
		catalog.RequestDuration: nil, catalog.CallDuration: nil,
		catalog.CallEscapes: {attribute.String(catalog.KeySkipReason, catalog.None)},
	} {
		if p := r.at(name, attrs...); len(p) != 1 || p[0].exemplars != 1 {
			t.Errorf("%s has %+v, want one series with one exemplar", name, p)
		}
	}
}

func TestANegativeBoundIsRefused(t *testing.T) {
	_, err := otelbridge.New(otelbridge.Config{MaxOrigins: -3})
	const want = "otelbridge: Config.MaxOrigins is -3; give a positive number, or 0 for 100"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
