// Command otel-collector is plimsoll's demonstration with everything that
// belongs to it in one process: an instrumented client under load, upstreams
// that fall ill at the press of a button, the OpenTelemetry SDK, a real
// Collector, a real Prometheus with the generated rules, and a page on
// loopback that draws the generated Grafana dashboards live.
//
//	make demo-web                          # or, in this folder: go run .
//	go run . -headless                     # the story without a page: lead time, summary, exit status
//	go run . -duration 2m                  # the page, and the story plays by itself
//	go run . -otlp-endpoint 127.0.0.1:4317 # telemetry to a collector of your own
//	go run . -redis 127.0.0.1:6379         # breaker gates shared through Redis
//
// The exit status is 0 if all went well; 1 after an error, and with -headless
// if the alert did not come before the first failure or settled accounting did
// not hold; 2 if the flags make no sense.
//
// Two further commands serve docker-compose.yml: "upstream" is the orders
// service alone, falling ill by itself, and "health URL..." exits with 1 unless
// each answers with 2xx (tcp://HOST:PORT: accepts).
package main
