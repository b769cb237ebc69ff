package views_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/otelbridge/views"
)

// A client takes the MeterProvider in client.Config.Telemetry, and makes the
// bridge by itself. This example plays the client: two connections were dead,
// each in its own way, and one call took 70 ms.
func ExampleLean() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(views.Lean()...))
	bridge, err := otelbridge.New(otelbridge.Config{MeterProvider: provider, DisableTraces: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bridge.Close()

	ctx, h := context.Background(), bridge.Hooks()
	m := events.Meta{Client: "shop", Origin: "https://api.test:443"}
	h.ConnStale(ctx, events.ConnStale{Meta: m, Class: events.ClassEOF})
	h.ConnStale(ctx, events.ConnStale{Meta: m, Class: events.ClassReset})
	h.CallDone(ctx, events.CallDone{Meta: m, Outcome: events.OutcomeOK, Duration: 70 * time.Millisecond})

	for _, p := range metric(reader, catalog.ConnStale).Data.(metricdata.Sum[int64]).DataPoints {
		fmt.Println(p.Value, p.Attributes.Encoded(attribute.DefaultEncoder()))
	}
	for _, p := range metric(reader, catalog.CallDuration).Data.(metricdata.Histogram[float64]).DataPoints {
		fmt.Println(p.Count, p.Bounds)
	}
	// Output:
	// 2 plimsoll.client=shop,server.address=api.test,server.port=443
	// 1 [0.005 0.025 0.1 0.25 1 2.5 10 60 300]
}

// The ready-made choice, but the bytes of streams stay, and of the waits before
// retries no more than their number and sum.
func ExampleOf() {
	var chosen []catalog.View
	for _, v := range catalog.Lean() {
		switch v.Metric {
		case catalog.StreamBytes:
			continue
		case catalog.RetryDelay:
			v.Buckets = []float64{}
		}
		chosen = append(chosen, v)
	}
	list, err := views.Of(chosen...)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = sdkmetric.NewMeterProvider(sdkmetric.WithView(list...))
	fmt.Println(len(list), "views leave", catalog.SeriesPerOrigin(chosen...), "series per origin")

	_, err = views.Of(catalog.View{Metric: "plimsoll.retry.delays", Drop: true})
	fmt.Println(err)
	// Output:
	// 11 views leave 239 series per origin
	// views: View.Metric is "plimsoll.retry.delays", which is not in the catalogue: take a name from package catalog, such as catalog.CallDuration
}

// metric reads one metric, or the zero value if it is not there.
func metric(reader sdkmetric.Reader, name string) metricdata.Metrics {
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		fmt.Println(err)
		return metricdata.Metrics{}
	}
	for _, scope := range rm.ScopeMetrics {
		if i := slices.IndexFunc(scope.Metrics, func(m metricdata.Metrics) bool { return m.Name == name }); i >= 0 {
			return scope.Metrics[i]
		}
	}
	return metricdata.Metrics{}
}
