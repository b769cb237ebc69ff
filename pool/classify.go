package pool

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/plimsoll-http/plimsoll/events"
)

// Texts of errors that net/http does not export. Each is a documented constant
// of net/http and is pinned by a test that provokes it end to end.
const (
	textServerClosedIdle = "http: server closed idle connection"
	textUnusable         = "http2: client conn not usable"
	textNotEstablished   = "http2: client conn could not be established"
	textForceClosed      = "http2: client connection force closed via ClientConn.Close"
	textConnLost         = "http2: client connection lost"
	textClientConnClosed = "ClientConn closed"
	textReadFromServer   = "net/http: Transport failed to read from server: "
	textGracefulGoAway   = "http2: Transport received Server's graceful shutdown GOAWAY"
	textGoAwayCode       = "http2: Transport received GOAWAY from server ErrCode:"
	textGoAwayClosed     = "http2: server sent GOAWAY and closed the connection;"
	textH2ConnError      = "connection error: "
	textMalformed        = "malformed "
	textRequestCanceled  = "net/http: request canceled"
	textFromPeer         = "received from peer"
	textFrameTooLarge    = "http2: frame too large"
	textTrailerEOF       = "http: unexpected EOF reading trailer"
	textTrailerTooLong   = "http: suspiciously long trailer after chunked body" // or one that was cut
	textChunkLength      = "invalid byte in chunk length"
	textChunkNoLength    = "empty hex number for chunk length"
	textChunkTooLarge    = "http chunk length too large"
	textChunkLF          = "chunked line ends with bare LF"
	textChunkCR          = "invalid CR in chunked line"
	textChunkExcess      = "chunked encoding contains too much non-data"
)

// kind is a set of what was found in an error's tree.
type kind uint32

const (
	kindStale kind = 1 << iota
	kindWait
	kindClosed // the pool is closed
	kindDial
	kindDNS
	kindHandshake
	kindTransport
	kindTruncated
	kindUnsent
	kindCanceled
	kindDeadline // the context's deadline
	kindTimeout
	kindRefused
	kindGoAway
	kindGraceful
	kindUnusable
	kindLost // an HTTP/2 connection did not answer a PING
	kindReset
	kindEOF
	kindProtocol
)

// kindsOf walks the whole tree of err, through every Unwrap.
func kindsOf(err error) kind {
	var ks kind
	for err != nil {
		ks |= kindOf(err)
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				ks |= kindsOf(e)
			}
			return ks
		default:
			return ks
		}
	}
	return ks
}

// kindOf says what err is, without looking into it.
func kindOf(err error) kind {
	switch err {
	case context.Canceled:
		return kindCanceled
	case context.DeadlineExceeded:
		return kindDeadline | kindTimeout
	case ErrClosed:
		return kindClosed | kindUnsent
	case io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe:
		return kindEOF
	case os.ErrDeadlineExceeded:
		return kindTimeout
	case errTruncated:
		return kindTruncated
	case errCanceled:
		return kindCanceled
	}
	switch e := err.(type) {
	case *StaleConnError:
		if e.NothingWritten {
			return kindStale | kindUnsent
		}
		return kindStale
	case *WaitError:
		return kindWait | kindUnsent
	case *DialError:
		if e.Phase == PhaseDNS {
			return kindDNS | kindUnsent
		}
		return kindDial | kindUnsent
	case *TLSHandshakeError:
		return kindHandshake | kindUnsent
	case *TLSTransportError:
		if e.Truncated {
			return kindTransport | kindTruncated
		}
		return kindTransport
	case *unsentError:
		return kindUnsent
	case *net.DNSError:
		return kindDNS | timeoutKind(e)
	case syscall.Errno:
		return errnoKind(e) | timeoutKind(e)
	case *http.ProtocolError, textproto.ProtocolError: //nolint:staticcheck // net/http returns some still
		return kindProtocol
	}
	if code, fromPeer, ok := streamErrorOf(err); ok {
		switch {
		case code == codeRefusedStream:
			return kindRefused
		case fromPeer:
			return kindReset
		}
		return kindProtocol
	}
	return textKind(err.Error()) | timeoutKind(err)
}

func timeoutKind(err error) kind {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return kindTimeout
	}
	return 0
}

// isTimeout reports whether err, or an error in it, says that it is a timeout.
func isTimeout(err error) bool { return kindsOf(err)&kindTimeout != 0 }

func errnoKind(e syscall.Errno) kind {
	if isReset(e) {
		return kindReset
	}
	return 0
}

