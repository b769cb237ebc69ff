package otelbridge_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// attempted runs one call with one attempt and returns the attempt's span.
func attempted(r *rig, started func(*events.AttemptStarted), done events.AttemptDone) (name string, attrs []attribute.KeyValue, status codes.Code) {
	r.t.Helper()
	ctx := r.callStarted(r.t.Context())
	inner, _ := r.attemptStarted(ctx, 1, started)
	done.Meta = meta
	r.hooks.AttemptDone(inner, done)
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	for _, s := range r.spans.GetSpans() {
		if s.SpanKind == trace.SpanKindClient {
			return s.Name, s.Attributes, s.Status.Code
		}
	}
	r.t.Fatal("no CLIENT span was exported")
	return "", nil, 0
}

func TestAnAttemptIsNamedByTheHTTPConventions(t *testing.T) {
	for _, tt := range []struct{ method, route, name, reported, original string }{
		{"GET", "", "GET", "GET", ""},
		{"", "", "GET", "GET", ""},
		{"QUERY", "", "QUERY", "QUERY", ""},
		{"POST", "/users/{id}", "POST /users/{id}", "POST", ""},
		{"get", "", "HTTP", "_OTHER", "get"},
		{"BREW", "/pots/{id}", "HTTP /pots/{id}", "_OTHER", "BREW"},
	} {
		r := newRig(t)
		name, attrs, _ := attempted(r, func(e *events.AttemptStarted) { e.Method, e.Route = tt.method, tt.route }, events.AttemptDone{Status: 200})
		if name != tt.name || attr(attrs, catalog.KeyMethod) != tt.reported || attr(attrs, catalog.KeyMethodOriginal) != tt.original || attr(attrs, catalog.KeyURLTemplate) != tt.route {
			t.Errorf("%q %q: span %q with %v, want %q, method %q, original %q", tt.method, tt.route, name, attrs, tt.name, tt.reported, tt.original)
		}
		if got := r.at(catalog.RequestDuration, attribute.String(catalog.KeyMethod, tt.reported)); len(got) != 1 {
			t.Errorf("%q: %d series of %s with method %s, want 1", tt.method, len(got), catalog.RequestDuration, tt.reported)
		}
	}
}

func TestTheKnownMethodsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET, BREW")
	r := newRig(t)
	if name, _, _ := attempted(r, func(e *events.AttemptStarted) { e.Method = "BREW" }, events.AttemptDone{Status: 200}); name != "BREW" {
		t.Errorf("BREW is named %q, want BREW", name)
	}
	r = newRig(t)
	if name, _, _ := attempted(r, func(e *events.AttemptStarted) { e.Method = "POST" }, events.AttemptDone{Status: 200}); name != "HTTP" {
		t.Errorf("POST is named %q, want HTTP: the list replaces the default", name)
	}
}

func TestAnAttemptHasTheAttributesOfTheConventions(t *testing.T) {
	for _, tt := range []struct {
		done            events.AttemptDone
		status, errType string
		resend          string
		code            codes.Code
	}{
		{events.AttemptDone{Status: 204, Protocol: "2"}, "204", "", "", codes.Unset},
		{events.AttemptDone{Status: 304, Protocol: "1.1", Resend: 2}, "304", "", "2", codes.Unset},
		{events.AttemptDone{Status: 404, Protocol: "1.1"}, "404", "404", "", codes.Error},
		{events.AttemptDone{Status: 503, Protocol: "1.1"}, "503", "503", "", codes.Error},
		{events.AttemptDone{Class: events.ClassReset}, "", "reset", "", codes.Error},
		{events.AttemptDone{Class: "made_up"}, "", "other", "", codes.Error},
	} {
		r := newRig(t)
		_, attrs, code := attempted(r, func(*events.AttemptStarted) {}, tt.done)
		got := [...]string{attr(attrs, catalog.KeyStatus), attr(attrs, catalog.KeyErrorType), attr(attrs, catalog.KeyResendCount), attr(attrs, catalog.KeyProtocolVersion)}
		if want := [...]string{tt.status, tt.errType, tt.resend, tt.done.Protocol}; got != want || code != tt.code {
			t.Errorf("%+v: status, error type, resend count and protocol %q, span status %v, want %q and %v", tt.done, got, code, want, tt.code)
		}
		if attr(attrs, catalog.KeyAddress) != "api.example.com" || attr(attrs, catalog.KeyPort) != "443" || attr(attrs, catalog.KeyURLFull) != "https://api.example.com:443/a" {
			t.Errorf("address, port or URL is wrong in %v", attrs)
		}
		p := r.at(catalog.RequestDuration)[0]
		for _, key := range []string{catalog.KeyStatus, catalog.KeyErrorType, catalog.KeyProtocolVersion} {
			if v, _ := p.attrs.Value(attribute.Key(key)); attr(attrs, key) != "" && v.String() != attr(attrs, key) {
				t.Errorf("%s is %q in the span and %q in the metric", key, attr(attrs, key), v.String())
			}
		}
	}
}

