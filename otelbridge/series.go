package otelbridge

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// seriesKey names one combination of a counter's own attributes, by their
// values in the catalogue's order.
type seriesKey struct {
	id      counterID
	a, b, c string
}

// series holds the options for every series of the counters of one scope.
type series struct {
	adds atomic.Pointer[map[seriesKey][]metric.AddOption] // set once the counters were born; never changed then
}

// born adds zero to every legal series of the counters from first up to, not
// including, end: so a first failure is a rise and not the begin of a series.
// It does nothing while the MeterProvider takes no measurements, as the global
// one before it is set. It holds no lock, since an instrument may be anybody's;
// calls at the same time add zero more than once, each before it counts.
func (s *series) born(ctx context.Context, in *instruments, common []attribute.KeyValue, first, end counterID) {
	if s.adds.Load() != nil || !in.anyCounter(ctx) {
		return
	}
	adds := map[seriesKey][]metric.AddOption{}
	shared := map[attribute.Distinct][]metric.AddOption{}
	for id := first; id < end; id++ {
		c := &in.counters[id]
		enabled := c.Enabled(ctx)
		for _, kvs := range c.combinations {
			set := setOf(common, kvs...)
			opts, ok := shared[set.Equivalent()]
			if !ok {
				opts = []metric.AddOption{metric.WithAttributeSet(set)}
				shared[set.Equivalent()] = opts
			}
			adds[keyOf(id, kvs)] = opts
			if enabled {
				c.Add(ctx, 0, opts...)
			}
		}
	}
	s.adds.CompareAndSwap(nil, &adds)
}

func keyOf(id counterID, kvs []attribute.KeyValue) seriesKey {
	var v [3]string
	for i, kv := range kvs {
		v[i] = kv.Value.String()
	}
	return seriesKey{id, v[0], v[1], v[2]}
}

// add counts n for the combination of the counter's own attributes that key
// names. A combination that is not in the catalogue is not counted.
func (s *series) add(ctx context.Context, in *instruments, key seriesKey, n int64) {
	adds := s.adds.Load()
	if adds == nil {
		return
	}
	c := &in.counters[key.id]
	if opts := (*adds)[key]; opts != nil && c.Enabled(ctx) {
		c.Add(ctx, n, opts...)
	}
}

// anyCounter reports whether any counter takes measurements.
func (in *instruments) anyCounter(ctx context.Context) bool {
	for i := range in.counters {
		if in.counters[i].Enabled(ctx) {
			return true
		}
	}
	return false
}
