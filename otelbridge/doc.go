// Package otelbridge turns a client's lifecycle events into OpenTelemetry spans
// and metrics.
package otelbridge
