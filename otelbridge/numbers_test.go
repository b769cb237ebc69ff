package otelbridge_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Every number of an event is another one, so that none can stand for another.
func TestNumbersOfEventsComeWhereTheyBelong(t *testing.T) {
	r := newRig(t)
	ctx := r.callStarted(t.Context())
	h := r.hooks
	h.BudgetReserved(ctx, events.BudgetReserved{Meta: meta, Reserved: 3, Level: 497})
	h.BudgetSettled(ctx, events.BudgetSettled{Meta: meta, Outcome: events.Settlements()[0], Reserved: 13, Kept: 4, Refunded: 9, Level: 496})
	h.BudgetReplenished(ctx, events.BudgetReplenished{Meta: meta, Added: 5, Level: 495})
	h.RetrySkipped(ctx, events.RetrySkipped{Meta: meta, Reason: events.SkipDeadline, Attempt: 2, Status: 503, Level: 21, Needed: 22, Remaining: 23 * time.Second, Delay: 24 * time.Second})
	h.RetryArmed(ctx, events.RetryArmed{Meta: meta, Attempt: 6, Next: 7, Waited: 31 * time.Second, Cause: events.CauseStatus, Cost: 32, Level: 33})
	h.ThrottleRecorded(ctx, events.ThrottleRecorded{Meta: meta, Delay: 41 * time.Second, Until: time.Unix(1_800_000_000, 0)})
	h.ThrottleWaited(ctx, events.ThrottleWaited{Meta: meta, Wait: 43 * time.Second})
	h.ConnOpened(ctx, events.ConnOpened{Meta: meta, Conn: 51, Protocol: "2", Duration: 52 * time.Second})
	h.ConnAcquired(ctx, events.ConnAcquired{Meta: meta, Conn: 53, Protocol: "2", Reused: true, Wait: 54 * time.Second, Age: 55 * time.Second})
	h.ConnReleased(ctx, events.ConnReleased{Meta: meta, Conn: 56, HandedOn: true, Age: 57 * time.Second, Remaining: 58})
	h.ConnStale(ctx, events.ConnStale{Meta: meta, Conn: 59, Try: 60, Class: events.ClassEOF})
	h.ConnRecovered(ctx, events.ConnRecovered{Meta: meta, Conn: 61, Recoveries: 62, Class: events.ClassEOF, Fresh: true})
	h.ConnClosed(ctx, events.ConnClosed{Meta: meta, Conn: 63, Protocol: "2", Cause: events.ConnCauses()[0], Age: 64 * time.Second})
	h.StreamOpened(ctx, events.StreamOpened{Meta: meta, Reconnects: 71})
	h.StreamClosed(ctx, events.StreamClosed{Meta: meta, Bytes: 72, Events: 73, Reconnects: 74, Reason: events.StreamReasons()[0], Duration: 75 * time.Second})
	h.Reloaded(ctx, events.Reloaded{Meta: meta, Generation: 81})
	inner, _ := r.attemptStarted(ctx, 1)
	h.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Resend: 91, Status: 204, Duration: 92 * time.Second})
	h.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeRecovered, Attempts: 93, Recoveries: 94, Status: 204, Duration: 95 * time.Second})

	shown := map[string][]attribute.KeyValue{}
	for _, s := range r.spans.GetSpans() {
		shown[s.Name] = s.Attributes
		for _, e := range s.Events {
			shown[e.Name] = e.Attributes
		}
	}
	for name, want := range map[string]map[string]string{
		catalog.EventBudgetReserved:    {catalog.KeyTokensReserved: "3", catalog.KeyTokensLevel: "497"},
		catalog.EventBudgetSettled:     {catalog.KeyTokensReserved: "13", catalog.KeyTokensKept: "4", catalog.KeyTokensRefunded: "9", catalog.KeyTokensLevel: "496"},
		catalog.EventBudgetReplenished: {catalog.KeyTokensAdded: "5", catalog.KeyTokensLevel: "495"},
		catalog.EventRetrySkipped: {
			catalog.KeyAttempt: "2", catalog.KeyTokensLevel: "21", catalog.KeyTokensNeeded: "22",
			catalog.KeyRemaining: "23", catalog.KeyDelay: "24", catalog.KeyErrorType: "503",
		},
		catalog.SpanBackoff:           {catalog.KeyAttempt: "6", catalog.KeyTokensCost: "32", catalog.KeyTokensLevel: "33"},
		catalog.EventThrottleRecorded: {catalog.KeyDelay: "41", catalog.KeyUntil: "2027-01-15T08:00:00Z"},
		catalog.SpanThrottleWait:      {catalog.KeyTruncated: "false"},
		catalog.EventConnOpened:       {catalog.KeyConnID: "51", catalog.KeyDuration: "52"},
		catalog.EventConnAcquired:     {catalog.KeyConnID: "53", catalog.KeyConnReused: "true", catalog.KeyConnWait: "54", catalog.KeyConnAge: "55"},
		catalog.EventConnReleased:     {catalog.KeyConnID: "56", catalog.KeyConnHandedOn: "true", catalog.KeyConnAge: "57", catalog.KeyConnRemaining: "58"},
		catalog.EventConnStale:        {catalog.KeyConnID: "59", catalog.KeyConnTry: "60"},
		catalog.SpanRecovery:          {catalog.KeyConnID: "61", catalog.KeyRecoveries: "62", catalog.KeyFresh: "true"},
		catalog.EventConnClosed:       {catalog.KeyConnID: "63", catalog.KeyConnAge: "64"},
		catalog.EventStreamOpened:     {catalog.KeyReconnects: "71"},
		catalog.EventStreamClosed:     {catalog.KeyStreamBytes: "72", catalog.KeyStreamEvents: "73", catalog.KeyReconnects: "74", catalog.KeyDuration: "75"},
		catalog.EventReloaded:         {catalog.KeyGeneration: "81"},
		http.MethodGet:                {catalog.KeyResendCount: "91", catalog.KeyStatus: "204"},
		catalog.SpanCall:              {catalog.KeyAttempts: "93", catalog.KeyRecoveries: "94"},
	} {
		for key, value := range want {
			if got := attr(shown[name], key); got != value {
				t.Errorf("%s of %s is %q, want %s", key, name, got, value)
			}
		}
	}

	for name, want := range map[string]float64{
		catalog.BudgetReserved: 3, catalog.BudgetKept: 4, catalog.BudgetRefunded: 9, catalog.BudgetReplenished: 5,
		catalog.RetryArmed: 1, catalog.RetrySkipped: 1, catalog.RetryDelay: 31,
		catalog.ThrottleRecorded: 1, catalog.ThrottleWaitDuration: 43,
		catalog.ConnWaitDuration: 54, catalog.ConnectionDuration: 64, catalog.ConnStale: 1, catalog.ConnRecoveries: 1,
		catalog.StreamOpened: 1, catalog.StreamClosed: 1, catalog.StreamBytes: 72, catalog.StreamEvents: 73, catalog.Reloads: 1,
		catalog.RequestDuration: 92, catalog.CallDuration: 95, catalog.CallEscapes: 0,
	} {
		sum := 0.0
		for _, p := range r.at(name) {
			sum += p.value
		}
		if sum != want {
			t.Errorf("%s is %v, want %v", name, sum, want)
		}
	}
}

