// Package demo puts the demonstration together: the stage with its
// instrumented client, the SDK, the collector, Prometheus.
//
//	client -> SDK -> OTLP -> collector -> Prometheus exporter -> scrape -> TSDB, rules
//	                                   -> span_metrics, latest traces
//
// All of it is real but the past: [Demo.Backfill] makes the calls of some
// minutes within a second or two and takes each second's metrics through the
// same client, SDK, collector and exporter; only the time at which the scrape
// is stored is made up. Durations are measured ones.
//
// [Demo.Step] goes on like that instead of [Demo.Run]: whole stories pass within
// seconds, and in the same order on every machine.
//
// With Config.Endpoint telemetry goes to a collector outside instead. There is
// none inside then: Prometheus scrapes the SDK's own exporter, which gives the
// same names, and no traces are kept.
//
// The dashboards and rules are those of package dashboards for scrapes and
// evaluations every [Interval]; the committed ones, for every 15 s, differ in
// windows and waits alone.
package demo
