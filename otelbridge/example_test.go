package otelbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// A client makes its bridge by itself. This example plays the client, to show
// what one call with a retry leaves in a trace.
func ExampleNew() {
	spans := tracetest.NewInMemoryExporter()
	bridge, err := otelbridge.New(otelbridge.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(),
		Propagator:     propagation.TraceContext{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bridge.Close()

	h := bridge.Hooks()
	m := events.Meta{Client: "shop", Origin: "https://api.test:443", Partition: "https://api.test:443", Call: 1}
	call := h.CallStarted(context.Background(), events.CallStarted{Meta: m, Method: http.MethodGet})
	for n, status := range []int{503, 200} {
		if n > 0 {
			h.RetryArmed(call, events.RetryArmed{Meta: m, Attempt: n, Next: n + 1, Cause: events.CauseStatus, Waited: 20 * time.Millisecond})
		}
		attempt := h.AttemptStarted(call, events.AttemptStarted{Meta: m, Attempt: n + 1, Method: http.MethodGet, Route: "/users/{id}", Header: http.Header{}})
		h.AttemptDone(attempt, events.AttemptDone{Meta: m, Attempt: n + 1, Resend: n, Status: status})
	}
	h.CallDone(call, events.CallDone{Meta: m, Outcome: events.OutcomeRecovered, Attempts: 2, Status: 200})

	for _, s := range spans.GetSpans() {
		fmt.Printf("%-8v %s\n", s.SpanKind, s.Name)
	}
	// Output:
	// client   GET /users/{id}
	// internal plimsoll.backoff
	// client   GET /users/{id}
	// internal plimsoll.call
}
