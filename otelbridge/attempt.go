package otelbridge

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// attempt is the context of one attempt.
type attempt struct {
	context.Context // the call's, with the attempt's span

	b         *Bridge
	call      *call       // nil if the attempt came without one
	span      trace.Span  // nil without spans, and where the sampler was not asked
	recording bool        // the span is recorded
	told      bool        // the span has the attributes of its start
	ended     atomic.Bool // the span has ended

	method, route string // as the event gave them
	url           events.URL

	header http.Header // while a propagator writes into it
	value  [1]string   // the first value that it wrote

	conns *connSpans   // nil without ConnTrace
	stale atomic.Int64 // when the first connection was found dead, since epoch; 0: none
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

func (b *Bridge) attemptStarted(ctx context.Context, e events.AttemptStarted) context.Context {
	if b.tracer == nil && b.in == nil {
		b.inject(ctx, nil, e.Client, e.Header)
		return nil
	}
	a := b.newAttempt(ctx)
	a.method, a.route, a.url = e.Method, e.Route, e.URL
	if b.tracer != nil {
		b.startAttempt(a, &e)
	}
	b.inject(a, a, e.Client, e.Header)
	return a
}

// newAttempt returns the state for an attempt of the call that ctx is inside
// of, and ends what the attempt before it left open.
func (b *Bridge) newAttempt(ctx context.Context) *attempt {
	var a *attempt
	c := b.callOf(ctx)
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

var (
	kindClient   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	kindInternal = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}
)

func (b *Bridge) startAttempt(a *attempt, e *events.AttemptStarted) {
	opts := kindClient
	if b.early {
		a.told = true
		kvs := a.identity(nil, b.scopeIn(a, a.call, &e.Meta).attributesOf(&e.Meta))
		opts = []trace.SpanStartOption{kindClient[0], trace.WithAttributes(kvs...)}
	}
	name := b.nameOf(a, e)
	c := a.call
	// A hook may have put another span into the context; that question is the
	// dearer one.
	dropped := c != nil && !c.recording && !b.early && !trace.SpanContextFromContext(a.Context).IsSampled()
	var known *verdict
	if dropped {
		if known = b.sampler.of(name); !b.sampler.asked(known, e.Call) {
			return // the call's span is in the context
		}
	}
	a.Context, a.span = b.tracerOf(c).Start(a.Context, name, opts...)
	a.recording = a.span.IsRecording()
	if dropped {
		b.sampler.said(known, a.recording)
	}
	if a.recording && b.connTrace {
		a.Context, a.conns = traceConns(a.Context, b.tracers)
	}
}

// tracerOf returns the tracer of what happens inside c, which may be nil.
func (b *Bridge) tracerOf(c *call) trace.Tracer {
	if c != nil {
		return b.tracerIn(c.scope)
	}
	return b.tracer
}

// identity appends the attributes that an attempt's span has from its start.
func (a *attempt) identity(kvs, common []attribute.KeyValue) []attribute.KeyValue {
	method := a.b.methods.canonical(a.method)
	kvs = append(kvs, attribute.String(catalog.KeyMethod, method), common[1], common[2], attribute.String(catalog.KeyURLFull, a.url.String()))
	if a.route != "" {
		kvs = append(kvs, attribute.String(catalog.KeyURLTemplate, a.route))
	}
	if method == catalog.Unknown {
		kvs = append(kvs, attribute.String(catalog.KeyMethodOriginal, a.method))
	}
	return kvs
}

// nameOf returns the name of an attempt's span.
func (b *Bridge) nameOf(ctx context.Context, e *events.AttemptStarted) (name string) {
	if b.spanName != nil {
		if name = b.customName(ctx, e); name != "" {
			return name
		}
	}
	method := b.methods.canonical(e.Method)
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

func (b *Bridge) attemptDone(ctx context.Context, e events.AttemptDone) {
	a := b.attemptOf(ctx)
	var c *call
	method := catalog.Unknown
	if a != nil {
		c, method = a.call, b.methods.canonical(a.method)
	}
	s := b.scopeIn(ctx, c, &e.Meta)
	ans := answerOf(method, &e)
	got := s.recent.get(ans, s.common, &b.shared)
	if b.in != nil && b.in.requestDuration.Enabled(ctx) {
		measured := ctx
		if a != nil {
			measured = a.Context // the span is right there
			if a.recording && !b.offerAll && !ans.failed() && e.Resend == 0 && !got.offered.offers(e.Duration, a.span) {
				measured = (*unsaidAttempt)(a)
			}
		}
		b.in.requestDuration.Record(measured, e.Duration.Seconds(), got.record...)
	}
	if a == nil || a.span == nil || !a.ended.CompareAndSwap(false, true) {
		return
	}
	if a.recording {
		a.finish(&e, s, ans, got)
	}
	a.span.End()
	if a.conns != nil && (e.Class != "" || a.call == nil) {
		a.conns.end() // else when the call is done: a response is still read
	}
}

// finish gives the span its attributes and its status.
func (a *attempt) finish(e *events.AttemptDone, s *scope, ans answer, got *answered) {
	scratch := attributePool.Get().(*[]attribute.KeyValue)
	kvs := (*scratch)[:0]
	if !a.told {
		kvs = a.identity(kvs, s.attributesOf(&e.Meta))
	}
	if got.span != nil {
		kvs = append(kvs, got.span...)
	} else {
		kvs = append(kvs, ans.attributes()...)
	}
	if e.Resend > 0 {
		kvs = append(kvs, attribute.Int(catalog.KeyResendCount, e.Resend))
	}
	a.span.SetAttributes(kvs...)
	if ans.failed() {
		a.span.SetStatus(codes.Error, string(e.Class))
	}
	*scratch = kvs
	attributePool.Put(scratch)
}

// attributePool holds slices for SetAttributes, which copies what it is given.
// What was in them, redacted as spans are, stays until they are used again.
var attributePool = sync.Pool{New: func() any {
	kvs := make([]attribute.KeyValue, 0, 10)
	return &kvs
}}
