package otelbridge

import (
	"context"
	"math/bits"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// exemplars thins out the exemplars that one series of a histogram is offered
// of quick requests or calls. The SDK keeps one for each bucket and
// collection, and an offer costs about 80 ns.
type exemplars struct {
	// last is, for each class of durations, the start of the span that was
	// offered last, Unix time in ns; 0: none was. A view's buckets may be finer
	// than the catalogue's, so each class is thinned out by itself.
	last [quickClasses]atomic.Int64
}

const (
	// quick is the upper bound of the fastest bucket, of calls and of requests.
	quick = 5 * time.Millisecond
	// quickClasses are two for each doubling from 33 µs to quick, and one below.
	quickClasses = 16
	// offerEvery is the least time between the starts of two that are offered.
	offerEvery = 10 * time.Millisecond
)

// classOf returns the class of d, which is at most quick.
func classOf(d time.Duration) int {
	units := uint64(max(d, 0)) >> 15 //nolint:gosec // not negative
	if units < 2 {
		return int(units) //nolint:gosec // 0 or 1
	}
	doublings := bits.Len64(units) - 1
	return 2*doublings + int(units>>(doublings-1)&1) //nolint:gosec // a bit
}

// offers reports whether a measurement of d that span is about is offered as
// an exemplar.
func (x *exemplars) offers(d time.Duration, span trace.Span) bool {
	if d > quick {
		return true
	}
	s, ok := span.(interface{ StartTime() time.Time }) // as the SDK's have
	if !ok {
		return true
	}
	start, last := s.StartTime().UnixNano(), &x.last[classOf(d)]
	if apart := time.Duration(start - last.Load()); apart.Abs() < offerEvery { // calls overlap: it may be negative
		return false
	}
	last.Store(start)
	return true
}

// unsaidCall and unsaidAttempt are the contexts of a call and an attempt
// without their span. What else is in them is there for a MeterProvider.
type (
	unsaidCall    call
	unsaidAttempt attempt
)

func (c *unsaidCall) Value(key any) any    { return butSpan(c.Context, key) }
func (a *unsaidAttempt) Value(key any) any { return butSpan(a.Context, key) }

func butSpan(ctx context.Context, key any) any {
	if key == spanKey {
		return nil
	}
	return ctx.Value(key)
}

// spanKey is the key under which a context holds its span. OpenTelemetry does
// not export it; it is what SpanFromContext asks for. Were there none, every
// measurement would be offered.
var spanKey = func() any {
	k := keyProbe{Context: context.Background()}
	trace.SpanFromContext(&k)
	return k.key
}()

// keyProbe is a context that remembers the key that it was asked for.
type keyProbe struct {
	context.Context
	key any
}

func (k *keyProbe) Value(key any) any {
	k.key = key
	return nil
}
