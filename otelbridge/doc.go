// Package otelbridge turns a client's lifecycle events into OpenTelemetry spans
// and metrics, and carries the trace context to the server. It needs the
// OpenTelemetry API alone: which SDK, exporters, samplers and views there are is
// the application's choice.
//
// The client makes a [Bridge] by itself; an application needs this package for
// [Config], which it hands to the client, or to observe a pool that it uses
// alone.
//
// # Spans
//
// Every attempt is one CLIENT span by the HTTP conventions of OpenTelemetry
// (semantic conventions 1.43): it ends at the response headers, and so does
// http.client.request.duration. The attempts of a call are the children of one
// INTERNAL span, plimsoll.call, which ends with the response body; the
// conventions forbid an HTTP client span around several HTTP client spans.
// Waits before a retry, waits for a throttle and recoveries from dead
// connections are INTERNAL spans inside it, written when they are over. All
// other events are span events on the span of the attempt, else of the call;
// outside a call they become INTERNAL spans without length. A call's span is a
// child of the caller's. The instrumentation scope of the spans of a call names
// the client, as plimsoll.client.
//
// url.full has neither credentials nor query. The attributes of a span are
// given in one piece when it ends, which is what makes two spans per call
// affordable; a sampler sees name and kind. Config.StartAttributes gives those
// that the HTTP conventions name for sampling at the start. The span of a call
// that needed no more than its first attempt has none but a partition that is
// not the origin: its attempt's span, if it is sampled, says the rest.
//
// A sampler is asked for every call. For the attempts of calls that it dropped
// it is asked until it has dropped 64 of them of the same name, and then for one
// in 16; once it has wanted one, or with Config.StartAttributes, for all of
// them. An attempt for which it is not asked tells the server of the call's
// span, as not sampled.
//
// The request method is known if it is in
// OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS (a comma-separated list, read by
// [New]), by default in the list of the conventions; else it is reported as
// _OTHER.
//
// # Metrics
//
// Package catalog declares them. Levels, states and counts of what exists are
// read from [Sources] when a reader collects; the others are recorded when the
// event happens, with the context that holds the span, so that exemplars find
// it. Of healthy calls and requests of up to 5 ms, the fastest bucket, few are
// recorded so and the others without the span: the SDK keeps one exemplar for a
// bucket and collection (see Config.AllExemplars). All counters of an origin
// are born at zero when it is first seen.
//
// The number of series is bounded: MaxOrigins partitions of origins are told
// apart, and what comes after them is reported with the address "_other". Of
// levels in "_other" the lowest is reported, of breaker states the worst.
// http.client.request.duration has an open set of statuses; each partition may
// have catalog.PerOrigin combinations in any case, and more as long as those of
// all partitions stay within catalog.MaxSeries. Past that, a combination is
// reported with the method _OTHER, without a status, and with the error type
// _OTHER if it failed. Package views has views for the SDK for those who want
// fewer series.
//
// # Order, goroutines, panics
//
// The hooks do their work on the goroutine on which the event happens; they
// take no lock that is held while foreign code runs, and wait for nothing but
// what the SDK does. They find their state in the context that
// [events.Hooks].CallStarted and AttemptStarted returned; without it, metrics
// are complete but for the request's method, and events stand alone.
//
// A propagator, a SpanName function or a source that panics is recovered,
// counted in plimsoll.hook.panics and handed to Config.OnPanic; the call goes
// on. Panics inside the SDK, such as of a sampler, are not recovered.
//
// [Bridge.Close] and the stop functions of [Bridge.Observe] wait for no reader,
// so they may be called under a lock that a source takes.
package otelbridge