func TestAnIPv6OriginLosesItsBrackets(t *testing.T) {
	r := newRig(t)
	m := meta
	m.Origin, m.Partition = "http://[::1]:8080", "http://[::1]:8080"
	r.call(m, 200)
	if got := r.value(catalog.CallEscapes, attribute.String(catalog.KeyAddress, "::1"), attribute.Int(catalog.KeyPort, 8080), attribute.String(catalog.KeySkipReason, "none")); got != 0 {
		t.Errorf("%s is %v, want 0", catalog.CallEscapes, got)
	}
}

func TestTheAttemptsSpanContextAndTheBaggageGoIntoItsOwnHeader(t *testing.T) {
	r := newRig(t)
	member, err := baggage.NewMember("tenant", "blue")
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	ctx := r.callStarted(baggage.ContextWithBaggage(t.Context(), bag))
	var parents []string
	for n := 1; n <= 2; n++ {
		inner, header := r.attemptStarted(ctx, n)
		want := trace.SpanContextFromContext(inner)
		got := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header)))
		if !got.IsValid() || got.SpanID() != want.SpanID() || got.TraceID() != want.TraceID() {
			t.Errorf("attempt %d sends %v, want its own span %v", n, got, want)
		}
		if header.Get("baggage") != "tenant=blue" {
			t.Errorf("attempt %d sends baggage %q, want tenant=blue", n, header.Get("baggage"))
		}
		parents = append(parents, header.Get("traceparent"))
		r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: n, Status: 503})
	}
	if parents[0] == parents[1] {
		t.Errorf("both attempts send %s", parents[0])
	}
}

func TestWithoutSpansTheCallersContextIsPropagated(t *testing.T) {
	r := newRig(t, func(c *otelbridge.Config) { c.DisableTraces = true })
	caller, span := r.tracer.Tracer("caller").Start(t.Context(), "caller")
	defer span.End()
	_, header := r.attemptStarted(r.callStarted(caller), 1)
	got := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header)))
	if got.SpanID() != span.SpanContext().SpanID() {
		t.Errorf("the header names span %v, want the caller's %v", got.SpanID(), span.SpanContext().SpanID())
	}
	if n := len(r.spans.GetSpans()); n != 0 {
		t.Errorf("%d spans were exported, want none", n)
	}
}

func TestSpanNameNamesTheAttempt(t *testing.T) {
	r := newRig(t, func(c *otelbridge.Config) {
		c.SpanName = func(e events.AttemptStarted) string {
			if e.Route == "" {
				return ""
			}
			return "call " + e.Route
		}
	})
	if name, _, _ := attempted(r, func(e *events.AttemptStarted) { e.Route = "/x" }, events.AttemptDone{Status: 200}); name != "call /x" {
		t.Errorf("the span is named %q, want \"call /x\"", name)
	}
	r.spans.Reset()
	if name, _, _ := attempted(r, func(*events.AttemptStarted) {}, events.AttemptDone{Status: 200}); name != http.MethodGet {
		t.Errorf("without a name of its own the span is named %q, want GET", name)
	}
}

// clientsOnly samples the spans of attempts and drops those of calls.
type clientsOnly struct{}

func (clientsOnly) Description() string { return "clientsOnly" }

func (clientsOnly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	d := sdktrace.Drop
	if p.Kind == trace.SpanKindClient {
		d = sdktrace.RecordAndSample
	}
	return sdktrace.SamplingResult{Decision: d}
}

func TestASamplerThatDropsTheCallMayKeepTheAttempt(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	r := newRig(t, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(clientsOnly{}))
	})
	ctx := r.callStarted(t.Context())
	inner, _ := r.attemptStarted(ctx, 1)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200})
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 1})
	got := spans.GetSpans()
	if len(got) != 1 || got[0].Name != "GET" || attr(got[0].Attributes, catalog.KeyURLFull) == "" {
		t.Errorf("exported %v, want the attempt alone, with its URL", got)
	}
}

func TestASamplerSeesWhatTheConventionsAskFor(t *testing.T) {
	var seen []attribute.KeyValue
	r := newRig(t, func(c *otelbridge.Config) {
		c.StartAttributes = true
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(samplerFunc(func(p sdktrace.SamplingParameters) {
			if p.Kind == trace.SpanKindClient {
				seen = p.Attributes
			}
		})))
	})
	inner, _ := r.attemptStarted(r.callStarted(t.Context()), 1)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200, Duration: time.Millisecond})
	for _, key := range []string{catalog.KeyMethod, catalog.KeyAddress, catalog.KeyPort, catalog.KeyURLFull} {
		if attr(seen, key) == "" {
			t.Errorf("the sampler does not see %s in %v", key, seen)
		}
	}
}

type samplerFunc func(sdktrace.SamplingParameters)

func (samplerFunc) Description() string { return "samplerFunc" }

func (f samplerFunc) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	f(p)
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}
