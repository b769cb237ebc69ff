package otelbridge_test

import (
	"context"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// brokenPropagator panics.
type brokenPropagator struct{ propagation.TraceContext }

func (brokenPropagator) Inject(context.Context, propagation.TextMapCarrier) { panic("propagator") }

func TestAPanickingPropagatorOrSpanNameLeavesTheCallAlone(t *testing.T) {
	for want, change := range map[string]func(*otelbridge.Config){
		"propagator": func(c *otelbridge.Config) { c.Propagator = brokenPropagator{} },
		"name":       func(c *otelbridge.Config) { c.SpanName = func(events.AttemptStarted) string { panic("name") } },
	} {
		t.Run(want, func(t *testing.T) {
			var caught []any
			r := newRig(t, change, func(c *otelbridge.Config) { c.OnPanic = func(v any) { caught = append(caught, v) } })
			stop, err := r.bridge.Observe(meta.Client, otelbridge.Sources{HookPanics: func() uint64 { return 40 }})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			ctx := r.callStarted(t.Context())
			for n := range 2 {
				inner, _ := r.attemptStarted(ctx, n+1)
				r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: n + 1, Status: 200})
			}
			r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK, Attempts: 2})
			if len(caught) != 2 || caught[0] != want {
				t.Errorf("OnPanic got %v, want %q twice", caught, want)
			}
			if got := r.value(catalog.HookPanics, attribute.String(catalog.KeyClient, meta.Client)); got != 42 {
				t.Errorf("%s is %v, want the client's 40 and 2", catalog.HookPanics, got)
			}
			if n := len(r.spans.GetSpans()); n != 3 {
				t.Errorf("%d spans, want 3", n)
			}
		})
	}
}

func TestAPanickingPropagatorIsRecoveredWithoutTelemetry(t *testing.T) {
	b, err := otelbridge.New(otelbridge.Config{Propagator: brokenPropagator{}, DisableTraces: true, DisableMetrics: true})
	if err != nil {
		t.Fatal(err)
	}
	if ctx := b.Hooks().AttemptStarted(t.Context(), events.AttemptStarted{Meta: meta, Header: http.Header{}}); ctx != nil {
		t.Errorf("the context is replaced by %v, want nil", ctx)
	}
}
