package pool

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// explain gives an error of an established connection its cause and, over TLS,
// its type. It leaves errors alone that are not the connection's.
func (s *sending) explain(op string, err error) error {
	c := s.c
	if err == io.EOF || s.Err() != nil {
		return err
	}
	ks := kindsOf(err)
	failure := c.failure()
	if ks&kindUnusable != 0 {
		if alert := c.alert(); alert != nil {
			err, ks = alert, 0
		}
	}
	if failure != nil && failure != io.EOF && hides(ks, err) {
		err = fmt.Errorf("%w: %w", err, failure)
		ks |= kindsOf(failure)
	}
	if !c.tls {
		return err
	}
	others := kindTransport | kindCanceled | kindTimeout | kindRefused | kindGoAway | kindProtocol
	if failure != nil && !c.h2 {
		others &^= kindProtocol // a header that was cut reads like a malformed one
	}
	if ks&others != 0 || isStreamError(err) {
		return err
	}
	switch {
	case failure != nil, ks&kindTruncated != 0, isAlertError(err), isRecordError(err):
	case c.raw == nil && ks&kindReset != 0: // the socket is not the pool's own
	default:
		return err // an orderly end of the TLS stream, or a fault of the request
	}
	return &TLSTransportError{
		Op: op, Origin: s.endpoint().origin(), Err: err,
		// After a reset was told once, a socket may read as ended.
		Truncated: ks&kindTruncated != 0 || ks&kindReset == 0 && errors.Is(failure, errTruncated),
	}
}

// hides reports whether err only says that the connection is closed or could
// not be read any further, and not why.
func hides(ks kind, err error) bool {
	return ks&(kindUnusable|kindProtocol) != 0 || errors.Is(err, net.ErrClosed)
}

// cause says why the connection ends, or would end, after err; fallback where
// err does not tell.
func (s *sending) cause(err error, fallback events.ConnCause) events.ConnCause {
	switch ks := kindsOf(err); {
	case ks&kindGoAway != 0:
		return events.ConnGoAway
	case ks&kindLost != 0:
		return events.ConnPing
	}
	return fallback
}

// failure returns the first error of the connection's socket, nil if there was
// none or it is not known.
func (c *conn) failure() error {
	if c.raw == nil {
		return nil
	}
	return c.raw.failed()
}

// alert returns the TLS alert that ended a dead connection, nil if none did or
// it is not known.
func (c *conn) alert() error {
	if c.over == nil || c.failure() != nil {
		return nil
	}
	c.nc.SetReadDeadline(time.Unix(1, 0)) // in case that there is something to wait for
	if _, err := c.over.Read(make([]byte, 1)); isAlertError(err) {
		return err // each Read says it again
	}
	return nil
}

// bare removes the wrappers of net/http that add nothing but their type, as
// http.Transport does.
func bare(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		if s := err.Error(); s != inner.Error() && s != textReadFromServer+inner.Error() {
			return err
		}
		err = inner
	}
}

// isHandshakeError reports whether err can only come from a TLS handshake: a
// dial function of the user may have made its own.
func isHandshakeError(err error) bool {
	var (
		cert *tls.CertificateVerificationError
		ech  *tls.ECHRejectionError
	)
	return errors.As(err, &cert) || errors.As(err, &ech) || isRecordError(err) || isAlertError(err)
}

func isRecordError(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record)
}

// isAlertError reports whether err is an alert of TLS, received or sent.
// crypto/tls says so in the operation of a net.OpError; tls.AlertError is what
// QUIC gets.
func isAlertError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}
