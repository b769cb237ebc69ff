package otelbridge

import (
	"context"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// callKey and attemptKey are the context keys of a bridge's call and attempt.
// Two bridges that are joined keep their own.
type (
	callKey    struct{ b *Bridge }
	attemptKey struct{ b *Bridge }
)

// call is the context of one call: it holds the call's span and the state that
// the events inside it need.
type call struct {
	context.Context // the caller's, with the call's span

	span      trace.Span  // nil without spans
	recording bool        // the span is recorded
	done      atomic.Bool // the span has ended
	scope     *scope
	current   atomic.Pointer[attempt] // the last attempt that was started
	first     attempt                 // the state of the first attempt, so that it needs no allocation; its bridge is the call's
}

func (c *call) Value(key any) any {
	switch k := key.(type) {
	case callKey:
		if k.b == c.first.b {
			return c
		}
	case attemptKey:
		if k.b == c.first.b {
			// An attempt further out belongs to another call.
			return (*attempt)(nil)
		}
	}
	return c.Context.Value(key)
}

func (b *Bridge) callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{b}).(*call)
	return c
}

func (b *Bridge) callStarted(ctx context.Context, e events.CallStarted) context.Context {
	c := &call{
		Context: ctx,
		scope:   b.scope(ctx, e.Client, e.Origin, e.Partition),
		first:   attempt{b: b},
	}
	if b.tracer != nil {
		// All attributes come at the end, in one piece: no convention asks for
		// them here, and the SDK would copy them three times.
		c.Context, c.span = b.tracerIn(c.scope).Start(ctx, catalog.SpanCall, kindInternal...)
		c.recording = c.span.IsRecording()
	}
	return c
}

func (b *Bridge) callDone(ctx context.Context, e events.CallDone) {
	c := b.callOf(ctx)
	s := b.scopeIn(ctx, c, &e.Meta)
	if b.in != nil {
		if b.in.callDuration.Enabled(ctx) {
			opts := s.ok
			if e.Outcome != events.OutcomeOK {
				opts = s.outcome[e.Outcome]
			}
			if opts != nil {
				measured := ctx
				if c != nil {
					measured = c.Context // the span is right there
					if c.recording && !b.offerAll && e.Outcome == events.OutcomeOK && !s.offered.offers(e.Duration, c.span) {
						measured = (*unsaidCall)(c)
					}
				}
				b.in.callDuration.Record(measured, e.Duration.Seconds(), opts...)
			}
		}
		if e.Outcome == events.OutcomeEscaped {
			s.add(ctx, b.in, seriesKey{id: callEscapes, a: skipOrNone(e.Skipped)}, 1)
		}
	}
	if c == nil || c.span == nil || !c.done.CompareAndSwap(false, true) {
		return
	}
	if a := c.current.Load(); a != nil {
		a.end()
	}
	if c.recording {
		c.finish(s, &e)
	}
	c.span.End()
}

// healthy reports whether the call needed no more than its first attempt.
func healthy(e *events.CallDone) bool {
	return e.Outcome == events.OutcomeOK && e.Attempts == 1 && e.Recoveries == 0 && e.Skipped == "" && e.Class == ""
}

// finish gives the span its attributes and its status. Most calls are healthy,
// an attribute costs 110 ns and its bytes on the wire, and the attempt's span
// says the same: a healthy call's has its partition, where that is not the
// origin.
func (c *call) finish(s *scope, e *events.CallDone) {
	common := s.attributesOf(&e.Meta)
	if a := c.current.Load(); healthy(e) && a != nil && a.span != nil && a.span.SpanContext().IsSampled() {
		c.span.SetAttributes(common[min(len(common), ofOrigin):]...)
		return
	}
	c.span.SetAttributes(callAttributes(common, e)...)
	if e.Outcome == events.OutcomeEscaped || e.Outcome == events.OutcomeRejected {
		c.span.SetStatus(codes.Error, string(e.Class))
	}
}

// callAttributes are those that a call's span gets at its end.
func callAttributes(common []attribute.KeyValue, e *events.CallDone) []attribute.KeyValue {
	kvs := append(make([]attribute.KeyValue, 0, len(common)+5), common...)
	kvs = append(kvs, attribute.String(catalog.KeyOutcome, string(e.Outcome)))
	if e.Attempts != 1 {
		kvs = append(kvs, attribute.Int(catalog.KeyAttempts, e.Attempts))
	}
	if e.Recoveries > 0 {
		kvs = append(kvs, attribute.Int(catalog.KeyRecoveries, e.Recoveries))
	}
	if e.Skipped != "" {
		kvs = append(kvs, attribute.String(catalog.KeySkipReason, string(e.Skipped)))
	}
	switch {
	case e.Class != "":
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, string(e.Class)))
	case e.Outcome == events.OutcomeEscaped && e.Status != 0:
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, strconv.Itoa(e.Status)))
	}
	return kvs
}

func skipOrNone(r events.SkipReason) string {
	if r == "" {
		return catalog.None
	}
	return string(r)
}
