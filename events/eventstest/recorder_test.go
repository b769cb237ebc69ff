package eventstest_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestEveryHookRecordsItsEvent(t *testing.T) {
	rec := eventstest.NewRecorder()
	call := uint64(0)
	for field, hook := range reflect.ValueOf(rec.Hooks()).Elem().Fields() {
		if hook.IsNil() {
			t.Errorf("the hook %s is nil", field.Name)
			continue
		}
		call++
		event := reflect.New(field.Type.In(1)).Elem()
		event.FieldByName("Call").SetUint(call)
		rec.Reset()
		hook.Call([]reflect.Value{reflect.ValueOf(t.Context()), event})
		if got := rec.Timeline(); len(got) != 1 || !reflect.DeepEqual(got[0], event.Interface()) {
			t.Errorf("the hook %s recorded %v, want %v", field.Name, got, event)
		}
	}
}

func TestTheContextStaysAsItWas(t *testing.T) {
	h := eventstest.NewRecorder().Hooks()
	if ctx := h.CallStarted(t.Context(), events.CallStarted{}); ctx != nil {
		t.Errorf("CallStarted returned %v, want nil", ctx)
	}
	if ctx := h.AttemptStarted(t.Context(), events.AttemptStarted{}); ctx != nil {
		t.Errorf("AttemptStarted returned %v, want nil", ctx)
	}
}

func TestARecordedHeaderDoesNotChangeLater(t *testing.T) {
	rec := eventstest.NewRecorder()
	header := http.Header{"Traceparent": {"first"}}
	rec.Hooks().AttemptStarted(t.Context(), events.AttemptStarted{Header: header})
	header.Set("Traceparent", "second")
	if got := eventstest.One[events.AttemptStarted](t, rec).Header.Get("Traceparent"); got != "first" {
		t.Errorf("the recorded header became %q", got)
	}
}

// A password in the userinfo or a token in the query must not reach a test's
// log either (hashicorp/go-retryablehttp#31, #154).
func TestTheTimelineShowsNoSecret(t *testing.T) {
	u, err := url.Parse("http://user:hunter2@a.test/path?token=hunter2#hunter2")
	if err != nil {
		t.Fatal(err)
	}
	rec := eventstest.NewRecorder()
	rec.Hooks().CallStarted(t.Context(), events.CallStarted{URL: events.URLOf(u)})
	rec.Hooks().AttemptStarted(t.Context(), events.AttemptStarted{
		URL: events.URLOf(u), Header: http.Header{"Authorization": {"hunter2"}},
	})
	if s := rec.String(); strings.Contains(s, "hunter2") || strings.Count(s, "a.test/path") != 2 {
		t.Errorf("the timeline shows a secret or lacks the path:\n%s", s)
	}
}

func TestAnEmptyRecorderSaysSo(t *testing.T) {
	if got := eventstest.NewRecorder().String(); got != "timeline: no events" {
		t.Errorf("String returned %q", got)
	}
}

func TestALineNamesClientAndPartitionWhereTheySayMore(t *testing.T) {
	rec := eventstest.NewRecorder()
	rec.Hooks().Reloaded(t.Context(), events.Reloaded{
		Meta: events.Meta{Client: "billing", Origin: "http://a.test:80", Partition: "tenant"}, Generation: 2,
	})
	const want = "timeline of 1:\n   1  Reloaded{Client:billing Origin:http://a.test:80 Partition:tenant Generation:2}"
	if got := rec.String(); got != want {
		t.Errorf("String returned %q, want %q", got, want)
	}
}

func TestTypedAccessKeepsTheOrder(t *testing.T) {
	rec := eventstest.NewRecorder()
	h := rec.Hooks()
	for attempt := range 3 {
		h.RetryArmed(t.Context(), events.RetryArmed{Attempt: attempt})
		h.CallDone(t.Context(), events.CallDone{})
	}
	all := eventstest.All[events.RetryArmed](rec)
	if len(all) != 3 || all[0].Attempt != 0 || all[1].Attempt != 1 || all[2].Attempt != 2 {
		t.Errorf("All returned %v", all)
	}
	if n := eventstest.Count[events.RetryArmed](rec); n != 3 {
		t.Errorf("Count is %d, want 3", n)
	}
	rec.Reset()
	if n := eventstest.Count[events.RetryArmed](rec); n != 0 {
		t.Errorf("Count is %d after Reset, want 0", n)
	}
	h.RetryArmed(t.Context(), events.RetryArmed{})
	if n := eventstest.Count[events.RetryArmed](rec); n != 1 {
		t.Errorf("hooks handed out before Reset recorded %d events, want 1", n)
	}
}

func TestTheTimelineBelongsToItsCaller(t *testing.T) {
	rec := recordCall()
	rec.Timeline()[0] = nil
	if n := eventstest.Count[events.CallStarted](rec); n != 1 {
		t.Errorf("writing to a returned timeline changed the recorder: %d events are left, want 1", n)
	}
}

func TestSelectNarrowsARecording(t *testing.T) {
	rec := recordCall()
	h := rec.Hooks()
	h.CallStarted(t.Context(), events.CallStarted{Meta: events.Meta{Call: 8}})
	h.CallDone(t.Context(), events.CallDone{Meta: events.Meta{Call: 8}})

	mustHold(t, func(t testing.TB) { rec.Select(eventstest.OfCall(8)).ExpectExactly(t, started, done) })
	mustHold(t, func(t testing.TB) { rec.Select(armed, skipped).ExpectExactly(t, armed, skipped) })
	mustHold(t, func(t testing.TB) { rec.Select(eventstest.OfCall(9)).ExpectNothing(t) })
	mustHold(t, func(t testing.TB) { rec.Select().ExpectNothing(t) })
}

func TestConcurrentEventsAreAllKept(t *testing.T) {
	const goroutines, each = 8, 50
	rec := eventstest.NewRecorder()
	h := rec.Hooks()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				h.RetryArmed(context.Background(), events.RetryArmed{})
				eventstest.Count[events.RetryArmed](rec)
			}
		})
	}
	wg.Wait()
	if n := eventstest.Count[events.RetryArmed](rec); n != goroutines*each {
		t.Errorf("%d events are recorded, want %d", n, goroutines*each)
	}
}

func TestWaitForReturnsWithTheEventThatItAwaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := eventstest.NewRecorder()
		h := rec.Hooks()
		start := time.Now()
		for n := range 3 {
			time.AfterFunc(time.Duration(n+1)*time.Second, func() { h.ConnClosed(t.Context(), events.ConnClosed{}) })
		}
		err := rec.WaitFor(t.Context(), func() bool { return eventstest.Count[events.ConnClosed](rec) == 2 })
		if err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("it waited %v, want 2s", waited)
		}
		synctest.Wait()
	})
}

func TestWaitForReturnsAtOnceWhatAlreadyHolds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := recordCall().WaitFor(ctx, func() bool { return true }); err != nil {
		t.Error(err)
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rec := recordCall()
		err := rec.WaitFor(ctx, func() bool { return false })
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), rec.String()) {
			t.Errorf("WaitFor returned %v, want a deadline error with the timeline", err)
		}
	})
}
