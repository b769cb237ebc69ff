// Package catalog declares, as data, everything that a plimsoll client reports
// through OpenTelemetry: every metric with its kind, unit, description,
// attributes, closed value sets and buckets ([Metrics]), every lifecycle event
// with the span and the metrics that stand for it ([Events]), and ready-made
// reductions of both for those who want fewer series ([Lean]).
//
// # Contract
//
// The catalogue is the only declaration. The bridge creates its instruments
// from it, the documentation, the dashboards and the alert rules are generated
// from it, and a test holds the emitted telemetry against it: nothing is
// emitted that is not declared here, with exactly these attribute keys and
// values.
//
// The package holds no state, starts nothing, and links neither the
// OpenTelemetry API nor its SDK. What the functions return is the caller's to
// keep, but its slices are shared and must not be changed.
//
// # Cardinality
//
// A scope is what a series belongs to: a client, one of its origins, or one of
// its partitions. Attributes hold an address, a port, names from closed sets
// and, for partitions that are not the origin, the key that the user's
// Partition function gives; never paths, queries, header values or error
// texts. [Metric.Combinations] lists the legal combinations of the other
// attributes, and [Metric.MaxSeries] bounds the series of one instrument.
package catalog

//go:generate go run ./gendocs -o ../../docs/telemetry.md
