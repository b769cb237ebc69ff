package otelbridge_test

import (
	"reflect"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

func TestWithoutSignalsOnlyPropagationIsHooked(t *testing.T) {
	for name, cfg := range map[string]otelbridge.Config{
		"disabled": {DisableTraces: true, DisableMetrics: true},
		"no-op":    {TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()},
	} {
		b, err := otelbridge.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		hooks := reflect.ValueOf(*b.Hooks())
		for i := range hooks.NumField() {
			hook := hooks.Type().Field(i).Name
			if set := !hooks.Field(i).IsNil(); set != (hook == "AttemptStarted") {
				t.Errorf("%s: %s is set: %v", name, hook, set)
			}
		}
		if _, err := b.Observe("shop", sources(meta)); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestASignalThatIsOffAllocatesNothing(t *testing.T) {
	off, err := otelbridge.New(otelbridge.Config{
		TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(), Propagator: propagation.TraceContext{},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := map[string][]string{}
	if n := testing.AllocsPerRun(100, func() {
		off.Hooks().AttemptStarted(t.Context(), events.AttemptStarted{Meta: meta, Header: header})
	}); n != 0 {
		t.Errorf("an attempt without signals allocates %v times, want 0", n)
	}

	metrics := newRig(t, func(c *otelbridge.Config) { c.DisableTraces = true })
	metrics.call(meta, 200)
	ctx := metrics.callStarted(t.Context())
	inner, _ := metrics.attemptStarted(ctx, 1)
	for name, f := range map[string]func(){
		"AttemptDone":  func() { metrics.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 200, Protocol: "1.1"}) },
		"CallDone":     func() { metrics.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeEscaped}) },
		"RetryArmed":   func() { metrics.hooks.RetryArmed(ctx, events.RetryArmed{Meta: meta, Cause: events.CauseStatus}) },
		"ConnAcquired": func() { metrics.hooks.ConnAcquired(ctx, events.ConnAcquired{Meta: meta, Protocol: "1.1"}) },
		"BreakerProbe": func() { metrics.hooks.BreakerProbe(ctx, events.BreakerProbe{Meta: meta}) },
		"ConnStale":    func() { metrics.hooks.ConnStale(ctx, events.ConnStale{Meta: meta, Class: events.ClassEOF}) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s without spans allocates %v times, want 0", name, n)
		}
	}

	traces := newRig(t, func(c *otelbridge.Config) { c.DisableMetrics = true })
	ctx = traces.callStarted(t.Context())
	traces.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeOK})
	if n := len(traces.collect()); n != 0 {
		t.Errorf("%d metrics with metrics switched off, want none", n)
	}
}
