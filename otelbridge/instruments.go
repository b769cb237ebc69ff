package otelbridge

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// counterID numbers the counters that are recorded when an event happens.
type counterID uint8

const (
	callEscapes counterID = iota
	retryArmed
	retrySkipped
	budgetReserved
	budgetKept
	budgetRefunded
	budgetReplenished
	connStale
	connRecoveries
	breakerTransitions
	breakerRejections
	breakerProbes
	throttleRecorded
	streamOpened
	streamClosed
	streamBytes
	streamEvents

	// Those of the client, not of a partition.
	reloads
	breakerStoreFallbacks
	counterCount

	ofPartition = callEscapes // the first of a partition
	ofClient    = reloads     // the first of a client
)

var counterNames = [counterCount]string{
	callEscapes:           catalog.CallEscapes,
	retryArmed:            catalog.RetryArmed,
	retrySkipped:          catalog.RetrySkipped,
	budgetReserved:        catalog.BudgetReserved,
	budgetKept:            catalog.BudgetKept,
	budgetRefunded:        catalog.BudgetRefunded,
	budgetReplenished:     catalog.BudgetReplenished,
	connStale:             catalog.ConnStale,
	connRecoveries:        catalog.ConnRecoveries,
	breakerTransitions:    catalog.BreakerTransitions,
	breakerRejections:     catalog.BreakerRejections,
	breakerProbes:         catalog.BreakerProbes,
	breakerStoreFallbacks: catalog.BreakerStoreFallbacks,
	throttleRecorded:      catalog.ThrottleRecorded,
	streamOpened:          catalog.StreamOpened,
	streamClosed:          catalog.StreamClosed,
	streamBytes:           catalog.StreamBytes,
	streamEvents:          catalog.StreamEvents,
	reloads:               catalog.Reloads,
}

// counter is a counter with the legal combinations of its own attributes.
type counter struct {
	metric.Int64Counter
	combinations [][]attribute.KeyValue
}

// instruments are the metrics of the catalogue, made with one meter.
type instruments struct {
	counters [counterCount]counter

	requestDuration    metric.Float64Histogram
	connectionDuration metric.Float64Histogram
	callDuration       metric.Float64Histogram
	retryDelay         metric.Float64Histogram
	connWait           metric.Float64Histogram
	throttleWait       metric.Float64Histogram

	activeRequests  metric.Int64ObservableUpDownCounter
	openConnections metric.Int64ObservableUpDownCounter
	connWaiting     metric.Int64ObservableUpDownCounter
	budgetTokens    metric.Int64ObservableGauge
	budgetCapacity  metric.Int64ObservableGauge
	breakerState    metric.Int64ObservableGauge
	breakerCooldown metric.Float64ObservableGauge
	hookPanics      metric.Int64ObservableCounter
}

// maker makes instruments as the catalogue declares them and gathers what the
// meter refuses.
type maker struct {
	meter metric.Meter
	errs  []error
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	m := &maker{meter: meter}
	in := &instruments{
		requestDuration:    m.histogram(catalog.RequestDuration),
		connectionDuration: m.histogram(catalog.ConnectionDuration),
		callDuration:       m.histogram(catalog.CallDuration),
		retryDelay:         m.histogram(catalog.RetryDelay),
		connWait:           m.histogram(catalog.ConnWaitDuration),
		throttleWait:       m.histogram(catalog.ThrottleWaitDuration),
		activeRequests:     m.upDown(catalog.ActiveRequests),
		openConnections:    m.upDown(catalog.OpenConnections),
		connWaiting:        m.upDown(catalog.ConnWaiting),
		budgetTokens:       m.gauge(catalog.BudgetTokens),
		budgetCapacity:     m.gauge(catalog.BudgetCapacity),
		breakerState:       m.gauge(catalog.BreakerState),
	}
	for id, name := range counterNames {
		in.counters[id] = m.counter(name)
	}
	in.breakerCooldown = made(m, catalog.BreakerCooldown, func(c catalog.Metric) (metric.Float64ObservableGauge, error) {
		return meter.Float64ObservableGauge(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description))
	})
	in.hookPanics = made(m, catalog.HookPanics, func(c catalog.Metric) (metric.Int64ObservableCounter, error) {
		return meter.Int64ObservableCounter(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description))
	})
	return in, errors.Join(m.errs...)
}

// made looks name up in the catalogue and makes its instrument.
func made[I any](m *maker, name string, create func(catalog.Metric) (I, error)) I {
	c, ok := catalog.Lookup(name)
	if !ok {
		m.errs = append(m.errs, fmt.Errorf("otelbridge: the catalogue has no metric %q", name))
	}
	in, err := create(c)
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("otelbridge: the MeterProvider refused %s: %w", name, err))
	}
	return in
}

func (m *maker) histogram(name string) metric.Float64Histogram {
	return made(m, name, func(c catalog.Metric) (metric.Float64Histogram, error) {
		return m.meter.Float64Histogram(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description),
			metric.WithExplicitBucketBoundaries(c.Buckets...))
	})
}

func (m *maker) counter(name string) counter {
	var combinations [][]attribute.KeyValue
	in := made(m, name, func(c catalog.Metric) (metric.Int64Counter, error) {
		for _, labels := range c.Combinations() {
			combinations = append(combinations, keyValues(labels))
		}
		return m.meter.Int64Counter(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description))
	})
	return counter{Int64Counter: in, combinations: combinations}
}

func (m *maker) upDown(name string) metric.Int64ObservableUpDownCounter {
	return made(m, name, func(c catalog.Metric) (metric.Int64ObservableUpDownCounter, error) {
		return m.meter.Int64ObservableUpDownCounter(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description))
	})
}

func (m *maker) gauge(name string) metric.Int64ObservableGauge {
	return made(m, name, func(c catalog.Metric) (metric.Int64ObservableGauge, error) {
		return m.meter.Int64ObservableGauge(c.Name, metric.WithUnit(c.Unit), metric.WithDescription(c.Description))
	})
}

// observables are what the callback of a bridge observes.
func (in *instruments) observables() []metric.Observable {
	return []metric.Observable{
		in.activeRequests, in.openConnections, in.connWaiting, in.budgetTokens, in.budgetCapacity,
		in.breakerState, in.breakerCooldown, in.hookPanics,
	}
}

func keyValues(labels []catalog.Label) []attribute.KeyValue {
	out := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		if l.Type == catalog.Bool {
			out[i] = attribute.Bool(l.Key, l.Value == "true")
		} else {
			out[i] = attribute.String(l.Key, l.Value)
		}
	}
	return out
}
