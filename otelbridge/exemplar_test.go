package otelbridge_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// A histogram's exemplar names the very span that its measurement is about, and
// the server is told of the attempt's span and of the baggage.
func TestARealClientsExemplarsHeadersAndSpansNameEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		d := drive(t, r, faultserver.H1, client.Config{}, func(c *otelbridge.Config) {
			c.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
		})
		bag, err := baggage.Parse("tenant=blue")
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		d.server.NextN(2, handled(func(w http.ResponseWriter, req *http.Request) {
			told = append(told, req.Header.Get("Traceparent"))
			if got := req.Header.Get("Baggage"); got != "tenant=blue" {
				t.Errorf("the server is told the baggage %q", got)
			}
			if len(told) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		d.want(baggage.ContextWithBaggage(t.Context(), bag), 200)
		synctest.Wait()
		attempts, calls := map[string]bool{}, map[string]bool{}
		for _, s := range r.spans.GetSpans() {
			id := s.SpanContext.SpanID().String()
			switch {
			case s.SpanKind == trace.SpanKindClient:
				attempts[id] = true
			case s.Name == catalog.SpanCall:
				calls[id] = true
			}
		}
		if len(attempts) != 2 || len(calls) != 1 || len(told) != 2 {
			t.Fatalf("%d attempts and %d calls have spans, the server saw %d requests; want 2, 1, 2", len(attempts), len(calls), len(told))
		}
		for _, parent := range told {
			if len(parent) != 55 || !attempts[parent[36:52]] {
				t.Errorf("the server is told %q, want the span of an attempt, %v", parent, attempts)
			}
		}
		got := r.collect()
		for name, spans := range map[string]map[string]bool{catalog.RequestDuration: attempts, catalog.CallDuration: calls} {
			linked := 0
			for _, p := range got[name].Data.(metricdata.Histogram[float64]).DataPoints {
				for _, e := range p.Exemplars {
					linked++
					if id := trace.SpanID(e.SpanID).String(); !spans[id] {
						t.Errorf("an exemplar of %s names the span %s, want one of %v", name, id, spans)
					}
				}
			}
			if linked != len(spans) {
				t.Errorf("%s has %d exemplars, want %d", name, linked, len(spans))
			}
		}
	})
}
