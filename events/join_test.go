package events_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

// named returns hooks that append name to calls in CallStarted and CallDone,
// and whose CallStarted adds name to the context's path.
func named(name string, calls *[]string) *events.Hooks {
	return &events.Hooks{
		CallStarted: func(ctx context.Context, _ events.CallStarted) context.Context {
			*calls = append(*calls, name+" started in "+path(ctx))
			return context.WithValue(ctx, pathKey{}, path(ctx)+"/"+name)
		},
		CallDone: func(ctx context.Context, _ events.CallDone) {
			*calls = append(*calls, name+" done in "+path(ctx))
		},
	}
}

type pathKey struct{}

func path(ctx context.Context) string { s, _ := ctx.Value(pathKey{}).(string); return s }

func TestJoinedHooksRunInOrderAndChainTheContext(t *testing.T) {
	var calls []string
	h := events.Join(named("a", &calls), nil, named("b", &calls), named("c", &calls))
	ctx := h.CallStarted(t.Context(), events.CallStarted{})
	h.CallDone(ctx, events.CallDone{})
	want := []string{
		"a started in ", "b started in /a", "c started in /a/b",
		"a done in /a/b/c", "b done in /a/b/c", "c done in /a/b/c",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("the hooks ran as %q, want %q", calls, want)
	}
}

func TestANilContextFromAHookKeepsTheOneBefore(t *testing.T) {
	var calls []string
	forgetful := &events.Hooks{
		CallStarted:    func(context.Context, events.CallStarted) context.Context { return nil },
		AttemptStarted: func(context.Context, events.AttemptStarted) context.Context { return nil },
	}
	h := events.Join(forgetful, named("a", &calls), forgetful)
	if got := path(h.CallStarted(t.Context(), events.CallStarted{})); got != "/a" {
		t.Errorf("the context's path is %q, want /a", got)
	}
	if ctx := events.Join(forgetful, forgetful).AttemptStarted(t.Context(), events.AttemptStarted{}); ctx != t.Context() {
		t.Errorf("AttemptStarted returned %v, want the context that it was given", ctx)
	}
}

func TestJoinLeavesOutNil(t *testing.T) {
	if h := events.Join(); h != nil {
		t.Errorf("Join() returned %v, want nil", h)
	}
	if h := events.Join(nil, nil); h != nil {
		t.Errorf("Join(nil, nil) returned %v, want nil", h)
	}
	one := &events.Hooks{}
	if h := events.Join(nil, one, nil); h != one {
		t.Error("Join of one set did not return that set")
	}
}

func TestJoinDoesNotChangeWhatItJoins(t *testing.T) {
	var calls []string
	a, b := named("a", &calls), named("b", &calls)
	events.Join(a, b)
	a.CallDone(t.Context(), events.CallDone{})
	if want := []string{"a done in "}; !slices.Equal(calls, want) {
		t.Errorf("the first set now calls %q, want %q", calls, want)
	}
}

// Every field of Hooks is wired: through Join, each side alone and both sides
// together receive the event, and no other hook runs.
func TestJoinCoversEveryHook(t *testing.T) {
	hooks := reflect.TypeFor[events.Hooks]()
	for field := range hooks.Fields() {
		var got []string
		sideOf := func(name string) *events.Hooks {
			return only(field, func(event reflect.Value) {
				if event.FieldByName("Call").Uint() != 42 {
					t.Errorf("%s: the event changed on its way", field.Name)
				}
				got = append(got, name)
			})
		}
		a, b, none := sideOf("a"), sideOf("b"), &events.Hooks{}
		for _, joined := range []struct {
			hooks *events.Hooks
			want  []string
		}{
			{events.Join(a, b), []string{"a", "b"}},
			{events.Join(a, none), []string{"a"}},
			{events.Join(none, b), []string{"b"}},
			{events.Join(none, none), nil},
		} {
			got = nil
			fire(t.Context(), joined.hooks)
			if !slices.Equal(got, joined.want) {
				t.Errorf("%s: the event reached %q, want %q", field.Name, got, joined.want)
			}
		}
	}
}

// only returns hooks in which that field alone is set.
func only(field reflect.StructField, f func(event reflect.Value)) *events.Hooks {
	h := &events.Hooks{}
	reflect.ValueOf(h).Elem().FieldByIndex(field.Index).Set(reflect.MakeFunc(field.Type, func(in []reflect.Value) []reflect.Value {
		f(in[1])
		return in[:field.Type.NumOut()] // the context, where one is returned
	}))
	return h
}

// fire calls every hook that is set with an event of Call 42.
func fire(ctx context.Context, h *events.Hooks) {
	for _, hook := range reflect.ValueOf(h).Elem().Fields() {
		if !hook.IsNil() {
			event := reflect.New(hook.Type().In(1)).Elem()
			event.FieldByName("Call").SetUint(42)
			hook.Call([]reflect.Value{reflect.ValueOf(ctx), event})
		}
	}
}
