// Package telemetry is the OpenTelemetry SDK of the demonstration: spans and
// metrics leave through OTLP over gRPC, metrics once in every [Interval].
//
// A Providers may be given a second way, History. As long as [Providers.Live]
// was not called, metrics leave that way, and only when [Providers.Step] is
// called: that is how a past is made, a second at a time, in less than a
// second each. Spans always leave the first way.
//
// With Config.Scrape metrics can be read from Providers.Metrics as well, in
// Prometheus's format and with the names that the collector gives them.
package telemetry