func textKind(s string) kind {
	switch s {
	case textServerClosedIdle, textForceClosed, textClientConnClosed, textTrailerEOF:
		return kindEOF
	case textConnLost:
		return kindEOF | kindLost
	case textUnusable, textNotEstablished:
		return kindEOF | kindUnusable
	case textGracefulGoAway:
		return kindGoAway | kindGraceful
	case textFrameTooLarge, textTrailerTooLong,
		textChunkLength, textChunkNoLength, textChunkTooLarge, textChunkLF, textChunkCR, textChunkExcess:
		return kindProtocol
	}
	switch {
	case strings.HasPrefix(s, textRequestCanceled):
		return kindCanceled
	case strings.HasPrefix(s, textGoAwayCode), strings.HasPrefix(s, textGoAwayClosed):
		return kindGoAway
	case strings.HasPrefix(s, textMalformed), strings.HasPrefix(s, textH2ConnError):
		return kindProtocol
	}
	return 0
}

const codeRefusedStream = 7 // RFC 9113, section 7

// streamError has the shape of the HTTP/2 stream error of net/http, which
// errors.As copies into it.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "pool: HTTP/2 stream error" }

// streamErrorOf reads err as an HTTP/2 stream error, of net/http or of
// golang.org/x/net/http2.
func streamErrorOf(err error) (code uint32, fromPeer, ok bool) {
	if as, isAs := err.(interface{ As(any) bool }); isAs {
		var se streamError
		if as.As(&se) {
			return se.Code, isFromPeer(se.Cause), true
		}
		return 0, false, false
	}
	v := reflect.ValueOf(err)
	t := v.Type()
	if t.Kind() != reflect.Struct || t.Name() != "StreamError" || t.PkgPath() != "golang.org/x/net/http2" {
		return 0, false, false
	}
	cause, _ := reflect.TypeAssert[error](v.FieldByName("Cause"))
	return uint32(v.FieldByName("Code").Uint()), isFromPeer(cause), true
}

// isFromPeer reports whether the cause of a stream error says that the server
// has reset the stream. Other causes, and none, are a fault that the client has
// found.
func isFromPeer(cause error) bool { return cause != nil && cause.Error() == textFromPeer }

func isStreamError(err error) bool {
	var se streamError
	return errors.As(err, &se)
}

// ClassOf returns the class of err, the empty class for nil. It looks through
// every wrapper. The outermost judgement counts: what failed (the dial, the
// handshake, a reused connection, an established TLS connection) before how.
func ClassOf(err error) events.ErrorClass {
	if err == nil {
		return ""
	}
	switch ks := kindsOf(err); {
	case ks&kindStale != 0:
		return events.ClassStale
	case ks&kindWait != 0:
		return events.ClassTimeout
	case ks&kindClosed != 0:
		return events.ClassOther
	case ks&kindHandshake != 0:
		return events.ClassTLSHandshake
	case ks&kindDNS != 0:
		return events.ClassDNS
	case ks&kindDial != 0:
		return events.ClassDial
	case ks&kindTransport != 0:
		return events.ClassTLSTransport
	case ks&kindCanceled != 0:
		return events.ClassCanceled
	case ks&kindTimeout != 0:
		return events.ClassTimeout
	case ks&kindRefused != 0:
		return events.ClassRefusedStream
	case ks&kindGoAway != 0:
		return events.ClassGoAway
	case ks&kindReset != 0:
		return events.ClassReset
	case ks&kindProtocol != 0:
		return events.ClassProtocol
	case ks&kindEOF != 0:
		return events.ClassEOF
	}
	return events.ClassOther
}

// Recoverable reports whether err is the kind of failure after which the same
// request may well succeed: the connection ended, was reset, closed or
// truncated, its dial or handshake timed out, the server refused the stream or
// went away, or the response was malformed. Deadlines, cancellation,
// certificate errors and everything else are not. It looks through every
// wrapper, and says nothing about whether the request may be sent twice: see
// [Idempotent], [Replayable] and [Unprocessed].
func Recoverable(err error) bool {
	if err == nil {
		return false
	}
	ks := kindsOf(err)
	switch {
	case ks&(kindCanceled|kindDeadline|kindWait|kindClosed) != 0:
		return false
	case ks&kindTimeout != 0:
		return ks&(kindDial|kindDNS|kindHandshake) != 0
	}
	return ks&(kindTruncated|kindRefused|kindGoAway|kindReset|kindEOF|kindProtocol) != 0
}

// Unprocessed reports whether err says that the server has certainly not
// processed the request: no byte of it was written, the stream was refused
// (RFC 9113, section 8.7), or a graceful GOAWAY excluded it (section 6.8).
func Unprocessed(err error) bool {
	return err != nil && kindsOf(err)&(kindUnsent|kindRefused|kindGraceful|kindUnusable) != 0
}
