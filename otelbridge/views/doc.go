// Package views makes metric views of OpenTelemetry's SDK from those of package
// catalog, for users who want fewer series. It is the one package of otelbridge
// that links the SDK: neither the bridge nor the client imports it, the
// application does where it builds its MeterProvider.
//
//	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(views.Lean()...))
//
// # Contract
//
// A view matches the instrument of that name in the instrumentation scope
// [otelbridge.ScopeName] alone, exactly and without wildcards. So the metrics of
// other libraries are untouched, those of the same name too, such as otelhttp's
// http.client.request.duration.
//
// Name, description and unit of a metric stay. Where a view leaves an attribute
// out, the SDK adds the values of the series that become the same; an exemplar
// still holds what was left out. Where a view has buckets, they are explicit
// ones, even if the reader would make exponential histograms.
//
// The SDK applies every view that matches, and each makes a stream of its own:
// two views of one metric make it twice. [Of] refuses them; a view of the
// application's own besides these is the application's to avoid. Views hold for
// all readers of a MeterProvider.
//
// The functions keep no state, start nothing and block on nothing. What they
// return is safe for concurrent use, as the SDK needs it, and shares no memory
// with what they were given.
package views
