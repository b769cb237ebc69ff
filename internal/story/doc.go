// Package story is the scenario that every demonstration and proof of this
// module plays: upstreams that fall ill in known ways, a steady load, and the
// phases in which the one meets the other. It holds no telemetry and no client
// of its own; the load goes through whatever *http.Client it is given.
//
// An [Upstream] is a real net/http server. Its ills are switched at run time
// with [Upstream.Set]; all are decided by a seeded generator, so a run can be
// repeated. [Run] plays phases; [Load] sends requests. Both stop when their
// context ends and leave no goroutine behind.
package story
