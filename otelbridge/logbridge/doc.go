// Package logbridge writes a client's lifecycle events to log/slog, for those
// who want to see retries, refusals and escapes without OpenTelemetry. It links
// the standard library and package events alone.
//
// # What is logged
//
// Nothing on the healthy path. Debug is not used.
//
//	Error  a call whose caller got an error or a retryable status
//	Warn   a retry that was wanted and not armed, a call that breaker or throttle
//	       refused, a breaker that opened, a lost store, a stream that failed
//	Info   an attempt that failed and is retried, a request that recovered from a
//	       dead connection, a throttle that was remembered or waited for, other
//	       changes of a breaker, a store that is back, a connection that failed,
//	       a reload
//
// # Contract
//
// Records carry the attributes client, origin, partition (where it is not the
// origin) and call (inside a call), then those of the event; durations are
// [time.Duration] values. No record holds a URL, a header's value, a body or an
// error's text. The handler gets the context of the event, so that it can add
// the trace. Hooks run on the call's goroutine: a handler that blocks delays
// the call. A level that the handler does not enable costs nothing but asking.
package logbridge
