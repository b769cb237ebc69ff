package proof

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// sink is an OTLP endpoint that keeps every byte that it is sent.
type sink struct {
	telemetry otelbridge.Config
	exposed   http.Handler // the same metrics for Prometheus
	spans     *trace.TracerProvider
	meters    *metric.MeterProvider

	mu   sync.Mutex
	sent map[string][]byte // by path; guarded by mu
}

// newSink starts one, with an SDK that exports to it uncompressed.
func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{sent: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("the payload is not plain: %v, encoding %q", err, r.Header.Get("Content-Encoding"))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent[r.URL.Path] = append(s.sent[r.URL.Path], body...)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://")
	traces, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(at), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(at), otlpmetrichttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	reader, handler, err := Exposed()
	if err != nil {
		t.Fatal(err)
	}
	s.exposed = handler
	s.spans = trace.NewTracerProvider(trace.WithBatcher(traces), trace.WithResource(process))
	s.meters = metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(metrics)), metric.WithReader(reader), metric.WithResource(process))
	s.telemetry = otelbridge.Config{
		TracerProvider: s.spans, MeterProvider: s.meters, ConnTrace: true, StartAttributes: true,
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(s.spans.Shutdown(ctx), s.meters.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// bytes flushes and returns what left the process, by the way it took.
func (s *sink) bytes(t *testing.T) map[string]string {
	t.Helper()
	if err := errors.Join(s.spans.ForceFlush(t.Context()), s.meters.ForceFlush(t.Context())); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.exposed.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]string{
		"OTLP traces": string(s.sent["/v1/traces"]), "OTLP metrics": string(s.sent["/v1/metrics"]), "the exposition": w.Body.String(),
	}
}
