package events

import "slices"

// SkipReason says why a retry that the effective policy wanted was not armed.
// The zero value, "", means that none was skipped. The set is closed:
// [SkipReasons] lists it.
type SkipReason string

// The skip reasons. Bucket and deadline are the two budget reasons; the others
// are given only where the built-in classification called the outcome
// retryable.
const (
	SkipBucket   SkipReason = "bucket"   // the retry budget of the partition does not hold the cost
	SkipDeadline SkipReason = "deadline" // the wait does not fit the context's deadline, the total retry time or the Retry-After ceiling
	SkipAttempts SkipReason = "attempts" // no retries remain
	SkipBody     SkipReason = "body"     // the request body cannot be replayed
	SkipMethod   SkipReason = "method"   // the method is not idempotent
	SkipBreaker  SkipReason = "breaker"  // the breaker refused the next attempt
	SkipDisabled SkipReason = "disabled" // retries are switched off
)

// SkipReasons returns the closed set of skip reasons, in the order of the
// constants.
func SkipReasons() []SkipReason {
	return []SkipReason{SkipBucket, SkipDeadline, SkipAttempts, SkipBody, SkipMethod, SkipBreaker, SkipDisabled}
}

// ErrorClass is a closed, low-cardinality name for what went wrong. The zero
// value, "", means no error. [ErrorClasses] lists the set.
type ErrorClass string

// The error classes.
const (
	ClassDial          ErrorClass = "dial"           // connecting, or talking to a proxy, failed
	ClassDNS           ErrorClass = "dns"            // resolving the host failed
	ClassTLSHandshake  ErrorClass = "tls_handshake"  // the TLS handshake or its configuration failed
	ClassTLSTransport  ErrorClass = "tls_transport"  // TLS failed on an established connection, truncation included
	ClassStale         ErrorClass = "stale"          // a reused connection was dead
	ClassReset         ErrorClass = "reset"          // the peer reset the connection
	ClassEOF           ErrorClass = "eof"            // the peer closed the connection
	ClassTimeout       ErrorClass = "timeout"        // a deadline or an attempt timeout passed
	ClassCanceled      ErrorClass = "canceled"       // the caller canceled
	ClassProtocol      ErrorClass = "protocol"       // the response was malformed
	ClassRefusedStream ErrorClass = "refused_stream" // HTTP/2 REFUSED_STREAM
	ClassGoAway        ErrorClass = "goaway"         // HTTP/2 GOAWAY
	ClassBreaker       ErrorClass = "breaker"        // the breaker refused
	ClassThrottled     ErrorClass = "throttled"      // a remembered Retry-After did not fit
	ClassOther         ErrorClass = "other"          // everything else
)

// ErrorClasses returns the closed set of error classes, in the order of the
// constants.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{
		ClassDial, ClassDNS, ClassTLSHandshake, ClassTLSTransport, ClassStale, ClassReset, ClassEOF,
		ClassTimeout, ClassCanceled, ClassProtocol, ClassRefusedStream, ClassGoAway, ClassBreaker,
		ClassThrottled, ClassOther,
	}
}

// Outcome says how a call ended for its caller.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK        Outcome = "ok"        // the first attempt, without a resend, gave the caller's answer
	OutcomeRecovered Outcome = "recovered" // a retry or a connection recovery gave the caller's answer
	OutcomeEscaped   Outcome = "escaped"   // an error or a retryable status reached the caller
	OutcomeRejected  Outcome = "rejected"  // breaker or throttle refused before anything was sent
	OutcomeCanceled  Outcome = "canceled"  // the caller canceled
)

// Outcomes returns the closed set of call outcomes.
func Outcomes() []Outcome {
	return []Outcome{OutcomeOK, OutcomeRecovered, OutcomeEscaped, OutcomeRejected, OutcomeCanceled}
}

// RetryCause says what a retry answers.
type RetryCause string

// The causes of a retry.
const (
	CauseStatus    RetryCause = "status"    // a retryable status
	CauseThrottled RetryCause = "throttled" // 429, or 503 with Retry-After
	CauseTimeout   RetryCause = "timeout"   // an attempt timeout
	CauseTransport RetryCause = "transport" // a transport or protocol error
	CauseForced    RetryCause = "forced"    // RetryIf wanted it, the built-in classification did not
)

// RetryCauses returns the closed set of retry causes.
func RetryCauses() []RetryCause {
	return []RetryCause{CauseStatus, CauseThrottled, CauseTimeout, CauseTransport, CauseForced}
}

// BreakerState is the state of one breaker key. The zero value is
// [BreakerClosed].
type BreakerState uint8

// The breaker states.
const (
	BreakerClosed BreakerState = iota
	BreakerOpen
	BreakerHalfOpen
)

var breakerStates = [...]string{"closed", "open", "half_open"}

// String returns "closed", "open" or "half_open".
func (s BreakerState) String() string {
	if int(s) < len(breakerStates) {
		return breakerStates[s]
	}
	return "invalid"
}

