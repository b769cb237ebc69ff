package eventstest_test

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

var (
	started = eventstest.Type[events.CallStarted]()
	armed   = eventstest.Type[events.RetryArmed]()
	skipped = eventstest.Type[events.RetrySkipped]()
	done    = eventstest.Type[events.CallDone]()
)

func skippedFor(reason events.SkipReason) eventstest.Matcher {
	return eventstest.Where(func(e events.RetrySkipped) bool { return e.Reason == reason })
}

// recordCall returns a recorder that holds one call: started, armed, skipped
// for want of budget, done.
func recordCall() *eventstest.Recorder {
	rec := eventstest.NewRecorder()
	h, ctx := rec.Hooks(), context.Background()
	m := events.Meta{Client: "default", Origin: "http://a.test:80", Partition: "http://a.test:80", Call: 7}
	h.CallStarted(ctx, events.CallStarted{Meta: m, Method: "GET"})
	h.RetryArmed(ctx, events.RetryArmed{Meta: m, Attempt: 1, Next: 2, Waited: 25 * time.Millisecond, Cause: events.CauseStatus, Cost: 10})
	h.RetrySkipped(ctx, events.RetrySkipped{Meta: m, Reason: events.SkipBucket, Attempt: 2, Status: 503, Needed: 10})
	h.CallDone(ctx, events.CallDone{Meta: m, Method: "GET", Outcome: events.OutcomeEscaped, Attempts: 2, Status: 503})
	return rec
}

func TestExpectLetsOtherEventsLieBetween(t *testing.T) {
	rec := recordCall()
	mustHold(t, func(t testing.TB) { rec.Expect(t) })
	mustHold(t, func(t testing.TB) { rec.Expect(t, armed) })
	mustHold(t, func(t testing.TB) { rec.Expect(t, started, done) })
	mustHold(t, func(t testing.TB) { rec.Expect(t, started, armed, skippedFor(events.SkipBucket), done) })
}

func TestExpectFailsOnTheWrongOrder(t *testing.T) {
	rec := recordCall()
	mustFail(t, func(t testing.TB) { rec.Expect(t, skipped, armed) },
		"expected 2 of 2, RetryArmed, did not occur after event 3", "in this order: RetrySkipped, RetryArmed")
}

func TestExpectFailsOnAnEventThatDidNotOccur(t *testing.T) {
	rec := recordCall()
	mustFail(t, func(t testing.TB) { rec.Expect(t, eventstest.Type[events.Reloaded]()) },
		"expected 1 of 1, Reloaded, did not occur after event 0")
}

func TestExpectNeverCountsOneEventTwice(t *testing.T) {
	rec := recordCall()
	mustFail(t, func(t testing.TB) { rec.Expect(t, armed, armed) }, "expected 2 of 2, RetryArmed")
}

func TestExpectFailsWhenThePredicateDoesNotHold(t *testing.T) {
	rec := recordCall()
	mustFail(t, func(t testing.TB) { rec.Expect(t, skippedFor(events.SkipDeadline)) },
		"RetrySkipped where (expect_test.go:")
}

func TestExpectFailsOnTheZeroMatcher(t *testing.T) {
	rec := recordCall()
	mustFail(t, func(t testing.TB) { rec.Expect(t, eventstest.Matcher{}) }, "nothing")
}

func TestExpectExactlyHoldsForTheWholeTimelineAlone(t *testing.T) {
	rec := recordCall()
	mustHold(t, func(t testing.TB) { rec.ExpectExactly(t, started, armed, skipped, done) })
	mustFail(t, func(t testing.TB) { rec.ExpectExactly(t, started, armed, skipped) },
		"expected exactly 3 events, 4 occurred: the first superfluous one is event 4")
	mustFail(t, func(t testing.TB) { rec.ExpectExactly(t, started, armed, skipped, done, done) },
		"expected exactly 5 events, 4 occurred: missing from CallDone on")
	mustFail(t, func(t testing.TB) { rec.ExpectExactly(t, started, skipped, armed, done) },
		"expected event 2 of 4 to be RetrySkipped", "expected exactly: CallStarted, RetrySkipped, RetryArmed, CallDone")
	mustFail(t, func(t testing.TB) { rec.ExpectExactly(t) }, "expected exactly 0 events, 4 occurred")
}

func TestExpectNothingForbidsEverythingOrWhatIsNamed(t *testing.T) {
	rec := recordCall()
	mustHold(t, func(t testing.TB) { eventstest.NewRecorder().ExpectNothing(t) })
	mustHold(t, func(t testing.TB) { eventstest.NewRecorder().ExpectNothing(t, armed) })
	mustHold(t, func(t testing.TB) {
		rec.ExpectNothing(t, skippedFor(events.SkipDeadline), eventstest.Type[events.ConnStale]())
	})
	mustFail(t, func(t testing.TB) { rec.ExpectNothing(t) }, "expected no event, 4 occurred")
	mustFail(t, func(t testing.TB) { rec.ExpectNothing(t, eventstest.Type[events.ConnStale](), armed) },
		"expected no RetryArmed, event 2 is one")
}

func TestOneReturnsTheOnlyEventOfItsType(t *testing.T) {
	rec := recordCall()
	if e := eventstest.One[events.RetrySkipped](t, rec); e.Status != 503 {
		t.Errorf("Status is %d, want 503", e.Status)
	}
}

func TestOneEndsTheTestUnlessThereIsExactlyOne(t *testing.T) {
	rec := recordCall()
	rec.Hooks().CallDone(t.Context(), events.CallDone{})
	for name, assert := range map[string]func(testing.TB){
		"exactly one ConnStale, 0 occurred": func(t testing.TB) { eventstest.One[events.ConnStale](t, rec) },
		"exactly one CallDone, 2 occurred":  func(t testing.TB) { eventstest.One[events.CallDone](t, rec) },
	} {
		mustFail(t, assert, name)
		if f := try(assert); !f.ended {
			t.Errorf("%s: the test went on", name)
		}
	}
}

func TestEveryFailureListsTheTimeline(t *testing.T) {
	const timeline = `timeline of 4:
   1  CallStarted{Origin:http://a.test:80 Call:7 Method:GET}
   2  RetryArmed{Origin:http://a.test:80 Call:7 Attempt:1 Next:2 Waited:25ms Cause:status Cost:10}
   3  RetrySkipped{Origin:http://a.test:80 Call:7 Reason:bucket Attempt:2 Status:503 Needed:10}
   4  CallDone{Origin:http://a.test:80 Call:7 Method:GET Outcome:escaped Attempts:2 Status:503}`
	rec := recordCall()
	if got := rec.String(); got != timeline {
		t.Errorf("String returned\n%s\nwant\n%s", got, timeline)
	}
	for _, assert := range []func(testing.TB){
		func(t testing.TB) { rec.Expect(t, done, started) },
		func(t testing.TB) { rec.ExpectExactly(t) },
		func(t testing.TB) { rec.ExpectExactly(t, done) },
		func(t testing.TB) { rec.ExpectExactly(t, started, armed, skipped, done, done) },
		func(t testing.TB) { rec.ExpectNothing(t) },
		func(t testing.TB) { rec.ExpectNothing(t, done) },
		func(t testing.TB) { eventstest.One[events.ConnStale](t, rec) },
	} {
		mustFail(t, assert, timeline)
	}
}
