// Command scrape is a service whose metrics a Prometheus scrapes, with no
// collector between: the OpenTelemetry SDK with its Prometheus exporter.
//
//	go run . -listen 127.0.0.1:9464       # then scrape http://127.0.0.1:9464/metrics
//
// It calls an upstream of its own ten times a second, some of whose answers are
// 503. prometheus.yaml in this folder is a configuration that scrapes it and
// loads the generated rules; the generated dashboards work with both as they
// are. The strategy UnderscoreEscapingWithSuffixes is set explicitly: the
// names are then those that a collector gives.
package main
