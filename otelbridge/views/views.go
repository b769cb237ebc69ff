package views

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Lean returns the views of [catalog.Lean], ready for sdkmetric.WithView. It
// says there what they leave out and how many series that saves; the alert
// rules keep working.
func Lean() []sdkmetric.View {
	lean := catalog.Lean()
	out := make([]sdkmetric.View, len(lean))
	for i, v := range lean {
		m, _ := catalog.Lookup(v.Metric)
		out[i] = view(m, v)
	}
	return out
}

// Of returns the SDK's views for a choice of one's own, one for each of the
// given ones and in their order: [catalog.Lean] without or with some, or others
// altogether. [catalog.SeriesPerOrigin] tells what they save.
//
// The error names every view that would not do what it says: of a metric that
// is not in the catalogue, of one that has a view already, one that keeps an
// attribute that the metric has not, that takes attributes from a gauge, whose
// values cannot be added, that gives buckets to what is no histogram, whose
// buckets are not finite and increasing, that both drops and changes, or that
// changes nothing. Then there are no views.
func Of(views ...catalog.View) ([]sdkmetric.View, error) {
	var errs []error
	seen := map[string]bool{}
	out := make([]sdkmetric.View, 0, len(views))
	for _, v := range views {
		m, err := check(v, seen)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen[v.Metric] = true
		out = append(out, view(m, v))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// view returns the SDK's view for v, which is a correct one of m.
func view(m catalog.Metric, v catalog.View) sdkmetric.View {
	var stream sdkmetric.Stream
	switch {
	case v.Drop:
		stream.Aggregation = sdkmetric.AggregationDrop{}
	case v.Buckets != nil:
		stream.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{Boundaries: v.Buckets} // NewView copies them
	}
	if loses(m, v) { // a filter costs every measurement
		keys := make([]attribute.Key, len(v.Keep))
		for i, k := range v.Keep {
			keys[i] = attribute.Key(k)
		}
		stream.AttributeFilter = attribute.NewAllowKeysFilter(keys...)
	}
	return sdkmetric.NewView(sdkmetric.Instrument{
		Name:  m.Name,
		Scope: instrumentation.Scope{Name: otelbridge.ScopeName},
	}, stream)
}
