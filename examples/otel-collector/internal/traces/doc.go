// Package traces keeps the latest traces that the collector was given, for the
// page's waterfall.
//
// A trace is shown once its root span has arrived; what comes late is added.
// A [Store] keeps the latest Limit traces in which nothing happened, and as
// many in which something did: a retry, a recovery, a refusal, an error. It is
// safe for concurrent use.
package traces
