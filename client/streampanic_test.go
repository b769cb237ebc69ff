package client

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// errOfHook is what the hooks and loops of these tests panic with.
var errOfHook = errors.New("of a hook")

// TestAHookThatPanicsLeavesNothingOfAStreamBehind makes each hook on the
// stream's goroutine, and the loop itself, panic or call runtime.Goexit at its
// n-th call.
func TestAHookThatPanicsLeavesNothingOfAStreamBehind(t *testing.T) {
	for _, how := range []struct {
		name string
		do   func()
	}{
		{"panic", func() { panic(errOfHook) }},
		{"Goexit", runtime.Goexit},
	} {
		for _, row := range []struct {
			name  string
			at    int // which call of the hook
			parts []string
			empty bool // the budget
			set   func(h *events.Hooks, do func())
		}{
			{name: "CallStarted", at: 1, set: func(h *events.Hooks, do func()) {
				h.CallStarted = func(ctx context.Context, _ events.CallStarted) context.Context { do(); return ctx }
			}},
			{name: "CallStarted of a reconnection", at: 2, set: func(h *events.Hooks, do func()) {
				h.CallStarted = func(ctx context.Context, _ events.CallStarted) context.Context { do(); return ctx }
			}},
			{name: "AttemptStarted", at: 1, set: func(h *events.Hooks, do func()) {
				h.AttemptStarted = func(ctx context.Context, _ events.AttemptStarted) context.Context { do(); return ctx }
			}},
			{name: "AttemptStarted of a reconnection", at: 2, set: func(h *events.Hooks, do func()) {
				h.AttemptStarted = func(ctx context.Context, _ events.AttemptStarted) context.Context { do(); return ctx }
			}},
			{name: "AttemptDone", at: 1, set: func(h *events.Hooks, do func()) {
				h.AttemptDone = func(context.Context, events.AttemptDone) { do() }
			}},
			{name: "AttemptDone of a reconnection", at: 2, set: func(h *events.Hooks, do func()) {
				h.AttemptDone = func(context.Context, events.AttemptDone) { do() }
			}},
			{name: "BudgetReserved", at: 1, set: func(h *events.Hooks, do func()) {
				h.BudgetReserved = func(context.Context, events.BudgetReserved) { do() }
			}},
			{name: "BudgetSettled", at: 1, set: func(h *events.Hooks, do func()) {
				h.BudgetSettled = func(context.Context, events.BudgetSettled) { do() }
			}},
			{name: "RetryArmed", at: 1, set: func(h *events.Hooks, do func()) {
				h.RetryArmed = func(context.Context, events.RetryArmed) { do() }
			}},
			{name: "RetrySkipped", at: 1, empty: true, set: func(h *events.Hooks, do func()) {
				h.RetrySkipped = func(context.Context, events.RetrySkipped) { do() }
			}},
			{name: "CallDone of a lost connection", at: 1, set: func(h *events.Hooks, do func()) {
				h.CallDone = func(context.Context, events.CallDone) { do() }
			}},
			{name: "CallDone of a refused response", at: 1, parts: []string{"404"}, set: func(h *events.Hooks, do func()) {
				h.CallDone = func(context.Context, events.CallDone) { do() }
			}},
			{name: "StreamOpened", at: 1, set: func(h *events.Hooks, do func()) {
				h.StreamOpened = func(context.Context, events.StreamOpened) { do() }
			}},
			{name: "StreamOpened of a reconnection", at: 2, set: func(h *events.Hooks, do func()) {
				h.StreamOpened = func(context.Context, events.StreamOpened) { do() }
			}},
			{name: "StreamClosed", at: 1, set: func(h *events.Hooks, do func()) {
				h.StreamClosed = func(context.Context, events.StreamClosed) { do() }
			}},
			{name: "StreamClosed of a refused response", at: 1, parts: []string{"404"}, set: func(h *events.Hooks, do func()) {
				h.StreamClosed = func(context.Context, events.StreamClosed) { do() }
			}},
			{name: "ConnAcquired", at: 1, set: func(h *events.Hooks, do func()) {
				h.ConnAcquired = func(context.Context, events.ConnAcquired) { do() }
			}},
			{name: "the loop", at: 1},
			{name: "the loop, after a reconnection", at: 2},
		} {
			t.Run(how.name+" in "+row.name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					n := 0
					do := func() {
						if n++; n == row.at {
							how.do()
						}
					}
					hooks := &events.Hooks{}
					if row.set != nil {
						row.set(hooks, do)
					}
					bucket := capacity(t, 100)
					if row.empty {
						spend(t, bucket, 100)
					}
					parts := row.parts
					if parts == nil {
						parts = []string{"data: 1\n\n", "data: 2\n\n"}
					}
					r := newRig(t, Config{Budget: bucket, Hooks: hooks, Stream: StreamConfig{Resume: true}}, flaky(parts...))
					value, ended := caught(func() {
						s, err := r.client.Stream(r.request(context.Background()))
						if err != nil {
							return
						}
						for range s.Events() {
							if row.set == nil {
								do()
							}
						}
					})
					if ended {
						t.Fatalf("it went on after %d calls", n)
					}
					if how.name == "panic" && value != any(errOfHook) || how.name == "Goexit" && value != nil {
						t.Errorf("recovered %v", value)
					}
					synctest.Wait()
					for key, l := range bucket.Levels() {
						if l.Reserved != 0 {
							t.Errorf("%s: %d tokens are still reserved", key, l.Reserved)
						}
					}
					balanced(t, r)
					if n := eventstest.Count[events.StreamClosed](r.rec); n != 1 {
						t.Errorf("StreamClosed %d times:\n%v", n, r.rec)
					}
					for origin, o := range r.client.Stats().Pool.Origins {
						if o.Requests != 0 || o.Waiting != 0 || o.Active != 0 {
							t.Errorf("%s: %+v", origin, o)
						}
					}
					r.client.CloseIdleConnections()
					synctest.Wait()
					if n := r.listener.Counts().Open; n != 0 {
						t.Errorf("%d connections are left open", n)
					}
				})
			})
		}
	}
}

func TestAPartitionFunctionThatPanicsWhileAStreamOpens(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Partition: func(*http.Request) string { panic(errOfHook) }}, stay())
		if value, _ := caught(func() { r.stream(context.Background()) }); value != any(errOfHook) {
			t.Errorf("recovered %v", value)
		}
		r.rec.ExpectNothing(t)
		balanced(t, r)
	})
}
