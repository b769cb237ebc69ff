// Package eventstest records the events of a plimsoll client and asserts what
// happened, in which order, and what did not happen.
//
//	rec := eventstest.NewRecorder()
//	c, err := client.New(client.Config{Hooks: rec.Hooks()})
//	// ... use c ...
//	rec.Expect(t,
//		eventstest.Type[events.RetryArmed](),
//		eventstest.Where(func(e events.RetrySkipped) bool { return e.Reason == events.SkipBucket }),
//	)
//	rec.ExpectNothing(t, eventstest.Type[events.ConnStale]())
//
// # Contract
//
// A [Recorder] keeps every event in the order in which its hooks were called.
// That is the order of the events within one call; events of different calls
// and of connections in the background interleave as they happened, so
// [Recorder.Expect] lets other events lie between the ones that it names, and
// [Recorder.Select] with [OfCall] narrows a recording to one call.
//
// All methods may be called from any goroutine, also while events are being
// recorded; each looks at one snapshot. The hooks never block and never change
// the context. No predicate runs under a lock, so it may use the recorder.
//
// Assertions report through [testing.TB.Errorf] and let the test go on, except
// [One], which has nothing to return on failure and ends the test. Every
// failure lists the timeline. Neither a failure nor [Recorder.String] shows a
// header's value, userinfo or a query.
//
// Some events arrive after the call has returned, such as those of a closing
// connection: wait for them with [Recorder.WaitFor], not by sleeping. It works
// inside a testing/synctest bubble, where it waits in virtual time.
package eventstest
