package events

import "context"

// Hooks is a set of functions, one per event. Each may be nil. A *Hooks must
// not change once it is in use.
type Hooks struct {
	CallStarted         func(context.Context, CallStarted) context.Context
	CallDone            func(context.Context, CallDone)
	AttemptStarted      func(context.Context, AttemptStarted) context.Context
	AttemptDone         func(context.Context, AttemptDone)
	RetryArmed          func(context.Context, RetryArmed)
	RetrySkipped        func(context.Context, RetrySkipped)
	BudgetReserved      func(context.Context, BudgetReserved)
	BudgetSettled       func(context.Context, BudgetSettled)
	BudgetReplenished   func(context.Context, BudgetReplenished)
	ThrottleRecorded    func(context.Context, ThrottleRecorded)
	ThrottleWaited      func(context.Context, ThrottleWaited)
	ConnOpened          func(context.Context, ConnOpened)
	ConnAcquired        func(context.Context, ConnAcquired)
	ConnReleased        func(context.Context, ConnReleased)
	ConnClosed          func(context.Context, ConnClosed)
	ConnStale           func(context.Context, ConnStale)
	ConnRecovered       func(context.Context, ConnRecovered)
	BreakerChanged      func(context.Context, BreakerChanged)
	BreakerRejected     func(context.Context, BreakerRejected)
	BreakerProbe        func(context.Context, BreakerProbe)
	BreakerStoreChanged func(context.Context, BreakerStoreChanged)
	StreamOpened        func(context.Context, StreamOpened)
	StreamClosed        func(context.Context, StreamClosed)
	Reloaded            func(context.Context, Reloaded)
}

type hooksKey struct{}

// With returns a context that carries h in addition to the hooks that ctx
// carries already. Calls made with it report to the client's own hooks first,
// then to those of the context, outermost first. A nil h returns ctx.
func With(ctx context.Context, h *Hooks) context.Context {
	if h == nil {
		return ctx
	}
	return context.WithValue(ctx, hooksKey{}, Join(From(ctx), h))
}

// From returns the hooks that ctx carries, or nil.
func From(ctx context.Context) *Hooks {
	h, _ := ctx.Value(hooksKey{}).(*Hooks)
	return h
}

// Key is the context key under which [From] looks, for context types that
// answer it themselves.
func Key() any { return hooksKey{} }
