package otelbridge_test

import (
	"reflect"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestEveryEventHasASpanAndAMetric(t *testing.T) {
	hooks := reflect.TypeFor[events.Hooks]()
	declared := catalog.Events()
	if len(declared) != hooks.NumField() {
		t.Errorf("the catalogue has %d events, events.Hooks %d", len(declared), hooks.NumField())
	}
	for i := range hooks.NumField() {
		name := hooks.Field(i).Name
		e, ok := catalog.LookupEvent(name)
		if !ok {
			t.Errorf("%s is not in the catalogue", name)
			continue
		}
		if declared[i].Name != name {
			t.Errorf("event %d of the catalogue is %s, want %s", i, declared[i].Name, name)
		}
		if len(e.Metrics) == 0 || e.Span == "" && e.Form != catalog.AttemptSpan {
			t.Errorf("%s has metrics %q and span %q, want one of each at least", name, e.Metrics, e.Span)
		}
		for _, m := range e.Metrics {
			if _, ok := catalog.Lookup(m); !ok {
				t.Errorf("%s names the metric %s, which is not in the catalogue", name, m)
			}
		}
	}
}

func TestEveryMetricStandsForAnEventOrASource(t *testing.T) {
	for _, m := range catalog.Metrics() {
		used := slices.ContainsFunc(catalog.Events(), func(e catalog.Event) bool { return slices.Contains(e.Metrics, m.Name) })
		if !used && m.Name != catalog.HookPanics {
			t.Errorf("no event shows in %s", m.Name)
		}
	}
}

// TestTheHooksShowExactlyTheCatalogue drives every event by hand. All that the
// catalogue declares must show, and nothing else.
func TestTheHooksShowExactlyTheCatalogue(t *testing.T) {
	custom := meta
	custom.Partition = "tenant-a"
	shown := sightings{}
	for name, m := range map[string]events.Meta{"origin": meta, "custom partition": custom} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.everything(m)
			shown.addMetrics(t, r.collect())
			shown.addSpans(t, r.spans.GetSpans())
		})
	}
	shown.demandAll(t)
	shown.demandOptional(t)
}

// checkDeclaration holds what kind of instrument was made against its
// declaration.
func checkDeclaration(t testing.TB, m metricdata.Metrics, want catalog.Metric) {
	t.Helper()
	if m.Unit != want.Unit || m.Description != want.Description {
		t.Errorf("%s has unit %q and description %q, want %q and %q", m.Name, m.Unit, m.Description, want.Unit, want.Description)
	}
	if kind := kindOf(m); kind != want.Kind && (!want.Observed() || kind != observedAs(want.Kind)) {
		t.Errorf("%s is a %v, want %v", m.Name, kind, want.Kind)
	}
	checkBuckets(t, m, want)
}

// kindOf tells what the SDK shows of a kind.
func kindOf(m metricdata.Metrics) catalog.Kind {
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		return catalog.Histogram
	case metricdata.Sum[int64]:
		if d.IsMonotonic {
			return catalog.Counter
		}
		return catalog.ObservedUpDown
	}
	return catalog.ObservedGauge
}

func observedAs(k catalog.Kind) catalog.Kind {
	if k == catalog.ObservedCounter {
		return catalog.Counter
	}
	return k
}

func checkBuckets(t testing.TB, m metricdata.Metrics, want catalog.Metric) {
	t.Helper()
	if d, ok := m.Data.(metricdata.Histogram[float64]); ok {
		for _, p := range d.DataPoints {
			if !slices.Equal(p.Bounds, want.Buckets) {
				t.Errorf("%s has buckets %v, want %v", m.Name, p.Bounds, want.Buckets)
			}
		}
	}
}

// checkAttributes holds attributes against their declarations: none is
// undeclared, none that must be there is missing, values are of their type and
// in their closed set.
func checkAttributes(t testing.TB, where string, got []attribute.KeyValue, want []catalog.Attribute) {
	t.Helper()
	for _, kv := range got {
		i := slices.IndexFunc(want, func(a catalog.Attribute) bool { return a.Key == string(kv.Key) })
		if i < 0 {
			t.Errorf("%s has the attribute %s=%s, which is not declared", where, kv.Key, kv.Value.String())
			continue
		}
		if typ := typeOf(kv.Value); typ != want[i].Type {
			t.Errorf("%s has %s as a %v, want %v", where, kv.Key, typ, want[i].Type)
		}
		if want[i].Values != nil && !slices.Contains(want[i].Values, kv.Value.String()) {
			t.Errorf("%s has %s=%s, want one of %q", where, kv.Key, kv.Value.String(), want[i].Values)
		}
	}
	for _, a := range want {
		if !a.Optional && !slices.ContainsFunc(got, func(kv attribute.KeyValue) bool { return string(kv.Key) == a.Key }) {
			t.Errorf("%s lacks the attribute %s", where, a.Key)
		}
	}
}

func typeOf(v attribute.Value) catalog.Type {
	switch v.Type() {
	case attribute.STRING:
		return catalog.String
	case attribute.INT64:
		return catalog.Int
	case attribute.BOOL:
		return catalog.Bool
	case attribute.FLOAT64:
		return catalog.Float
	default:
		return 0
	}
}

func bySpan(name string) (catalog.Event, bool) {
	for _, e := range catalog.Events() {
		if e.Span == name {
			return e, true
		}
	}
	return catalog.Event{}, false
}

func attributesOf(event string) []catalog.Attribute {
	e, _ := catalog.LookupEvent(event)
	return e.Attributes
}

// otherThan returns those of as whose keys are not in the other list.
func otherThan(as, other []catalog.Attribute) []catalog.Attribute {
	return slices.DeleteFunc(as, func(a catalog.Attribute) bool {
		return slices.ContainsFunc(other, func(o catalog.Attribute) bool { return o.Key == a.Key })
	})
}

// ofOutside returns the common attributes of a span outside a call. What
// belongs to no origin has the client's name alone.
func ofOutside() []catalog.Attribute {
	as := catalog.SpanCommon()
	for i := range as {
		as[i].Optional = as[i].Key != catalog.KeyClient
	}
	return as
}

func TestTwoClientsOfOneProcessAreToldApart(t *testing.T) {
	r := newRig(t)
	other, err := otelbridge.New(otelbridge.Config{TracerProvider: r.tracer, MeterProvider: r.meter})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	second := meta
	second.Client = "billing"
	r.call(meta, 200)
	other.Hooks().RetryArmed(t.Context(), events.RetryArmed{Meta: second, Cause: events.CauseStatus})
	for client, want := range map[string]float64{"shop": 0, "billing": 1} {
		if got := r.value(catalog.RetryArmed, attribute.String(catalog.KeyClient, client), attribute.String(catalog.KeyCause, "status")); got != want {
			t.Errorf("%s armed %v retries, want %v", client, got, want)
		}
	}
}
