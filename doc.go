// Package plimsoll is the root of an HTTP client that shows how much it can
// still take: every retry, refund, refusal, stale connection and breaker
// transition is an event, a span and a metric, so that a draining retry budget
// is visible before a failure reaches the caller.
//
// This package holds no code. Start with the client:
//
//	c, err := client.New(client.Config{})
//	resp, err := c.Get("https://api.example.com/")
//
// # Packages
//
//   - client: the drop-in *http.Client and http.RoundTripper: attempts, retries,
//     streams, reload.
//   - events: what happens inside, as typed values; events/eventstest records and
//     asserts them in tests.
//   - budget: the retry token bucket, the total retry time, remembered Retry-After.
//   - breaker: the circuit breaker; breaker/redisstore shares it between processes,
//     breaker/breakertest is the conformance suite of its stores.
//   - pool: the connection pool with stale-connection recovery, and the error taxonomy.
//   - sse: the Server-Sent Events parser.
//   - otelbridge: events to OpenTelemetry spans and metrics; otelbridge/catalog
//     lists every metric as data.
//   - dashboards: Grafana dashboards and Prometheus rules generated from that catalog.
//
// budget, breaker, pool and sse work without the client. Imports point one way
// only, from client down to events; the module links the OpenTelemetry API and
// never its SDK, so an application without telemetry pays for none.
package plimsoll

//go:generate go run ./internal/readme
//go:generate go run ./internal/configref
