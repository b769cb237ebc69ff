package events

import "context"

// Hooks is a set of functions, one per event. Each may be nil. A *Hooks must
// not change once it is in use.
type Hooks struct {
	CallStarted         func(context.Context, CallStarted) context.Context    // before any wait; returns the call's context
	CallDone            func(context.Context, CallDone)                       // once for each CallStarted
	AttemptStarted      func(context.Context, AttemptStarted) context.Context // before a send; returns the attempt's context
	AttemptDone         func(context.Context, AttemptDone)                    // at the headers, or the error
	RetryArmed          func(context.Context, RetryArmed)                     // after the wait, before the next attempt
	RetrySkipped        func(context.Context, RetrySkipped)                   // at most once per call
	BudgetReserved      func(context.Context, BudgetReserved)                 // before the wait
	BudgetSettled       func(context.Context, BudgetSettled)                  // once for each BudgetReserved
	BudgetReplenished   func(context.Context, BudgetReplenished)              // after a call that needed no retry
	ThrottleRecorded    func(context.Context, ThrottleRecorded)               // after an answer with Retry-After
	ThrottleWaited      func(context.Context, ThrottleWaited)                 // before the first attempt
	ConnOpened          func(context.Context, ConnOpened)                     // after dial and handshakes
	ConnAcquired        func(context.Context, ConnAcquired)                   // at the begin of each use
	ConnReleased        func(context.Context, ConnReleased)                   // at the end of each use
	ConnClosed          func(context.Context, ConnClosed)                     // once per socket
	ConnStale           func(context.Context, ConnStale)                      // before another connection is taken
	ConnRecovered       func(context.Context, ConnRecovered)                  // once the request went through
	BreakerChanged      func(context.Context, BreakerChanged)                 // after a transition
	BreakerRejected     func(context.Context, BreakerRejected)                // after a refusal
	BreakerProbe        func(context.Context, BreakerProbe)                   // when a lease is granted or given back
	BreakerStoreChanged func(context.Context, BreakerStoreChanged)            // when a shared store is lost, or back
	StreamOpened        func(context.Context, StreamOpened)                   // for each connection of a stream
	StreamClosed        func(context.Context, StreamClosed)                   // once per stream
	Reloaded            func(context.Context, Reloaded)                       // after a swap
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
