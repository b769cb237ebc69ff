package otelbridge_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestTheMetricsOfTheConventionsAreTheirs(t *testing.T) {
	for _, conv := range []interface {
		Name() string
		Unit() string
		Description() string
	}{
		httpconv.ClientRequestDuration{}, httpconv.ClientActiveRequests{}, httpconv.ClientOpenConnections{}, httpconv.ClientConnectionDuration{},
	} {
		m, ok := catalog.Lookup(conv.Name())
		if !ok {
			t.Errorf("%s is not in the catalogue", conv.Name())
			continue
		}
		if m.Unit != conv.Unit() || m.Description != conv.Description() {
			t.Errorf("%s has unit %q and description %q, want %q and %q", m.Name, m.Unit, m.Description, conv.Unit(), conv.Description())
		}
	}
}

func TestTheAttributesOfTheConventionsAreTheirs(t *testing.T) {
	for key, conv := range map[string]attribute.Key{
		catalog.KeyAddress:         semconv.ServerAddressKey,
		catalog.KeyPort:            semconv.ServerPortKey,
		catalog.KeyMethod:          semconv.HTTPRequestMethodKey,
		catalog.KeyMethodOriginal:  semconv.HTTPRequestMethodOriginalKey,
		catalog.KeyResendCount:     semconv.HTTPRequestResendCountKey,
		catalog.KeyStatus:          semconv.HTTPResponseStatusCodeKey,
		catalog.KeyErrorType:       semconv.ErrorTypeKey,
		catalog.KeyProtocolVersion: semconv.NetworkProtocolVersionKey,
		catalog.KeyConnectionState: semconv.HTTPConnectionStateKey,
		catalog.KeyURLFull:         semconv.URLFullKey,
		catalog.KeyURLTemplate:     semconv.URLTemplateKey,
	} {
		if key != string(conv) {
			t.Errorf("the catalogue says %s, the conventions %s", key, conv)
		}
	}
	r := newRig(t)
	r.call(meta, 200)
	for _, s := range r.spans.GetSpans() {
		if s.InstrumentationScope.SchemaURL != semconv.SchemaURL {
			t.Errorf("%s has the schema %s, want %s", s.Name, s.InstrumentationScope.SchemaURL, semconv.SchemaURL)
		}
	}
}

func TestTheKnownMethodsAreTheConventions(t *testing.T) {
	for _, kv := range []attribute.KeyValue{
		semconv.HTTPRequestMethodConnect, semconv.HTTPRequestMethodDelete, semconv.HTTPRequestMethodGet, semconv.HTTPRequestMethodHead,
		semconv.HTTPRequestMethodOptions, semconv.HTTPRequestMethodPatch, semconv.HTTPRequestMethodPost, semconv.HTTPRequestMethodPut,
		semconv.HTTPRequestMethodTrace, semconv.HTTPRequestMethodQuery,
	} {
		if !slices.Contains(catalog.Methods(), kv.Value.AsString()) {
			t.Errorf("%s is a method of the conventions and not known", kv.Value.AsString())
		}
	}
	if got := string(httpconv.RequestMethodOther); got != catalog.Unknown {
		t.Errorf("other methods are %q in the conventions, %q in the catalogue", got, catalog.Unknown)
	}
}

func TestRequestDurationHasTheBucketsOfTheConventions(t *testing.T) {
	m, _ := catalog.Lookup(catalog.RequestDuration)
	want := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	if !slices.Equal(m.Buckets, want) {
		t.Errorf("buckets %v, want %v", m.Buckets, want)
	}
}

func TestAJumpOfASharedBreakerCountsAsItsLastStep(t *testing.T) {
	for _, tt := range []struct {
		from, to         events.BreakerState
		cause            events.BreakerCause
		wantFrom, wantTo string
		wantCause        string
	}{
		{events.BreakerClosed, events.BreakerHalfOpen, events.BreakerCooldown, "open", "half_open", "cooldown"},
		{events.BreakerOpen, events.BreakerClosed, events.BreakerByProbe, "half_open", "closed", "probe"},
		{events.BreakerClosed, events.BreakerOpen, events.BreakerByProbe, "half_open", "open", "probe"},
		{events.BreakerHalfOpen, events.BreakerOpen, events.BreakerRate, "closed", "open", "rate"},
		{events.BreakerClosed, events.BreakerOpen, events.BreakerStreak, "closed", "open", "streak"},
	} {
		r := newRig(t)
		r.hooks.BreakerChanged(t.Context(), events.BreakerChanged{Meta: events.Meta{Client: "shop", Partition: origin}, Key: origin, From: tt.from, To: tt.to, Cause: tt.cause})
		if got := r.value(catalog.BreakerTransitions, attribute.String(catalog.KeyAddress, "api.example.com"),
			attribute.String(catalog.KeyBreakerFrom, tt.wantFrom), attribute.String(catalog.KeyBreakerTo, tt.wantTo), attribute.String(catalog.KeyCause, tt.wantCause)); got != 1 {
			t.Errorf("%v to %v by %s: counted %v as %s to %s by %s, want 1", tt.from, tt.to, tt.cause, got, tt.wantFrom, tt.wantTo, tt.wantCause)
		}
	}
}
