package otelbridge

import (
	"context"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

var (
	deadCauses    = catalog.ConnCauses()
	connProtocols = catalog.ConnProtocolVersions()
)

// deadCause is plimsoll.cause for what a dead connection answered.
func deadCause(class events.ErrorClass) string {
	if slices.Contains(deadCauses, class) {
		return string(class)
	}
	return string(events.ClassOther)
}

// connID is the attribute for a connection's number.
func connID(n uint64) attribute.KeyValue { return attribute.Int64(catalog.KeyConnID, int64(n)) }

// version appends the attribute for the version that a connection speaks, if it
// is a known one.
func version(kvs []attribute.KeyValue, protocol string) []attribute.KeyValue {
	if !slices.Contains(connProtocols, protocol) {
		return kvs
	}
	return append(kvs, attribute.String(catalog.KeyProtocolVersion, protocol))
}

func (b *Bridge) connOpened(ctx context.Context, e events.ConnOpened) {
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventConnOpened); ok {
		k.put(version([]attribute.KeyValue{connID(e.Conn), seconds(catalog.KeyDuration, e.Duration)}, e.Protocol)...)
	}
}

func (b *Bridge) connAcquired(ctx context.Context, e events.ConnAcquired) {
	if b.in != nil && b.in.connWait.Enabled(ctx) {
		b.in.connWait.Record(ctx, e.Wait.Seconds(), b.scopeOf(ctx, &e.Meta).record...)
	}
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventConnAcquired); ok {
		k.put(version([]attribute.KeyValue{
			connID(e.Conn),
			attribute.Bool(catalog.KeyConnReused, e.Reused),
			seconds(catalog.KeyConnWait, e.Wait),
			seconds(catalog.KeyConnAge, e.Age),
		}, e.Protocol)...)
	}
}

func (b *Bridge) connReleased(ctx context.Context, e events.ConnReleased) {
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventConnReleased); ok {
		k.put(
			connID(e.Conn),
			attribute.Bool(catalog.KeyConnHandedOn, e.HandedOn),
			seconds(catalog.KeyConnAge, e.Age),
			attribute.Int(catalog.KeyConnRemaining, e.Remaining))
	}
}

func (b *Bridge) connClosed(ctx context.Context, e events.ConnClosed) {
	if b.in != nil && b.in.connectionDuration.Enabled(ctx) {
		b.in.connectionDuration.Record(ctx, e.Age.Seconds(), b.places.get(normal(e.Client, e.Origin, "")).record...)
	}
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventConnClosed); ok {
		k.put(version([]attribute.KeyValue{
			connID(e.Conn),
			attribute.String(catalog.KeyConnCause, string(e.Cause)),
			seconds(catalog.KeyConnAge, e.Age),
		}, e.Protocol)...)
	}
}

// epoch is what a moment is remembered by, on the monotonic clock.
var epoch = time.Now()

func (b *Bridge) connStale(ctx context.Context, e events.ConnStale) {
	b.add(ctx, &e.Meta, 1, seriesKey{id: connStale, a: deadCause(e.Class)})
	if a := b.attemptOf(ctx); a != nil && a.recording {
		a.stale.CompareAndSwap(0, int64(time.Since(epoch)))
	}
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventConnStale); ok {
		k.put(
			connID(e.Conn),
			attribute.Int(catalog.KeyConnTry, e.Try),
			attribute.String(catalog.KeyCause, deadCause(e.Class)))
	}
}

// connRecovered records the recovery as a span from the first dead connection
// to now.
func (b *Bridge) connRecovered(ctx context.Context, e events.ConnRecovered) {
	b.add(ctx, &e.Meta, 1, seriesKey{id: connRecoveries, a: deadCause(e.Class), b: strconv.FormatBool(e.Fresh)})
	var took time.Duration
	if a := b.attemptOf(ctx); a != nil {
		if at := a.stale.Load(); at != 0 {
			took = time.Since(epoch) - time.Duration(at)
		}
	}
	b.waited(ctx, &e.Meta, catalog.SpanRecovery, took, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			connID(e.Conn),
			attribute.Int(catalog.KeyRecoveries, e.Recoveries),
			attribute.String(catalog.KeyCause, deadCause(e.Class)),
			attribute.Bool(catalog.KeyFresh, e.Fresh),
		}
	})
}
