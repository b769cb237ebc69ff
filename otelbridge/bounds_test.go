package otelbridge_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// metricsAlone makes a rig without spans, for tests with many events.
func metricsAlone(t *testing.T, limit int) *rig {
	return newRig(t, func(c *otelbridge.Config) { c.DisableTraces, c.MaxOrigins = true, limit })
}

func TestEveryInstrumentStaysBelowTheSDKsLimit(t *testing.T) {
	for _, m := range catalog.Metrics() {
		if got := m.MaxSeries(catalog.DefaultMaxOrigins); got == 0 || got > catalog.MaxSeries {
			t.Errorf("%s can have %d series with %d origins, want 1 to %d", m.Name, got, catalog.DefaultMaxOrigins, catalog.MaxSeries)
		}
	}
}

// TestTenThousandHostsAreBounded is about afex/hystrix-go#95 and
// open-telemetry/opentelemetry-go-contrib#3765.
func TestTenThousandHostsAreBounded(t *testing.T) {
	r := metricsAlone(t, 0)
	const hosts = 10_000
	for i := range hosts {
		m := meta
		m.Origin = fmt.Sprintf("https://h%d.example.com:443", i)
		m.Partition = m.Origin
		r.call(m, 200)
		r.hooks.ConnClosed(t.Context(), events.ConnClosed{Meta: m, Cause: events.ConnPeer})
	}
	for name, m := range r.collect() {
		if n := len(points(t, m)); n > catalog.MaxSeries {
			t.Errorf("%s has %d series, want at most %d", name, n, catalog.MaxSeries)
		}
	}
	calls := r.at(catalog.CallDuration, attribute.String(catalog.KeyOutcome, "ok"))
	if len(calls) != catalog.DefaultMaxOrigins+1 {
		t.Errorf("%d origins have calls, want %d and the rest", len(calls), catalog.DefaultMaxOrigins)
	}
	for _, name := range []string{catalog.CallDuration, catalog.RequestDuration, catalog.ConnectionDuration} {
		rest := r.at(name, attribute.String(catalog.KeyAddress, catalog.Other), attribute.Int(catalog.KeyPort, 0))
		if len(rest) != 1 || rest[0].count != hosts-catalog.DefaultMaxOrigins {
			t.Errorf("the rest of %s is %+v, want one series of %d", name, rest, hosts-catalog.DefaultMaxOrigins)
		}
	}
}

func TestPartitionsCountAsOriginsDo(t *testing.T) {
	r := metricsAlone(t, 3)
	for i := range 5 {
		m := meta
		m.Partition = fmt.Sprintf("tenant-%d", i)
		r.call(m, 200)
	}
	if got := len(r.at(catalog.CallDuration)); got != 4 {
		t.Errorf("%d series of %s, want 3 and the rest", got, catalog.CallDuration)
	}
	if got := r.at(catalog.CallDuration, attribute.String(catalog.KeyPartition, "tenant-2"), attribute.String(catalog.KeyAddress, "api.example.com")); len(got) != 1 {
		t.Errorf("%d series of tenant-2, want 1", len(got))
	}
}

func TestPartitionsThatDifferInCaseAreOne(t *testing.T) {
	r := metricsAlone(t, 0)
	for _, p := range []string{"Tenant", "tenant", "TENANT"} {
		m := meta
		m.Partition = p
		r.call(m, 200)
	}
	if got := r.at(catalog.CallDuration); len(got) != 1 || got[0].count != 3 {
		t.Errorf("%s is %+v, want one series of 3", catalog.CallDuration, got)
	}
}

