package otelbridge_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// panicOnce returns hooks of which the named one panics with value, once.
func panicOnce(name string, value any, did *atomic.Bool) *events.Hooks {
	h := &events.Hooks{}
	field := reflect.ValueOf(h).Elem().FieldByName(name)
	field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
		if did.CompareAndSwap(false, true) {
			panic(value)
		}
		if field.Type().NumOut() == 1 {
			return args[:1]
		}
		return nil
	}))
	return h
}

// TestAUsersHookThatPanicsLeavesNoSpanOpen lets each hook of the user panic once
// while the real client reports, and looks at what is left of the telemetry.
func TestAUsersHookThatPanicsLeavesNoSpanOpen(t *testing.T) {
	reached := 0
	for field := range reflect.TypeFor[events.Hooks]().Fields() {
		name := field.Name
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				boom := errors.New("boom")
				var did atomic.Bool
				var got []any // what reached a caller or OnPanic
				background := make(chan any, 10)
				r := newRig(t)
				open := &openSpans{}
				r.tracer.RegisterSpanProcessor(open)
				store := &failing{Memory: breaker.NewMemory(0)}
				gate, err := breaker.New(breaker.Config{Store: store, ConsecutiveFailures: 3, Cooldown: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				d := drive(t, r, faultserver.TLS, client.Config{
					Name: "shop", Breaker: gate, Hooks: panicOnce(name, boom, &did), OnPanic: func(v any) { background <- v },
					Stream: client.StreamConfig{Resume: true},
				}, func(c *otelbridge.Config) { c.ConnTrace = true })
				caught := func(f func()) {
					defer func() {
						if v := recover(); v != nil {
							got = append(got, v)
						}
					}()
					f()
				}
				for _, step := range d.steps(store) {
					caught(step)
				}
				synctest.Wait()
				caught(d.client.CloseIdleConnections)
				wait(time.Minute)
				close(background)
				for v := range background {
					got = append(got, v)
				}
				if !did.Load() {
					t.Fatal("the hook was never called: nothing is shown")
				}
				if len(got) != 1 || got[0] != any(boom) {
					t.Errorf("got %v, want the value that the hook panicked with, once", got)
				}
				if left := open.list(); len(left) != 0 {
					t.Errorf("spans are left open: %q", left)
				}
				calls := 0
				for _, s := range r.spans.GetSpans() {
					if s.Name == catalog.SpanCall {
						calls++
					}
				}
				if calls < 15 {
					t.Errorf("%d calls have a span, want 15 at least", calls)
				}
				for _, p := range r.at(catalog.ActiveRequests) {
					if p.value != 0 {
						t.Errorf("%s is %v with %v, want 0", catalog.ActiveRequests, p.value, p.attrs.ToSlice())
					}
				}
				d.server.Next() // nothing is scripted any more
				if status, err := d.get(t.Context()); status != 200 {
					t.Errorf("afterwards: status %d, %v", status, err)
				}
			})
			reached++
		})
	}
	if want := reflect.TypeFor[events.Hooks]().NumField(); reached != want {
		t.Errorf("%d of %d hooks were tried", reached, want)
	}
}

// steps call the client so that every event comes. Each may panic.
func (d *driver) steps(store *failing) []func() {
	ctx := d.t.Context()
	once := client.WithRetry(ctx, client.RetryPolicy{MaxRetries: -1})
	send := func(ctx context.Context, scripts ...faultserver.Script) {
		d.server.Next(scripts...)
		_, _ = d.get(ctx)
		synctest.Wait()
	}
	throttled := faultserver.RespondWith(429, http.Header{"Retry-After": {"3"}}, "")
	return []func(){
		func() { send(ctx) },
		func() {
			send(ctx, faultserver.Respond(503, ""), faultserver.Respond(503, ""), faultserver.Respond(200, ""))
		},
		func() { send(ctx) },
		func() { send(ctx, throttled) },
		func() { send(once, throttled) },
		func() { send(ctx) },
		func() { d.server.RaceIdle(faultserver.FIN); send(ctx) },
		func() { d.streams(ctx) },
		func() { store.lost.Store(true); send(ctx) },
		func() { store.lost.Store(false); wait(time.Minute); send(ctx) },
		func() { send(once, faultserver.Respond(500, "")) },
		func() { send(once, faultserver.Respond(500, "")) },
		func() { send(once, faultserver.Respond(500, "")) },
		func() { send(once) },
		func() { wait(time.Minute); send(once) },
		func() { wait(time.Minute); send(once) },
		func() {
			if err := d.client.Reload(client.TLSMaterial{RootCAs: d.server.CA().PEM()}); err != nil {
				d.t.Error(err)
			}
		},
		func() { send(ctx) },
	}
}