// MarshalText writes the state as [BreakerState.String] does.
func (s BreakerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// BreakerStates returns the closed set of breaker states.
func BreakerStates() []BreakerState {
	return []BreakerState{BreakerClosed, BreakerOpen, BreakerHalfOpen}
}

// BreakerCause says what moved a breaker from one state to another.
type BreakerCause string

// The causes of a breaker transition.
const (
	BreakerStreak   BreakerCause = "streak"   // consecutive failures
	BreakerRate     BreakerCause = "rate"     // the failure rate of the window
	BreakerByProbe  BreakerCause = "probe"    // the probe's result
	BreakerCooldown BreakerCause = "cooldown" // the cooldown is over
	BreakerLease    BreakerCause = "lease"    // a probe's lease ran out or was given back
)

// BreakerCauses returns the closed set of transition causes.
func BreakerCauses() []BreakerCause {
	return []BreakerCause{BreakerStreak, BreakerRate, BreakerByProbe, BreakerCooldown, BreakerLease}
}

// Settlement says what became of a budget reservation.
type Settlement string

// The settlements of a reservation.
const (
	SettledRefund  Settlement = "refund"  // everything went back, or the profile's success cost was kept
	SettledPartial Settlement = "partial" // the failure cost was kept
	SettledCharge  Settlement = "charge"  // everything was kept
)

// Settlements returns the closed set of settlements.
func Settlements() []Settlement { return []Settlement{SettledRefund, SettledPartial, SettledCharge} }

// StreamReason is the terminal reason of an event stream. Exactly one is given
// per stream.
type StreamReason string

// The terminal reasons of a stream.
const (
	StreamEnded          StreamReason = "ended"           // the server ended the stream in order
	StreamClosedByCaller StreamReason = "closed"          // the caller stopped reading
	StreamCanceled       StreamReason = "canceled"        // the caller's context was canceled
	StreamDeadline       StreamReason = "deadline"        // the caller's context deadline passed
	StreamConnectTimeout StreamReason = "connect_timeout" // no connection in time
	StreamHeaderTimeout  StreamReason = "header_timeout"  // no response headers in time
	StreamIdle           StreamReason = "idle"            // silence for longer than the read-idle timeout
	StreamTotalBytes     StreamReason = "total_bytes"     // the cap on all bytes was passed
	StreamLineBytes      StreamReason = "line_bytes"      // the cap on one line was passed
	StreamEventBytes     StreamReason = "event_bytes"     // the cap on one event was passed
	StreamStatus         StreamReason = "status"          // the response's status was not 200
	StreamContentType    StreamReason = "content_type"    // the response was not text/event-stream
	StreamEncoding       StreamReason = "encoding"        // the response had a content encoding that is not decoded
	StreamTransport      StreamReason = "transport"       // the connection failed
	StreamRejected       StreamReason = "rejected"        // breaker or throttle refused to open it
)

// StreamReasons returns the closed set of terminal reasons.
func StreamReasons() []StreamReason {
	return []StreamReason{
		StreamEnded, StreamClosedByCaller, StreamCanceled, StreamDeadline, StreamConnectTimeout,
		StreamHeaderTimeout, StreamIdle, StreamTotalBytes, StreamLineBytes, StreamEventBytes,
		StreamStatus, StreamContentType, StreamEncoding, StreamTransport, StreamRejected,
	}
}

// ConnCause says why a connection was closed.
type ConnCause string

// The causes of a connection's end.
const (
	ConnIdleTimeout ConnCause = "idle_timeout" // IdleConnTimeout passed
	ConnLifetime    ConnCause = "lifetime"     // MaxConnLifetime passed
	ConnLimit       ConnCause = "limit"        // no room among the idle connections
	ConnPeer        ConnCause = "peer"         // the server closed or reset it
	ConnGoAway      ConnCause = "goaway"       // the server asked to leave
	ConnError       ConnCause = "error"        // a request on it failed
	ConnCanceled    ConnCause = "canceled"     // a request on it was canceled, or its body was closed early
	ConnReplaced    ConnCause = "replaced"     // its slot went to a forced fresh dial
	ConnPing        ConnCause = "ping"         // it did not answer a health check
	ConnNoReuse     ConnCause = "no_reuse"     // keep-alives are off, or one side said Connection: close
	ConnUpgraded    ConnCause = "upgraded"     // it ended as a raw stream after 101 or CONNECT
	ConnShutdown    ConnCause = "shutdown"     // the pool closed its idle connections or shut down
)

// ConnCauses returns the closed set of causes of a connection's end.
func ConnCauses() []ConnCause {
	return []ConnCause{
		ConnIdleTimeout, ConnLifetime, ConnLimit, ConnPeer, ConnGoAway, ConnError, ConnCanceled,
		ConnReplaced, ConnPing, ConnNoReuse, ConnUpgraded, ConnShutdown,
	}
}

// RetryableStatus reports whether status is one of 408 429 500 502 503 504,
// the statuses that the built-in policy retries and that count as an escape
// when they reach the caller.
func RetryableStatus(status int) bool { return slices.Contains(retryable[:], status) }

var retryable = [...]int{408, 429, 500, 502, 503, 504}