func TestStatusesPastTheBoundShareTwoSeries(t *testing.T) {
	r := metricsAlone(t, 0)
	const total = 8000
	for i := range total {
		ctx := r.hooks.CallStarted(t.Context(), events.CallStarted{Meta: meta})
		inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Method: []string{http.MethodGet, http.MethodPut, http.MethodHead, http.MethodPost}[i%4]})
		r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Status: 100 + i%900, Protocol: []string{"1.1", "2"}[i/4%2]})
	}
	all := r.at(catalog.RequestDuration)
	if limit := catalog.PerOrigin + catalog.PerOverflow + catalog.SharedCombinations(catalog.DefaultMaxOrigins); len(all) != limit {
		t.Errorf("%d series, want all %d that one origin may have", len(all), limit)
	}
	var sum uint64
	for _, p := range all {
		sum += p.count
	}
	if sum != total {
		t.Errorf("the series count %d requests, want %d", sum, total)
	}
	other := attribute.String(catalog.KeyMethod, catalog.Unknown)
	failed := r.at(catalog.RequestDuration, other, attribute.String(catalog.KeyErrorType, catalog.Unknown))
	if rest := r.at(catalog.RequestDuration, other); len(rest) != 2 || len(failed) != 1 || failed[0].count == 0 {
		t.Errorf("the rest is %+v, want one series for success and one for failure", rest)
	}

	// Another origin still has its own share.
	m := meta
	m.Origin, m.Partition = "https://b.example.com:443", "https://b.example.com:443"
	for status := range catalog.PerOrigin {
		r.call(m, 200+status)
	}
	if got := r.at(catalog.RequestDuration, attribute.String(catalog.KeyAddress, "b.example.com"), attribute.String(catalog.KeyMethod, "GET")); len(got) != catalog.PerOrigin {
		t.Errorf("another origin has %d series, want %d", len(got), catalog.PerOrigin)
	}
}

func TestASpanKeepsItsOriginAndStatusPastTheBounds(t *testing.T) {
	r := newRig(t, func(c *otelbridge.Config) { c.MaxOrigins = 1 })
	r.call(meta, 200)
	r.spans.Reset()
	m := meta
	m.Origin, m.Partition = "http://late.example.com:80", "http://late.example.com:80"
	for status := range 1000 {
		r.spans.Reset()
		r.call(m, 100+status)
	}
	ctx := r.callStarted(t.Context())
	r.hooks.CallDone(ctx, events.CallDone{Meta: m, Outcome: events.OutcomeEscaped, Status: 503})
	for _, s := range r.spans.GetSpans() {
		if len(s.Attributes) > 0 && attr(s.Attributes, catalog.KeyAddress) != "late.example.com" {
			t.Errorf("%s has %v, want its own address", s.Name, s.Attributes)
		}
		if s.Name == http.MethodGet && attr(s.Attributes, catalog.KeyStatus) != "1099" {
			t.Errorf("%s has %v, want its own status", s.Name, s.Attributes)
		}
	}
}

func TestClientsMadeUpAtRunTimeAreBounded(t *testing.T) {
	r := metricsAlone(t, 2)
	for i := range 50 {
		m := meta
		m.Client = fmt.Sprintf("c%d", i)
		r.call(m, 200)
	}
	if got := len(r.at(catalog.CallDuration)); got > 5 {
		t.Errorf("%d series for 50 clients with a bound of 2, want at most 5", got)
	}
}

// TestTheFirstFailureOfAnOriginIsARise is about cerberus#883: a counter that
// appears with its first failure shows no rise, and panels show no data before.
func TestTheFirstFailureOfAnOriginIsARise(t *testing.T) {
	r := newRig(t)
	r.callStarted(t.Context())
	got := r.collect()
	for _, m := range catalog.Metrics() {
		if m.Kind != catalog.Counter {
			continue
		}
		ps := points(t, got[m.Name])
		if len(ps) != len(m.Combinations()) {
			t.Errorf("%s has %d series before anything failed, want all %d", m.Name, len(ps), len(m.Combinations()))
		}
		for _, p := range ps {
			if p.value != 0 {
				t.Errorf("%s is born at %v with %v, want 0", m.Name, p.value, p.attrs.ToSlice())
			}
		}
	}
}

func TestAViewThatDropsACounterKeepsTheOthers(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	r := newRig(t, func(c *otelbridge.Config) {
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(
			sdkmetric.NewView(sdkmetric.Instrument{Name: catalog.CallEscapes}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})))
	})
	r.call(meta, 503)
	r.hooks.RetryArmed(t.Context(), events.RetryArmed{Meta: meta, Cause: events.CauseStatus, Waited: time.Second})
	got := collect(t, reader)
	if _, ok := got[catalog.CallEscapes]; ok {
		t.Errorf("%s is there, want it dropped", catalog.CallEscapes)
	}
	if n := len(points(t, got[catalog.RetryArmed])); n != len(events.RetryCauses()) {
		t.Errorf("%s has %d series, want %d", catalog.RetryArmed, n, len(events.RetryCauses()))
	}
}
