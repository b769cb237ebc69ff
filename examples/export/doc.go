// Package export shows the two ways by which a service's plimsoll telemetry
// leaves it: pushed through OTLP to a collector, or scraped by a Prometheus.
// Copy the function that fits; the examples run both.
//
// The client reports through the OpenTelemetry API alone. An application that
// sets no SDK pays for none; one that has set the SDK's providers globally needs
// nothing of this and gets the client's spans and metrics beside its own.
package export
