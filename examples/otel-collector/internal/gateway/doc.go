// Package gateway is a real OpenTelemetry Collector inside the process: OTLP in
// over gRPC, batches, metrics from spans, and a Prometheus exporter out. Its
// configuration is collector.yaml, the file that is embedded here, with free
// ports of loopback put in.
//
// The latest traces are kept by an exporter of this program's own,
// latest_traces: package traces. The collector logs warnings and errors only.
// [Factories] are its components; a test loads the configuration of
// docker-compose.yml with them.
package gateway
