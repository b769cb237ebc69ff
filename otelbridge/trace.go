package otelbridge

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
)

// mark is where one event shows in a trace.
type mark struct {
	span trace.Span
	name string
	at   trace.SpanEventOption // of a span of its own; nil for a span event
	meta events.Meta
}

// mark finds where an event belongs: to the span of the attempt or else of the
// call that ctx is inside of, and to an INTERNAL span without length of its
// own outside a call. It reports whether the event is recorded; only then the
// caller makes its attributes and calls put.
func (b *Bridge) mark(ctx context.Context, m *events.Meta, name string) (mark, bool) {
	if b.tracer == nil {
		return mark{}, false
	}
	if a := b.attemptOf(ctx); a != nil && a.span != nil && !a.ended.Load() {
		return mark{span: a.span, name: name}, a.recording
	}
	if c := b.callOf(ctx); c != nil && !c.done.Load() {
		return mark{span: c.span, name: name}, c.recording
	}
	at := trace.WithTimestamp(time.Now())
	_, span := b.tracer.Start(ctx, name, at, kindInternal[0])
	if !span.IsRecording() {
		span.End()
		return mark{}, false
	}
	return mark{span: span, name: name, at: at, meta: *m}, true
}

func (k mark) put(kvs ...attribute.KeyValue) {
	if k.at == nil {
		k.span.AddEvent(k.name, trace.WithAttributes(kvs...))
		return
	}
	k.span.SetAttributes(spanCommon(&k.meta)...)
	k.span.SetAttributes(kvs...)
	k.span.End(k.at)
}

// waited records a wait that has just ended as an INTERNAL span of its own
// inside the span that ctx holds.
func (b *Bridge) waited(ctx context.Context, m *events.Meta, name string, wait time.Duration, kvs func() []attribute.KeyValue) {
	if b.tracer == nil {
		return
	}
	inside := b.callOf(ctx)
	if inside != nil && !inside.recording && !trace.SpanContextFromContext(ctx).IsSampled() { // a hook may have put its span there
		return
	}
	now := time.Now()
	_, span := b.tracerOf(inside).Start(ctx, name, trace.WithTimestamp(now.Add(-wait)), kindInternal[0])
	if span.IsRecording() {
		span.SetAttributes(kvs()...)
		if inside == nil {
			span.SetAttributes(spanCommon(m)...)
		}
	}
	span.End(trace.WithTimestamp(now))
}

// seconds is a duration as the value of a span's attribute.
func seconds(key string, d time.Duration) attribute.KeyValue {
	return attribute.Float64(key, d.Seconds())
}
