package otelbridge

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func (b *Bridge) streamOpened(ctx context.Context, e events.StreamOpened) {
	b.add(ctx, &e.Meta, 1, seriesKey{id: streamOpened, a: strconv.FormatBool(e.Reconnects > 0)})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventStreamOpened); ok {
		k.put(attribute.Int(catalog.KeyReconnects, e.Reconnects))
	}
}

func (b *Bridge) streamClosed(ctx context.Context, e events.StreamClosed) {
	if b.in != nil {
		s := b.scopeOf(ctx, &e.Meta)
		s.add(ctx, b.in, seriesKey{id: streamClosed, a: string(e.Reason)}, 1)
		s.add(ctx, b.in, seriesKey{id: streamBytes}, e.Bytes)
		s.add(ctx, b.in, seriesKey{id: streamEvents}, e.Events)
	}
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventStreamClosed); ok {
		k.put(
			attribute.String(catalog.KeyReason, string(e.Reason)),
			attribute.Int64(catalog.KeyStreamBytes, e.Bytes),
			attribute.Int64(catalog.KeyStreamEvents, e.Events),
			attribute.Int(catalog.KeyReconnects, e.Reconnects),
			seconds(catalog.KeyDuration, e.Duration))
	}
}

func (b *Bridge) reloaded(ctx context.Context, e events.Reloaded) {
	b.addOfClient(ctx, e.Client, seriesKey{id: reloads})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventReloaded); ok {
		k.put(attribute.Int64(catalog.KeyGeneration, int64(e.Generation)))
	}
}
