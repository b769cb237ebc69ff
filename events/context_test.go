package events_test

import (
	"context"
	"slices"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

func TestAContextWithoutHooksHasNone(t *testing.T) {
	if h := events.From(t.Context()); h != nil {
		t.Errorf("From returned %v, want nil", h)
	}
}

func TestWithNilKeepsTheContext(t *testing.T) {
	if ctx := events.With(t.Context(), nil); ctx != t.Context() {
		t.Error("With(ctx, nil) returned another context")
	}
}

func TestWithAddsToTheHooksOfTheContext(t *testing.T) {
	var calls []string
	outer := events.With(t.Context(), named("outer", &calls))
	inner := events.With(outer, named("inner", &calls))

	events.From(inner).CallDone(t.Context(), events.CallDone{})
	if want := []string{"outer done in ", "inner done in "}; !slices.Equal(calls, want) {
		t.Errorf("the hooks ran as %q, want %q", calls, want)
	}
	calls = nil
	events.From(outer).CallDone(t.Context(), events.CallDone{})
	if want := []string{"outer done in "}; !slices.Equal(calls, want) {
		t.Errorf("the outer context's hooks ran as %q, want %q", calls, want)
	}
}

// ownContext answers the keys itself, as the client's context type does.
type ownContext struct {
	context.Context
	answers map[any]any
}

func (c ownContext) Value(key any) any {
	if v, ok := c.answers[key]; ok {
		return v
	}
	return c.Context.Value(key)
}

func TestAContextTypeMayAnswerForItself(t *testing.T) {
	h := &events.Hooks{}
	m := events.Meta{Client: "billing", Origin: "http://a.test:80", Partition: "tenant", Call: 3}
	ctx := ownContext{t.Context(), map[any]any{events.Key(): h, events.MetaKey{}: &m}}
	if got := events.From(ctx); got != h {
		t.Errorf("From returned %p, want %p", got, h)
	}
	if got := events.MetaFrom(ctx); got != m {
		t.Errorf("MetaFrom returned %v, want %v", got, m)
	}
	ctx.answers[events.MetaKey{}] = lazyMeta(m)
	if got := events.MetaFrom(ctx); got != m {
		t.Errorf("MetaFrom returned %v of a value that makes its Meta, want %v", got, m)
	}
}

// lazyMeta makes its Meta when asked.
type lazyMeta events.Meta

func (m lazyMeta) Meta() events.Meta { return events.Meta(m) }

func TestAContextWithoutMetaGivesTheZeroMeta(t *testing.T) {
	for name, answer := range map[string]any{"none": nil, "a nil *Meta": (*events.Meta)(nil), "another type": "x"} {
		ctx := ownContext{t.Context(), map[any]any{events.MetaKey{}: answer}}
		if got := events.MetaFrom(ctx); got != (events.Meta{}) {
			t.Errorf("%s: MetaFrom returned %v, want the zero Meta", name, got)
		}
	}
}
