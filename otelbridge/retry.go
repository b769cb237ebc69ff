package otelbridge

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func (b *Bridge) retryArmed(ctx context.Context, e events.RetryArmed) {
	if b.in != nil {
		s := b.scopeOf(ctx, &e.Meta)
		s.add(ctx, b.in, seriesKey{id: retryArmed, a: string(e.Cause)}, 1)
		if b.in.retryDelay.Enabled(ctx) {
			b.in.retryDelay.Record(ctx, e.Waited.Seconds(), s.record...)
		}
	}
	b.waited(ctx, &e.Meta, catalog.SpanBackoff, e.Waited, func() []attribute.KeyValue {
		kvs := []attribute.KeyValue{
			attribute.Int(catalog.KeyAttempt, e.Attempt),
			attribute.String(catalog.KeyCause, string(e.Cause)),
		}
		if e.Cost > 0 {
			kvs = append(kvs, attribute.Int(catalog.KeyTokensCost, e.Cost), attribute.Int(catalog.KeyTokensLevel, e.Level))
		}
		return kvs
	})
}

func (b *Bridge) retrySkipped(ctx context.Context, e events.RetrySkipped) {
	b.add(ctx, &e.Meta, 1, seriesKey{id: retrySkipped, a: string(e.Reason)})
	k, ok := b.mark(ctx, &e.Meta, catalog.EventRetrySkipped)
	if !ok {
		return
	}
	kvs := []attribute.KeyValue{
		attribute.String(catalog.KeySkipReason, string(e.Reason)),
		attribute.Int(catalog.KeyAttempt, e.Attempt),
		attribute.Int(catalog.KeyTokensLevel, e.Level),
		attribute.Int(catalog.KeyTokensNeeded, e.Needed),
		seconds(catalog.KeyRemaining, e.Remaining),
	}
	if e.Delay > 0 {
		kvs = append(kvs, seconds(catalog.KeyDelay, e.Delay))
	}
	switch {
	case e.Class != "":
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, string(e.Class)))
	case e.Status != 0:
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, strconv.Itoa(e.Status)))
	}
	k.put(kvs...)
}

func (b *Bridge) budgetReserved(ctx context.Context, e events.BudgetReserved) {
	b.add(ctx, &e.Meta, int64(e.Reserved), seriesKey{id: budgetReserved})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBudgetReserved); ok {
		k.put(
			attribute.Int(catalog.KeyTokensReserved, e.Reserved),
			attribute.Int(catalog.KeyTokensLevel, e.Level))
	}
}

func (b *Bridge) budgetSettled(ctx context.Context, e events.BudgetSettled) {
	if b.in != nil {
		s := b.scopeOf(ctx, &e.Meta)
		if e.Kept > 0 {
			s.add(ctx, b.in, seriesKey{id: budgetKept, a: string(e.Outcome)}, int64(e.Kept))
		}
		if e.Refunded > 0 {
			s.add(ctx, b.in, seriesKey{id: budgetRefunded, a: string(e.Outcome)}, int64(e.Refunded))
		}
	}
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBudgetSettled); ok {
		k.put(
			attribute.String(catalog.KeySettlement, string(e.Outcome)),
			attribute.Int(catalog.KeyTokensReserved, e.Reserved),
			attribute.Int(catalog.KeyTokensKept, e.Kept),
			attribute.Int(catalog.KeyTokensRefunded, e.Refunded),
			attribute.Int(catalog.KeyTokensLevel, e.Level))
	}
}

func (b *Bridge) budgetReplenished(ctx context.Context, e events.BudgetReplenished) {
	b.add(ctx, &e.Meta, int64(e.Added), seriesKey{id: budgetReplenished})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventBudgetReplenished); ok {
		k.put(
			attribute.Int(catalog.KeyTokensAdded, e.Added),
			attribute.Int(catalog.KeyTokensLevel, e.Level))
	}
}

func (b *Bridge) throttleRecorded(ctx context.Context, e events.ThrottleRecorded) {
	b.add(ctx, &e.Meta, 1, seriesKey{id: throttleRecorded})
	if k, ok := b.mark(ctx, &e.Meta, catalog.EventThrottleRecorded); ok {
		k.put(
			seconds(catalog.KeyDelay, e.Delay),
			attribute.String(catalog.KeyUntil, e.Until.UTC().Format(time.RFC3339)))
	}
}

func (b *Bridge) throttleWaited(ctx context.Context, e events.ThrottleWaited) {
	if b.in != nil && b.in.throttleWait.Enabled(ctx) {
		i := 0
		if e.Truncated {
			i = 1
		}
		b.in.throttleWait.Record(ctx, e.Wait.Seconds(), b.scopeOf(ctx, &e.Meta).cut[i]...)
	}
	b.waited(ctx, &e.Meta, catalog.SpanThrottleWait, e.Wait, func() []attribute.KeyValue {
		return []attribute.KeyValue{attribute.Bool(catalog.KeyTruncated, e.Truncated)}
	})
}
