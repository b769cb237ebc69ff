// Package events defines what happens inside a plimsoll client as typed
// values: one struct per lifecycle event and one function per event in
// [Hooks].
//
// # Contract
//
// Hooks run on the goroutine on which the event happens, outside every lock of
// this module. Events of one call arrive in the order in which they happen;
// events of different calls and of connections in the background may run
// concurrently, so a hook must be safe for concurrent use. A hook should
// return quickly: the call waits for it.
//
// A nil function costs nothing; a nil *Hooks is a valid, empty set of hooks.
// [Hooks.CallStarted] and [Hooks.AttemptStarted] return the context for what
// happens inside the call or the attempt, so that spans nest; returning nil
// keeps the context as it was.
//
// A panic in a hook on the caller's goroutine reaches the caller unchanged
// after the call has cleaned up. A panic in a hook on a background goroutine
// is recovered, counted and handed to the client's OnPanic.
//
// # Secrets
//
// Events carry no bodies, no header values and no error texts. The two
// exceptions are guarded: [URL] formats without userinfo, query and fragment,
// and the header of [AttemptStarted], through which a propagator writes, is
// left out when the event is formatted or marshalled.
//
// # Order within one call
//
//	CallStarted
//	  ThrottleWaited?  BreakerProbe?
//	  AttemptStarted  (ConnOpened? ConnAcquired ConnStale* ConnRecovered?)  AttemptDone
//	  ThrottleRecorded?  BudgetSettled?  BreakerChanged?
//	  BudgetReserved?  RetryArmed | RetrySkipped
//	  ... the next attempt
//	CallDone
package events
