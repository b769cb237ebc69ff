package otelbridge

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// gate completes m, which outside a call may lack the partition, by the
// breaker's key.
func gate(m *events.Meta, key string) {
	if m.Partition == "" {
		m.Partition = key
	}
}

var legalSteps = catalog.Transitions()

// lastStep returns the legal transition by which e came to its state. They
// differ where whoever follows a shared store missed a state in between; then
// it is the one of that cause, or else any, that ends there. False: none does.
func lastStep(e *events.BreakerChanged) (last catalog.Transition, ok bool) {
	for _, t := range legalSteps {
		switch {
		case t.To != e.To || e.From == e.To:
		case t.From == e.From && t.Cause == e.Cause:
			return t, true
		case !ok || t.Cause == e.Cause:
			last, ok = t, true
		}
	}
	return last, ok
}

func (b *Bridge) breakerChanged(ctx context.Context, e events.BreakerChanged) {
	gate(&e.Meta, e.Key)
	last, ok := lastStep(&e)
	if !ok {
		return // no more than a lease moved: see breakerProbe
	}
	b.add(ctx, &e.Meta, 1, seriesKey{id: breakerTransitions, a: last.From.String(), b: last.To.String(), c: string(last.Cause)})
	k, ok := b.mark(ctx, &e.Meta, catalog.EventBreakerChanged)
	if !ok {
		return
	}
	kvs := []attribute.KeyValue{
		attribute.String(catalog.KeyBreakerFrom, e.From.String()),
		attribute.String(catalog.KeyBreakerTo, e.To.String()),
		attribute.String(catalog.KeyCause, string(last.Cause)),
	}
	if e.To == events.BreakerOpen {
		kvs = append(kvs, seconds(catalog.KeyBreakerCooldown, e.Cooldown), seconds(catalog.KeyRetryAfter, e.RetryAfter))
	}
	k.put(kvs...)
}

func (b *Bridge) breakerRejected(ctx context.Context, e events.BreakerRejected) {
	gate(&e.Meta, e.Key)
	b.add(ctx, &e.Meta, 1, seriesKey{id: breakerRejections, a: e.State.String()})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBreakerRejected); ok {
		k.put(
			attribute.String(catalog.KeyBreakerState, e.State.String()),
			seconds(catalog.KeyRetryAfter, e.RetryAfter))
	}
}

func (b *Bridge) breakerProbe(ctx context.Context, e events.BreakerProbe) {
	gate(&e.Meta, e.Key)
	what := "granted"
	if e.Released {
		what = "released"
	}
	b.add(ctx, &e.Meta, 1, seriesKey{id: breakerProbes, a: what})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBreakerProbe); ok {
		k.put(attribute.String(catalog.KeyBreakerProbe, what))
	}
}

func (b *Bridge) breakerStoreChanged(ctx context.Context, e events.BreakerStoreChanged) {
	what := "lost"
	if e.Available {
		what = "back"
	}
	b.addOfClient(ctx, e.Client, seriesKey{id: breakerStoreFallbacks, a: what})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBreakerStore); ok {
		k.put(attribute.String(catalog.KeyBreakerStore, what))
	}
}
