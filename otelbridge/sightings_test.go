package otelbridge_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// sightings are what runs have shown of the catalogue: events, metrics, their
// attributes and the values of those. What is added must be declared;
// demandAll wants all that is declared to have been added.
type sightings map[string]bool

// outside stands for the spans of events outside a call, whatever the event.
const outside = "a span outside a call"

func (s sightings) saw(where string, kvs []attribute.KeyValue, declared []catalog.Attribute) {
	s[where] = true
	for _, kv := range kvs {
		s[where+" "+string(kv.Key)] = true
		s[where+" "+string(kv.Key)+"="+kv.Value.String()] = true
	}
	for _, a := range declared {
		if attr(kvs, a.Key) == "" {
			s[where+" without "+a.Key] = true
		}
	}
}

// addSpans adds spans and span events.
func (s sightings) addSpans(t testing.TB, spans tracetest.SpanStubs) {
	t.Helper()
	for _, span := range spans {
		var declared []catalog.Attribute
		var where []string
		switch e, known := bySpan(span.Name); {
		case span.SpanKind == trace.SpanKindClient:
			where, declared = []string{"AttemptStarted", "AttemptDone"}, slices.Concat(attributesOf("AttemptStarted"), attributesOf("AttemptDone"))
		case span.Name == catalog.SpanCall:
			where, declared = []string{"CallStarted", "CallDone"}, ofCalls()
		case !known:
			t.Errorf("a span is named %q, which is not in the catalogue", span.Name)
			continue
		case e.Form == catalog.ChildSpan && span.Parent.IsValid():
			where, declared = []string{e.Name}, e.Attributes
		default:
			where, declared = []string{e.Name, outside}, slices.Concat(ofOutside(), e.Attributes)
			if span.StartTime != span.EndTime {
				t.Errorf("the span %s outside a call lasts %v, want none", span.Name, span.EndTime.Sub(span.StartTime))
			}
		}
		checkAttributes(t, span.Name, span.Attributes, declared)
		for _, w := range where {
			s.saw(w, span.Attributes, declared)
		}
		for _, ev := range span.Events {
			e, ok := bySpan(ev.Name)
			if !ok || e.Form != catalog.SpanEvent {
				t.Errorf("the span %s has the event %q, which is not in the catalogue", span.Name, ev.Name)
				continue
			}
			checkAttributes(t, ev.Name, ev.Attributes, e.Attributes)
			s.saw(e.Name, ev.Attributes, e.Attributes)
		}
	}
}

// ofCalls returns the attributes of the span of a call.
func ofCalls() []catalog.Attribute {
	return slices.Concat(otherThan(catalog.SpanCommon(), attributesOf("CallDone")), attributesOf("CallDone"))
}

// addMetrics adds metrics. Counters are born at zero, and levels go back to it:
// that a series is there says nothing, it must be above.
func (s sightings) addMetrics(t testing.TB, got map[string]metricdata.Metrics) {
	t.Helper()
	for name, m := range got {
		want, ok := catalog.Lookup(name)
		if !ok {
			t.Errorf("%s was emitted and is not in the catalogue", name)
			continue
		}
		checkDeclaration(t, m, want)
		legal := combinationsOf(want)
		for _, p := range points(t, m) {
			checkAttributes(t, name, p.attrs.ToSlice(), want.AllAttributes())
			c := combinationAt(want, p.attrs)
			if !want.Open() && !slices.Contains(legal, c) {
				t.Errorf("%s was emitted with {%s}, which is not legal", name, c)
			}
			if p.value > 0 || p.count > 0 {
				s[name+" {"+c+"}"] = true
				s.saw(name, p.attrs.ToSlice(), want.AllAttributes())
			}
		}
	}
}

// combinationsOf returns the legal combinations of the metric's own attributes.
func combinationsOf(m catalog.Metric) []string {
	var out []string
	for _, labels := range m.Combinations() {
		var parts []string
		for _, l := range labels {
			parts = append(parts, l.Key+"="+l.Value)
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

// combinationAt returns the combination of the metric's own attributes in set.
func combinationAt(m catalog.Metric, set attribute.Set) string {
	var parts []string
	for _, a := range m.Attributes {
		if v, ok := set.Value(attribute.Key(a.Key)); ok {
			parts = append(parts, a.Key+"="+v.String())
		}
	}
	return strings.Join(parts, " ")
}

// demandAll wants everything that the catalogue declares: every event and
// metric, every attribute of each, the optional ones included, every value of
// every closed set and every combination of values.
func (s sightings) demandAll(t testing.TB) {
	t.Helper()
	for _, e := range catalog.Events() {
		s.demand(t, e.Name, e.Attributes)
	}
	s.demand(t, "CallDone", ofCalls())
	s.demand(t, outside, catalog.SpanCommon())
	for _, m := range catalog.Metrics() {
		s.demand(t, m.Name, m.AllAttributes())
		for _, c := range combinationsOf(m) {
			if !s[m.Name+" {"+c+"}"] {
				t.Errorf("%s is declared with {%s}, which never was above 0", m.Name, c)
			}
		}
	}
}

func (s sightings) demand(t testing.TB, where string, declared []catalog.Attribute) {
	t.Helper()
	if !s[where] {
		t.Errorf("%s is in the catalogue and never was emitted", where)
		return
	}
	for _, a := range declared {
		if !s[where+" "+a.Key] {
			t.Errorf("%s never had its attribute %s", where, a.Key)
			continue
		}
		values := a.Values
		if a.Type == catalog.Bool {
			values = []string{"false", "true"}
		}
		for _, v := range values {
			if !s[where+" "+a.Key+"="+v] {
				t.Errorf("%s never had %s=%s", where, a.Key, v)
			}
		}
	}
}

// demandOptional wants every attribute that is declared as optional to have
// been left out.
func (s sightings) demandOptional(t testing.TB) {
	t.Helper()
	demand := func(where string, declared []catalog.Attribute) {
		for _, a := range declared {
			if a.Optional && !s[where+" without "+a.Key] {
				t.Errorf("%s never was without %s, which is declared as optional", where, a.Key)
			}
		}
	}
	for _, e := range catalog.Events() {
		demand(e.Name, e.Attributes)
	}
	demand("CallDone", ofCalls())
	demand(outside, ofOutside())
	for _, m := range catalog.Metrics() {
		demand(m.Name, m.AllAttributes())
	}
}
