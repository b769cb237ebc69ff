package otelbridge

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// scope holds what is reported for one partition of a client: attribute sets
// and option slices, made once.
type scope struct {
	key    scopeKey
	common []attribute.KeyValue
	other  bool // stands for several partitions, so that no span may use common

	record  []metric.RecordOption // the common attributes alone
	observe []metric.ObserveOption
	outcome map[events.Outcome][]metric.RecordOption
	ok      []metric.RecordOption     // of outcome
	cut     [2][]metric.RecordOption  // by plimsoll.truncated
	state   [3][]metric.ObserveOption // by breaker state
	recent  recent

	offered exemplars // of calls of outcome ok

	tracer atomic.Pointer[trace.Tracer] // of the spans of calls; nil until the first

	series
}

func newScope(key scopeKey, other bool) *scope {
	s := &scope{key: key, common: commonAttributes(key, other), other: other, outcome: map[events.Outcome][]metric.RecordOption{}}
	bare := with(s.common)
	s.record = []metric.RecordOption{bare}
	s.observe = []metric.ObserveOption{bare}
	for _, o := range events.Outcomes() {
		s.outcome[o] = []metric.RecordOption{with(s.common, attribute.String(catalog.KeyOutcome, string(o)))}
	}
	for i, cut := range []bool{false, true} {
		s.cut[i] = []metric.RecordOption{with(s.common, attribute.Bool(catalog.KeyTruncated, cut))}
	}
	for i, st := range events.BreakerStates() {
		s.state[i] = []metric.ObserveOption{with(s.common, attribute.String(catalog.KeyBreakerState, st.String()))}
	}
	s.ok = s.outcome[events.OutcomeOK]
	return s
}

// is reports whether m is about the scope. It may say no where only the
// registry knows.
func (s *scope) is(m *events.Meta) bool {
	k := &s.key
	return !s.other && m.Origin == k.origin && m.Client == k.client && (m.Partition == k.partition || k.partition == "" && m.Partition == m.Origin)
}

// setOf returns the set of the common attributes and more. It makes a copy,
// since NewSet sorts what it is given.
func setOf(common []attribute.KeyValue, more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(slices.Concat(common, more)...)
}

// with returns the option for the common attributes and more.
func with(common []attribute.KeyValue, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(setOf(common, more...))
}

// place holds what is reported for the connections of one origin of a client.
type place struct {
	record       []metric.RecordOption
	observe      []metric.ObserveOption
	active, idle []metric.ObserveOption
}

func newPlace(key scopeKey, other bool) *place {
	common := commonAttributes(key, other)
	bare := with(common)
	return &place{
		record:  []metric.RecordOption{bare},
		observe: []metric.ObserveOption{bare},
		active:  []metric.ObserveOption{with(common, attribute.String(catalog.KeyConnectionState, "active"))},
		idle:    []metric.ObserveOption{with(common, attribute.String(catalog.KeyConnectionState, "idle"))},
	}
}

// owner holds what is reported for a client as a whole.
type owner struct {
	common  []attribute.KeyValue
	observe []metric.ObserveOption
	panics  atomic.Uint64 // of propagators, SpanName functions and sources
	series
}

func newOwner(key scopeKey, _ bool) *owner {
	common := []attribute.KeyValue{attribute.String(catalog.KeyClient, clientName(key.client))}
	return &owner{common: common, observe: []metric.ObserveOption{with(common)}}
}
