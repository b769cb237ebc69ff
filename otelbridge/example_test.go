package otelbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
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

// Views make metrics cheaper. The catalogue has ready-made ones as data, since
// this module does not link the SDK.
func ExampleConfig_views() {
	var views []sdkmetric.View
	for _, v := range catalog.Lean() {
		var stream sdkmetric.Stream
		if v.Drop {
			stream.Aggregation = sdkmetric.AggregationDrop{}
		} else {
			keys := make([]attribute.Key, len(v.Keep))
			for i, k := range v.Keep {
				keys[i] = attribute.Key(k)
			}
			stream.AttributeFilter = attribute.NewAllowKeysFilter(keys...)
		}
		views = append(views, sdkmetric.NewView(sdkmetric.Instrument{Name: v.Metric}, stream))
	}
	reader := sdkmetric.NewManualReader()
	bridge, err := otelbridge.New(otelbridge.Config{
		DisableTraces: true,
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(views...)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bridge.Close()

	m := events.Meta{Client: "shop", Origin: "https://api.test:443", Partition: "https://api.test:443"}
	for _, class := range []events.ErrorClass{events.ClassEOF, events.ClassReset} {
		bridge.Hooks().ConnStale(context.Background(), events.ConnStale{Meta: m, Class: class})
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		fmt.Println(err)
		return
	}
	metrics := rm.ScopeMetrics[0].Metrics
	i := slices.IndexFunc(metrics, func(m metricdata.Metrics) bool { return m.Name == catalog.ConnStale })
	for _, p := range metrics[i].Data.(metricdata.Sum[int64]).DataPoints {
		fmt.Println(metrics[i].Name, p.Value, p.Attributes.Encoded(attribute.DefaultEncoder()))
	}
	// Output:
	// plimsoll.conn.stale 2 plimsoll.client=shop,server.address=api.test,server.port=443
}
