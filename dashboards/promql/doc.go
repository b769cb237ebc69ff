// Package promql builds PromQL from the metric catalogue, so that a panel or a
// rule cannot name a metric, a label or a value that no client emits.
//
// A [Source] holds what every selector has in common, such as the labels of
// one cluster. [Source.Of] selects the series of a catalogue metric; the
// methods of [Series] turn them into an expression, and the functions and
// methods of [Expr] combine expressions. Keys are OpenTelemetry attribute
// keys, as in the catalogue; the label names of Prometheus are derived.
//
// # Contract
//
// Expressions are values: every method returns a new one, and all of them may
// be used from several goroutines. Nothing here panics, blocks or reads the
// clock. A mistake (a metric that the catalogue doesn't know, a rate of a
// gauge, a value outside an attribute's closed set, a label that the metric
// doesn't have) is carried along and returned by [Expr.Err]; the first one
// wins. An expression with an error renders as its error's text in a comment,
// which no Prometheus accepts.
//
// What is built here is accepted by Prometheus 2.42 and later. [Text] is the
// way out for expressions over metrics that are not plimsoll's.
package promql
