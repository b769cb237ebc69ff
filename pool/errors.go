package pool

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// ErrClosed is what requests get after [Transport.Close] or during and after
// [Transport.Shutdown]. Nothing was sent.
var ErrClosed = errors.New("pool: transport is closed")

// The phases of a [DialError].
const (
	PhaseDNS     = "dns"     // resolving the host name
	PhaseConnect = "connect" // connecting to the address
	PhaseProxy   = "proxy"   // connecting to, or negotiating with, the proxy
)

// DialError says that no connection could be established. Nothing was sent.
type DialError struct {
	Phase  string // PhaseDNS, PhaseConnect or PhaseProxy
	Origin string // normalised scheme://host:port of the request
	Err    error  // the cause
}

// Error names phase, origin and cause.
func (e *DialError) Error() string {
	return fmt.Sprintf("pool: dial %s (%s): %v", e.Origin, e.Phase, e.Err)
}

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *DialError) Timeout() bool { return isTimeout(e.Err) }

// TLSHandshakeError says that the TLS handshake with the server, or with an
// HTTPS proxy, failed, or that the TLS configuration does not allow one.
// Nothing was sent.
type TLSHandshakeError struct {
	Origin string // normalised scheme://host:port of the request
	Err    error  // the cause
}

// Error names origin and cause.
func (e *TLSHandshakeError) Error() string {
	return fmt.Sprintf("pool: TLS handshake for %s: %v", e.Origin, e.Err)
}

// Unwrap returns the cause.
func (e *TLSHandshakeError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *TLSHandshakeError) Timeout() bool { return isTimeout(e.Err) }

// The boundaries of a [TLSTransportError].
const (
	OpRoundTrip    = "round trip"    // between the request and the response's header
	OpResponseBody = "response body" // while the response's body was read
	OpStream       = "stream"        // on the raw stream after 101 or CONNECT
)

// TLSTransportError says that an established TLS connection failed: the peer
// sent an alert, a record was damaged, the socket was reset, or the stream
// ended without close_notify.
type TLSTransportError struct {
	Op        string // OpRoundTrip, OpResponseBody or OpStream
	Origin    string // normalised scheme://host:port of the request
	Truncated bool   // the stream ended without close_notify (RFC 8446, section 6.1)
	Err       error  // the cause
}

// Error names boundary, origin and cause.
func (e *TLSTransportError) Error() string {
	return fmt.Sprintf("pool: TLS connection to %s failed (%s): %v", e.Origin, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *TLSTransportError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *TLSTransportError) Timeout() bool { return isTimeout(e.Err) }

// StaleConnError says that a request failed on a reused connection before any
// byte of a response, and that it was not sent again: its method is not
// idempotent, its body cannot be replayed, or recovery is off.
type StaleConnError struct {
	Origin         string            // normalised scheme://host:port
	Conn           uint64            // number of the dead connection, as in the events
	Try            int               // 1-based number of the dead acquisition
	Class          events.ErrorClass // class of the cause
	NothingWritten bool              // certainly no byte of the request reached the socket
	Err            error             // the cause
}

// Error names origin, connection, try and cause.
func (e *StaleConnError) Error() string {
	return fmt.Sprintf("pool: reused connection %d to %s was dead (try %d): %v", e.Conn, e.Origin, e.Try, e.Err)
}

// Unwrap returns the cause.
func (e *StaleConnError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *StaleConnError) Timeout() bool { return isTimeout(e.Err) }

// WaitError says that a request queued for a connection longer than
// [Config].MaxConnWait. Nothing was sent.
type WaitError struct {
	Origin  string        // normalised scheme://host:port
	Waited  time.Duration // how long the request queued
	Limit   int           // the base's MaxConnsPerHost
	Waiting int           // requests that still queue for this origin
}

// Error gives all numbers.
func (e *WaitError) Error() string {
	return fmt.Sprintf("pool: no connection to %s within %v: all %d (MaxConnsPerHost) are in use and %d more requests wait", e.Origin, e.Waited, e.Limit, e.Waiting)
}

// Timeout is true.
func (e *WaitError) Timeout() bool { return true }

// unsentError marks an error after which certainly no byte of the request had
// reached the socket. It reads as its cause.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }
func (e *unsentError) Timeout() bool { return isTimeout(e.err) }