// An instrument, or the exemplar filter behind it, may be anybody's: here it
// sends a call of the same client when the counters are born.
func TestAMeterThatMakesACallIsNotWaitedFor(t *testing.T) {
	var r *rig
	inside := 0
	r = newRig(t, func(c *otelbridge.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()), sdkmetric.WithExemplarFilter(func(context.Context) bool {
			if inside++; inside == 1 {
				r.call(meta, 200)
			}
			return false
		}))
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.call(meta, 200)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the call does not end")
	}
	if inside < 2 {
		t.Errorf("the filter was asked %d times", inside)
	}
}

// What is recorded and not sampled is not exported.
func TestACallWhoseAttemptIsRecordedAloneSaysEverything(t *testing.T) {
	r := newRig(t, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(clientsRecordOnly{}), sdktrace.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(nil)))
	})
	ctx := r.callStarted(t.Context())
	inner, _ := r.attemptStarted(ctx, 1)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Status: 200})
	span := spanOf(t, ctx)
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
	for _, key := range []string{catalog.KeyClient, catalog.KeyAddress, catalog.KeyPort, catalog.KeyOutcome} {
		if attr(span.Attributes(), key) == "" {
			t.Errorf("the call's span has %v, want %s", span.Attributes(), key)
		}
	}
}

// clientsRecordOnly is a sampler that has the spans of attempts recorded and not
// sampled.
type clientsRecordOnly struct{}

func (clientsRecordOnly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Kind == trace.SpanKindClient {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (clientsRecordOnly) Description() string { return "clientsRecordOnly" }

func spanOf(t *testing.T, ctx context.Context) sdktrace.ReadOnlySpan {
	t.Helper()
	s, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan)
	if !ok {
		t.Fatal("no span is recorded")
	}
	return s
}
