package otelbridge

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Config configures a [Bridge]. The zero value reports to the global
// OpenTelemetry providers through the global propagator.
type Config struct {
	// TracerProvider makes the spans. Nil: the global one, also if it is set
	// after [New].
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments. Nil: the global one, also if it is
	// set after [New].
	MeterProvider metric.MeterProvider
	// Propagator writes the attempt's span context and the baggage into the
	// attempt's own header. Nil: the global one, also if it is set after
	// [New]. A propagator that panics is recovered and counted in
	// plimsoll.hook.panics; the attempt goes without what it would have
	// written.
	Propagator propagation.TextMapPropagator
	// MaxOrigins is how many origins and partitions of origins are told apart
	// in metrics; what comes after them is reported with the address
	// "_other". 0: 100, with which every instrument stays below the SDK's
	// default limit of 2,000 series. Clients that share a MeterProvider share
	// that limit: give each a part of it. Negative: an error.
	MaxOrigins int
	// ConnTrace adds spans for name resolution, connecting, the TLS handshake
	// and sending, below the span of each sampled attempt.
	ConnTrace bool
	// SpanName names the span of an attempt. Nil: the HTTP conventions'
	// "{method}", or "{method} {template}" where the call has a route; an empty
	// result means the same. It must give few names: no paths, no identifiers. It may
	// be called concurrently; if it panics, the default is used and the panic
	// is counted like a propagator's.
	SpanName func(events.AttemptStarted) string
	// StartAttributes gives the span of an attempt its method, address, port
	// and URL when it starts, and not when it ends, so that samplers and span
	// processors see them. Name and kind they see in any case. The HTTP
	// conventions recommend it where sampling depends on them; it makes a
	// sampled call about a tenth dearer.
	StartAttributes bool
	// AllExemplars gives every measurement the context of its span. Without
	// it, of healthy calls and requests of up to 5 ms that last about as long
	// (within a half) one in 10 ms has it: the SDK keeps one exemplar for a
	// bucket and collection in any case. Set it where the MeterProvider's
	// exemplar filter is AlwaysOn, which would keep exemplars that lead to no
	// trace. It makes a sampled call about 3 percent dearer.
	AllExemplars bool
	// OnPanic gets what a propagator, a SpanName function or a source
	// panicked with, on the goroutine on which it did. Nil: it is counted only.
	OnPanic func(any)
	// DisableTraces switches spans off. Propagation goes on with the caller's
	// span context.
	DisableTraces bool
	// DisableMetrics switches metrics off.
	DisableMetrics bool
}

func (c Config) maxOrigins() (int, error) {
	switch {
	case c.MaxOrigins < 0:
		return 0, fmt.Errorf("otelbridge: Config.MaxOrigins is %d; give a positive number, or 0 for %d", c.MaxOrigins, catalog.DefaultMaxOrigins)
	case c.MaxOrigins == 0:
		return catalog.DefaultMaxOrigins, nil
	}
	return c.MaxOrigins, nil
}
