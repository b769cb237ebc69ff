package otelbridge_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// StartAttributes changes when an attempt's span gets its attributes, and
// nothing else: the resend count and the answer come at the end, and a span
// has the true address past the bound on origins, where metrics do not.
func TestStartAttributesAreThoseOfTheEnd(t *testing.T) {
	second := events.Meta{Client: "shop", Origin: "https://second.example.com:8443", Partition: "https://second.example.com:8443", Call: 2}
	want := []string{
		"error.type=503",
		"http.request.method=_OTHER",
		"http.request.method_original=BREW",
		"http.request.resend_count=2",
		"http.response.status_code=503",
		"network.protocol.version=1.1",
		"server.address=second.example.com",
		"server.port=8443",
		"url.full=https://second.example.com:8443/pots/7",
		"url.template=/pots/{id}",
	}
	atStart := []string{want[1], want[2], want[6], want[7], want[8], want[9]}
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			var sampled []string
			r := newRig(t)
			r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans), sdktrace.WithSampler(samplerFunc(func(p sdktrace.SamplingParameters) {
				if p.Kind == trace.SpanKindClient {
					sampled = lines(p.Attributes)
				}
			})))
			b, err := otelbridge.New(otelbridge.Config{TracerProvider: r.tracer, MeterProvider: r.meter, MaxOrigins: 1, StartAttributes: early})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			r.hooks = b.Hooks()
			r.call(meta, 200) // takes the only place
			r.spans.Reset()

			ctx := r.hooks.CallStarted(t.Context(), events.CallStarted{Meta: second, Method: "BREW"})
			inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{
				Meta: second, Attempt: 1, Resend: 1, Method: "BREW", Route: "/pots/{id}", Header: http.Header{},
				URL: events.URLOf(mustURL(t, second.Origin+"/pots/7")),
			})
			if early && !slices.Equal(sampled, atStart) || !early && len(sampled) != 0 {
				t.Errorf("the sampler sees %q", sampled)
			}
			r.hooks.AttemptDone(inner, events.AttemptDone{Meta: second, Attempt: 1, Resend: 2, Status: 503, Protocol: "1.1"})
			r.hooks.CallDone(ctx, events.CallDone{Meta: second, Method: "BREW", Outcome: events.OutcomeEscaped, Attempts: 1, Status: 503})

			if got := lines(r.span("HTTP /pots/{id}").Attributes); !slices.Equal(got, want) {
				t.Errorf("the attempt's span has\n%q, want\n%q", got, want)
			}
			if got := attr(r.span(catalog.SpanCall).Attributes, catalog.KeyAddress); got != "second.example.com" {
				t.Errorf("the call's span has the address %q", got)
			}
			if got := len(r.at(catalog.RequestDuration, attribute.String(catalog.KeyAddress, catalog.Other))); got != 1 {
				t.Errorf("%d series of %s are past the bound, want 1", got, catalog.RequestDuration)
			}
		})
	}
}

// lines returns attributes as sorted text.
func lines(kvs []attribute.KeyValue) []string {
	var out []string
	for _, kv := range kvs {
		out = append(out, string(kv.Key)+"="+kv.Value.String())
	}
	slices.Sort(out)
	return out
}
