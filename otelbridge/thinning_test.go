package otelbridge_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// measurements are the contexts in which a metric was recorded.
type measurements []context.Context

func (m *measurements) Offer(ctx context.Context, _ time.Time, _ exemplar.Value, _ []attribute.KeyValue) {
	*m = append(*m, ctx)
}

func (*measurements) Collect(*[]exemplar.Exemplar) {}

// spans returns the spans that the measurements since the last call name.
func (m *measurements) spans(t *testing.T, count int) (named []trace.SpanID) {
	t.Helper()
	for _, ctx := range *m {
		if ctx.Value(callerKey{}) != "caller" {
			t.Error("a measurement's context lacks what the caller put into its own")
		}
		if ctx.Done() == nil {
			t.Error("a measurement's context does not end with the caller's")
		}
		if sc := trace.SpanContextFromContext(ctx); sc.IsSampled() {
			named = append(named, sc.SpanID())
		}
	}
	if len(*m) != count {
		t.Errorf("%d measurements, want %d", len(*m), count)
	}
	*m = nil
	return named
}

type callerKey struct{}

// measured returns a rig and what is recorded of the durations of its requests
// and calls, with whichever context.
func measured(t *testing.T, change ...func(*otelbridge.Config)) (r *rig, requests, calls *measurements) {
	requests, calls = &measurements{}, &measurements{}
	keep := func(name string, into *measurements) sdkmetric.Option {
		return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: name}, sdkmetric.Stream{
			ExemplarReservoirProviderSelector: func(sdkmetric.Aggregation) exemplar.ReservoirProvider {
				return func(attribute.Set) exemplar.Reservoir { return into }
			},
		}))
	}
	r = newRig(t, append(change, func(c *otelbridge.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()),
			sdkmetric.WithExemplarFilter(exemplar.AlwaysOnFilter), keep(catalog.RequestDuration, requests), keep(catalog.CallDuration, calls))
	})...)
	return r, requests, calls
}

func TestEveryMeasurementIsOfferedAsAnExemplarWhereThatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, requests, calls := measured(t, func(c *otelbridge.Config) { c.AllExemplars = true })
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callerKey{}, "caller"))
		defer cancel()
		const n = 20
		for range n {
			ctx := r.hooks.CallStarted(ctx, events.CallStarted{Meta: meta, Method: http.MethodGet})
			inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1, Method: http.MethodGet})
			r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Status: 200})
			r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Method: http.MethodGet, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
		}
		if of, in := len(requests.spans(t, n)), len(calls.spans(t, n)); of != n || in != n {
			t.Errorf("%d requests and %d calls of %d are offered", of, in, n)
		}
	})
}

// Of the quickest healthy calls few are offered as exemplars; of all others,
// which somebody may look for, every one.
func TestOnlyOfTheQuickestHealthyCallsFewAreOfferedAsExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, requests, calls := measured(t)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callerKey{}, "caller"))
		defer cancel()
		resend := 0
		send := func(status int, class events.ErrorClass, outcome events.Outcome, attempt, call time.Duration) {
			ctx := r.hooks.CallStarted(ctx, events.CallStarted{Meta: meta, Method: http.MethodGet})
			inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1, Method: http.MethodGet})
			r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Resend: resend, Status: status, Class: class, Duration: attempt})
			r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Method: http.MethodGet, Outcome: outcome, Attempts: 1, Status: status, Class: class, Duration: call})
		}
		const n = 20
		const quick = 5 * time.Millisecond // the fastest bucket holds its bound
		for _, tt := range []struct {
			name            string
			status          int
			class           events.ErrorClass
			outcome         events.Outcome
			attempt, call   time.Duration
			requests, calls int // of n that are offered
		}{
			{"first", 200, "", events.OutcomeOK, quick, quick, 1, 1},
			{"same series, same time", 200, "", events.OutcomeOK, quick, quick, 0, 0},
			{"half as long", 200, "", events.OutcomeOK, quick / 2, quick / 2, 1, 1},
			{"and again", 200, "", events.OutcomeOK, quick / 2, quick / 2, 0, 0},
			{"a long body", 200, "", events.OutcomeOK, quick / 2, quick - time.Millisecond, 0, 1},
			{"next to nothing", 200, "", events.OutcomeOK, 0, 0, 1, 1},
			{"another series of requests", 204, "", events.OutcomeOK, quick, quick, 1, 0},
			{"slow", 200, "", events.OutcomeOK, quick + 1, quick + 1, n, n},
			{"slow body", 200, "", events.OutcomeOK, quick, quick + 1, 0, n},
			{"failed", 503, "", events.OutcomeEscaped, 0, 0, n, n},
			{"error", 0, events.ClassEOF, events.OutcomeEscaped, 0, 0, n, n},
			{"recovered", 200, "", events.OutcomeRecovered, 0, 0, n, n},
			{"canceled", 200, "", events.OutcomeCanceled, 0, 0, 0, n},
		} {
			r.spans.Reset()
			resend = 0
			if tt.outcome == events.OutcomeRecovered {
				resend = 1
			}
			for range n {
				send(tt.status, tt.class, tt.outcome, tt.attempt, tt.call)
			}
			var ofAttempts, ofCalls []trace.SpanID
			for _, s := range r.spans.GetSpans() {
				if s.Name == catalog.SpanCall {
					ofCalls = append(ofCalls, s.SpanContext.SpanID())
				} else {
					ofAttempts = append(ofAttempts, s.SpanContext.SpanID())
				}
			}
			if got := requests.spans(t, n); !slices.Equal(got, ofAttempts[:tt.requests]) {
				t.Errorf("%s: %d requests of %d are offered, want %d", tt.name, len(got), n, tt.requests)
			}
			if got := calls.spans(t, n); !slices.Equal(got, ofCalls[:tt.calls]) {
				t.Errorf("%s: %d calls of %d are offered, want %d", tt.name, len(got), n, tt.calls)
			}
		}

		resend = 0
		for i, pause := range []time.Duration{10*time.Millisecond - 1, 1, 10 * time.Millisecond, time.Hour} {
			wait(pause)
			for range n {
				send(200, "", events.OutcomeOK, 0, 0)
			}
			want := min(i, 1)
			if of, in := len(requests.spans(t, n)), len(calls.spans(t, n)); of != want || in != want {
				t.Errorf("%v later, %d requests and %d calls are offered, want %d", pause, of, in, want)
			}
		}
	})
}
