package otelbridge

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// attempt is the context of one attempt.
type attempt struct {
	context.Context // the call's, with the attempt's span

	b         *Bridge
	call      *call      // nil if the attempt came without one
	span      trace.Span // nil without spans
	recording bool
	method    string     // as reported
	conns     *connSpans // nil without ConnTrace

	ended atomic.Bool  // the span has ended
	stale atomic.Int64 // when the first connection was found dead, in Unix nanoseconds; 0: none
}

func (a *attempt) Value(key any) any {
	switch k := key.(type) {
	case attemptKey:
		if k.b == a.b {
			return a
		}
	case callKey:
		if k.b == a.b {
			return a.call
		}
	}
	return a.Context.Value(key)
}

func (b *Bridge) attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{b}).(*attempt)
	return a
}

// end ends what of the attempt is still open when its call or the next attempt
// says that it is over.
func (a *attempt) end() {
	if a.span != nil && a.ended.CompareAndSwap(false, true) {
		a.span.End()
	}
	if a.conns != nil {
		a.conns.end()
	}
}

func (b *Bridge) attemptStarted(ctx context.Context, e events.AttemptStarted) context.Context {
	if b.tracer == nil && b.in == nil {
		b.inject(ctx, e.Client, e.Header)
		return nil
	}
	c := b.callOf(ctx)
	a := b.newAttempt(ctx, c)
	a.method = b.methods.canonical(e.Method)
	if b.tracer != nil {
		b.startAttempt(ctx, a, &e)
	}
	b.inject(a, e.Client, e.Header)
	return a
}

// newAttempt returns the state for an attempt of c, and ends what the attempt
// before it left open.
func (b *Bridge) newAttempt(ctx context.Context, c *call) *attempt {
	var a *attempt
	switch {
	case c == nil:
		a = &attempt{}
	case c.current.CompareAndSwap(nil, &c.first):
		a = &c.first
	default:
		a = &attempt{}
		if before := c.current.Swap(a); before != nil {
			before.end()
		}
	}
	a.Context, a.b, a.call = ctx, b, c
	return a
}

func (b *Bridge) startAttempt(ctx context.Context, a *attempt, e *events.AttemptStarted) {
	name := b.nameOf(ctx, a.method, e)
	sc := startPool.Get().(*startScratch)
	sc.attrs[0] = attribute.String(catalog.KeyMethod, a.method)
	common := b.scopeOf(ctx, &e.Meta).attributesOf(&e.Meta)
	sc.attrs[1], sc.attrs[2] = common[1], common[2]
	opts := append(sc.opts[:0], kindClient)
	// The URL costs allocations. Where the call's span is not recorded,
	// hardly any sampler records the attempt's, so that it is added after.
	withURL := a.call == nil || a.call.recording
	if withURL {
		sc.attrs[3] = attribute.String(catalog.KeyURLFull, e.URL.String())
		opts = append(opts, sc.four)
	} else {
		opts = append(opts, sc.three)
	}
	if e.Route != "" {
		opts = append(opts, trace.WithAttributes(attribute.String(catalog.KeyURLTemplate, e.Route)))
	}
	if a.method == catalog.Unknown {
		opts = append(opts, trace.WithAttributes(attribute.String(catalog.KeyMethodOriginal, e.Method)))
	}
	a.Context, a.span = b.tracer.Start(ctx, name, opts...)
	sc.release()
	a.recording = a.span.IsRecording()
	if a.recording && !withURL {
		a.span.SetAttributes(attribute.String(catalog.KeyURLFull, e.URL.String()))
	}
	if a.recording && b.provider != nil {
		a.Context, a.conns = traceConns(a.Context, b.provider)
	}
}

// nameOf returns the name of an attempt's span.
func (b *Bridge) nameOf(ctx context.Context, method string, e *events.AttemptStarted) (name string) {
	if b.spanName != nil {
		if name = b.customName(ctx, e); name != "" {
			return name
		}
	}
	if method == catalog.Unknown {
		method = "HTTP"
	}
	if e.Route != "" {
		return method + " " + e.Route
	}
	return method
}

func (b *Bridge) customName(ctx context.Context, e *events.AttemptStarted) (name string) {
	defer func() {
		if v := recover(); v != nil {
			name = ""
			b.panicked(ctx, e.Client, v)
		}
	}()
	return b.spanName(*e)
}

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
	b.propagator.Inject(ctx, propagation.HeaderCarrier(header))
}

func (b *Bridge) attemptDone(ctx context.Context, e events.AttemptDone) {
	s := b.scopeOf(ctx, &e.Meta)
	a := b.attemptOf(ctx)
	method := catalog.Unknown
	if a != nil {
		method = a.method
	}
	ans := answerOf(method, &e)
	got := s.recent.get(ans, s.common, &b.shared)
	if b.in != nil && b.in.requestDuration.Enabled(ctx) {
		b.in.requestDuration.Record(ctx, e.Duration.Seconds(), got.record...)
	}
	if a == nil || a.span == nil || !a.ended.CompareAndSwap(false, true) {
		return
	}
	if a.recording {
		span := got.span
		if span == nil {
			span = ans.attributes()
		}
		if e.Resend > 0 {
			span = append(span[:len(span):len(span)], attribute.Int(catalog.KeyResendCount, e.Resend))
		}
		a.span.SetAttributes(span...)
		if ans.failed() {
			a.span.SetStatus(codes.Error, string(e.Class))
		}
	}
	a.span.End()
	if a.conns != nil && e.Class != "" {
		a.conns.end()
	}
}

var kindClient = trace.WithSpanKind(trace.SpanKindClient)

// startScratch holds the options of one Start. A TracerProvider may not keep
// them: the API gives it no way to but to copy what is in them.
type startScratch struct {
	attrs       [4]attribute.KeyValue // method, address, port, URL
	three, four trace.SpanStartOption // over attrs
	opts        [4]trace.SpanStartOption
}

var startPool = sync.Pool{New: func() any {
	sc := &startScratch{}
	sc.three = trace.WithAttributes(sc.attrs[:3]...)
	sc.four = trace.WithAttributes(sc.attrs[:4]...)
	return sc
}}

func (sc *startScratch) release() {
	clear(sc.attrs[:]) // holds the caller's strings
	clear(sc.opts[:])
	startPool.Put(sc)
}
