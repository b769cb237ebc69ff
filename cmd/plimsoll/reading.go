package main

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// reading is what the metrics say of one origin.
type reading struct {
	tokens, capacity  int64
	calls             int64
	retries           int64
	recoveries        int64
	escapes           int64
	throttled         int64
	skipped           map[string]int64 // by reason
	reserved, kept    int64
	refunded, earned  int64
	openConns, queued int64
}

// readMetrics collects from the SDK and sorts by origin, host:port.
func readMetrics(ctx context.Context, r sdkmetric.Reader) (map[string]reading, error) {
	var data metricdata.ResourceMetrics
	if err := r.Collect(ctx, &data); err != nil {
		return nil, err
	}
	readings := map[string]reading{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			each(m.Data, func(set attribute.Set, n int64) {
				host := text(set, catalog.KeyAddress)
				if port, ok := set.Value(catalog.KeyPort); ok {
					host = net.JoinHostPort(host, strconv.FormatInt(port.AsInt64(), 10))
				}
				o := readings[host]
				o.add(m.Name, set, n)
				readings[host] = o
			})
		}
	}
	return readings, nil
}

func (o *reading) add(name string, set attribute.Set, n int64) {
	switch name {
	case catalog.BudgetTokens:
		o.tokens += n
	case catalog.BudgetCapacity:
		o.capacity += n
	case catalog.CallDuration:
		o.calls += n
	case catalog.CallEscapes:
		o.escapes += n
	case catalog.RetryArmed:
		o.retries += n
	case catalog.RetrySkipped:
		if n > 0 {
			if o.skipped == nil {
				o.skipped = map[string]int64{}
			}
			o.skipped[text(set, catalog.KeySkipReason)] += n
		}
	case catalog.ConnRecoveries:
		o.recoveries += n
	case catalog.ThrottleRecorded:
		o.throttled += n
	case catalog.BudgetReserved:
		o.reserved += n
	case catalog.BudgetKept:
		o.kept += n
	case catalog.BudgetRefunded:
		o.refunded += n
	case catalog.BudgetReplenished:
		o.earned += n
	case catalog.OpenConnections:
		o.openConns += n
	case catalog.ConnWaiting:
		o.queued += n
	}
}

// each visits the points of an instrument; a histogram's number is its count.
func each(data metricdata.Aggregation, visit func(attribute.Set, int64)) {
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, p.Value)
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			visit(p.Attributes, int64(p.Count))
		}
	}
}

func text(set attribute.Set, key attribute.Key) string {
	v, _ := set.Value(key)
	return v.String()
}

// spanCount counts the spans that ended; it stands where an exporter would.
type spanCount struct{ n atomic.Int64 }

func (*spanCount) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s *spanCount) OnEnd(sdktrace.ReadOnlySpan)                   { s.n.Add(1) }
func (*spanCount) Shutdown(context.Context) error                  { return nil }
func (*spanCount) ForceFlush(context.Context) error                { return nil }
