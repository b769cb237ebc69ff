package otelbridge

import (
	"context"
	"net/http"
	"net/textproto"

	"go.opentelemetry.io/otel/propagation"
)

// inject writes the span context and the baggage of ctx into the attempt's own
// header.
func (b *Bridge) inject(ctx context.Context, client string, header http.Header) {
	if header == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			b.panicked(ctx, client, v)
		}
	}()
	b.propagator.Inject(ctx, carrier(header))
}

// carrier is a header for a propagator. It writes as [propagation.HeaderCarrier]
// does, without forming the canonical names of the common fields anew.
type carrier http.Header

var _ propagation.ValuesGetter = carrier(nil)

// canonical names of the fields that OpenTelemetry's propagators write.
var canonicalNames = map[string]string{
	"traceparent": "Traceparent",
	"tracestate":  "Tracestate",
	"baggage":     "Baggage",
}

func canonicalName(key string) string {
	if name, ok := canonicalNames[key]; ok {
		return name
	}
	return textproto.CanonicalMIMEHeaderKey(key)
}

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string { return http.Header(c).Get(key) }

// Values implements [propagation.ValuesGetter].
func (c carrier) Values(key string) []string { return http.Header(c).Values(key) }

// Set implements [propagation.TextMapCarrier].
func (c carrier) Set(key, value string) { c[canonicalName(key)] = []string{value} }

// Keys implements [propagation.TextMapCarrier].
func (c carrier) Keys() []string { return propagation.HeaderCarrier(c).Keys() }
