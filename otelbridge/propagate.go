package otelbridge

import (
	"context"
	"net/http"
	"net/textproto"
	"slices"

	"go.opentelemetry.io/otel/propagation"
)

// inject writes the span context and the baggage of ctx into the attempt's own
// header. a is the attempt that ctx is, if the bridge keeps one; the span is
// right there in its context.
func (b *Bridge) inject(ctx context.Context, a *attempt, client string, header http.Header) {
	if header == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			b.panicked(ctx, client, v)
		}
	}()
	if a == nil {
		b.propagator.Inject(ctx, carrier(header))
		return
	}
	a.header = header
	b.propagator.Inject(a.Context, (*attemptCarrier)(a))
	a.header = nil
}

// carrier is a header for a propagator. It writes as [propagation.HeaderCarrier]
// does, without forming the canonical names of the common fields anew. It puts
// values in place of others and changes none, since the caller's request may
// share them.
type carrier http.Header

// attemptCarrier is the carrier for an attempt's header. It keeps the first
// value that is set in the attempt's own memory.
type attemptCarrier attempt

var (
	_ propagation.ValuesGetter = carrier(nil)
	_ propagation.ValuesGetter = (*attemptCarrier)(nil)
)

// canonicalName is the form in which a header keeps the fields that
// OpenTelemetry's propagators write, or any other.
func canonicalName(key string) string {
	switch key {
	case "traceparent":
		return "Traceparent"
	case "tracestate":
		return "Tracestate"
	case "baggage":
		return "Baggage"
	}
	return textproto.CanonicalMIMEHeaderKey(key)
}

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string { return http.Header(c).Get(key) }

// Values implements [propagation.ValuesGetter].
func (c carrier) Values(key string) []string { return slices.Clone(http.Header(c).Values(key)) }

// Set implements [propagation.TextMapCarrier].
func (c carrier) Set(key, value string) { c[canonicalName(key)] = []string{value} }

// Keys implements [propagation.TextMapCarrier].
func (c carrier) Keys() []string { return propagation.HeaderCarrier(c).Keys() }

// Get implements [propagation.TextMapCarrier].
func (a *attemptCarrier) Get(key string) string { return a.header.Get(key) }

// Values implements [propagation.ValuesGetter].
func (a *attemptCarrier) Values(key string) []string { return carrier(a.header).Values(key) }

// Set implements [propagation.TextMapCarrier].
func (a *attemptCarrier) Set(key, value string) {
	if a.value[0] != "" {
		carrier(a.header).Set(key, value)
		return
	}
	a.value[0] = value
	a.header[canonicalName(key)] = a.value[:]
}

// Keys implements [propagation.TextMapCarrier].
func (a *attemptCarrier) Keys() []string { return carrier(a.header).Keys() }
