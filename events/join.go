package events

import "context"

// Join returns hooks that call each of hs in order, nil ones left out. For the
// events that return a context, each receives the context that the one before
// returned. It returns nil if nothing is left, and the single one unchanged if
// one is left.
func Join(hs ...*Hooks) *Hooks {
	var joined *Hooks
	for _, h := range hs {
		switch {
		case h == nil:
		case joined == nil:
			joined = h
		default:
			joined = join(joined, h)
		}
	}
	return joined
}

func join(a, b *Hooks) *Hooks {
	return &Hooks{
		CallStarted:         chain(a.CallStarted, b.CallStarted),
		CallDone:            both(a.CallDone, b.CallDone),
		AttemptStarted:      chain(a.AttemptStarted, b.AttemptStarted),
		AttemptDone:         both(a.AttemptDone, b.AttemptDone),
		RetryArmed:          both(a.RetryArmed, b.RetryArmed),
		RetrySkipped:        both(a.RetrySkipped, b.RetrySkipped),
		BudgetReserved:      both(a.BudgetReserved, b.BudgetReserved),
		BudgetSettled:       both(a.BudgetSettled, b.BudgetSettled),
		BudgetReplenished:   both(a.BudgetReplenished, b.BudgetReplenished),
		ThrottleRecorded:    both(a.ThrottleRecorded, b.ThrottleRecorded),
		ThrottleWaited:      both(a.ThrottleWaited, b.ThrottleWaited),
		ConnOpened:          both(a.ConnOpened, b.ConnOpened),
		ConnAcquired:        both(a.ConnAcquired, b.ConnAcquired),
		ConnReleased:        both(a.ConnReleased, b.ConnReleased),
		ConnClosed:          both(a.ConnClosed, b.ConnClosed),
		ConnStale:           both(a.ConnStale, b.ConnStale),
		ConnRecovered:       both(a.ConnRecovered, b.ConnRecovered),
		BreakerChanged:      both(a.BreakerChanged, b.BreakerChanged),
		BreakerRejected:     both(a.BreakerRejected, b.BreakerRejected),
		BreakerProbe:        both(a.BreakerProbe, b.BreakerProbe),
		BreakerStoreChanged: both(a.BreakerStoreChanged, b.BreakerStoreChanged),
		StreamOpened:        both(a.StreamOpened, b.StreamOpened),
		StreamClosed:        both(a.StreamClosed, b.StreamClosed),
		Reloaded:            both(a.Reloaded, b.Reloaded),
	}
}

func both[E any](a, b func(context.Context, E)) func(context.Context, E) {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(ctx context.Context, e E) {
		a(ctx, e)
		b(ctx, e)
	}
}

func chain[E any](a, b func(context.Context, E) context.Context) func(context.Context, E) context.Context {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(ctx context.Context, e E) context.Context {
		if inner := a(ctx, e); inner != nil {
			ctx = inner
		}
		if inner := b(ctx, e); inner != nil {
			ctx = inner
		}
		return ctx
	}
}
