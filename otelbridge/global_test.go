package otelbridge_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// The global providers can be set once per process.
func TestGlobalProvidersMayBeSetAfterTheFirstCall(t *testing.T) {
	const alone = "PLIMSOLL_TEST_GLOBAL_PROVIDERS"
	if os.Getenv(alone) == "" { // in a process of its own, so that it can run again
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	b, err := otelbridge.New(otelbridge.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	r := &rig{t: t, bridge: b, hooks: b.Hooks(), spans: spans, reader: reader}
	r.call(meta, 200)

	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	r.observed(meta.Client, sources(meta))
	r.call(meta, 200)

	if n := len(spans.GetSpans()); n != 2 {
		t.Errorf("%d spans after the provider is set, want the second call's 2", n)
	}
	if got := r.value(catalog.CallEscapes, attribute.String(catalog.KeySkipReason, catalog.None)); got != 0 {
		t.Errorf("%s is %v, want 0: born once the provider takes measurements", catalog.CallEscapes, got)
	}
	if got := r.value(catalog.BudgetTokens); got != 490 {
		t.Errorf("%s is %v, want 490", catalog.BudgetTokens, got)
	}
	ctx := r.callStarted(t.Context())
	if _, header := r.attemptStarted(ctx, 1, func(e *events.AttemptStarted) { e.Header = http.Header{} }); header.Get("traceparent") == "" {
		t.Error("no traceparent after the propagator is set")
	}
}
