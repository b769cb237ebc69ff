package otelbridge_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestManyGoroutinesLoseNoCount(t *testing.T) {
	const workers, calls, origins, limit = 8, 100, 20, 10
	r := newRig(t, func(c *otelbridge.Config) { c.MaxOrigins = limit })
	r.observed(meta.Client, sources(meta))
	ctx := context.Background()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range calls {
				m := meta
				m.Origin = fmt.Sprintf("http://h%d.test:80", (w+i)%origins)
				m.Partition = m.Origin
				call := r.hooks.CallStarted(ctx, events.CallStarted{Meta: m})
				attempt := r.hooks.AttemptStarted(call, events.AttemptStarted{Meta: m, Attempt: 1, Method: "GET"})
				r.hooks.ConnStale(attempt, events.ConnStale{Meta: m, Class: events.ClassEOF})
				r.hooks.AttemptDone(attempt, events.AttemptDone{Meta: m, Attempt: 1, Status: 200 + i%20})
				r.hooks.RetryArmed(call, events.RetryArmed{Meta: m, Cause: events.CauseStatus})
				r.hooks.CallDone(call, events.CallDone{Meta: m, Outcome: events.OutcomeEscaped, Status: 503})
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				var rm metricdata.ResourceMetrics
				if err := r.reader.Collect(ctx, &rm); err != nil {
					t.Error(err)
				}
				stop, err := r.bridge.Observe("other", sources(meta))
				if err != nil {
					t.Error(err)
					return
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for name, kvs := range map[string][]attribute.KeyValue{
		catalog.RetryArmed:  nil,
		catalog.ConnStale:   nil,
		catalog.CallEscapes: {attribute.String(catalog.KeySkipReason, catalog.None)},
	} {
		sum := 0.0
		for _, p := range r.at(name, kvs...) {
			sum += p.value
		}
		if sum != workers*calls {
			t.Errorf("%s is %v in all, want %d", name, sum, workers*calls)
		}
	}
	var requests uint64
	for _, p := range r.at(catalog.RequestDuration) {
		requests += p.count
	}
	if requests != workers*calls {
		t.Errorf("%s counts %d requests, want %d", catalog.RequestDuration, requests, workers*calls)
	}
	if n := len(r.spans.GetSpans()); n != 3*workers*calls {
		t.Errorf("%d spans, want %d", n, 3*workers*calls)
	}
}
