// Package proof holds the dashboards and rules of package dashboards against
// the real client: its metrics leave through OpenTelemetry's SDK and Prometheus
// exporter, or through OTLP and a collector, into Prometheus's own storage,
// query engine and rule engine.
//
// It is a module of its own, since it links what the root module must not, and
// holds tests and what they need. Nothing here sleeps: clients, upstreams and
// scrapes run in testing/synctest bubbles, and Prometheus is given their times.
//
// # How a proof runs
//
// [Play] runs a drive (a client, an upstream, a load) in a bubble and scrapes it
// every 15 virtual seconds into a [Run]. [Judge] replays a Run: after each
// scrape it evaluates the committed rule files as Prometheus would, and notes
// when which alert began and ended to fire. [Storage] answers the queries of
// panels. What a run emitted is known from its scrapes alone ([Run.Emitted]);
// no list of metrics is written by hand.
package proof
