package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"syscall"
	"testing"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// What is judged is the whole error, whoever has wrapped it how often.
func TestErrorsAreJudgedThroughEveryWrapper(t *testing.T) {
	op := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	}
	rows := []struct {
		name        string
		err         error
		class       events.ErrorClass
		recoverable bool
		unprocessed bool
	}{
		{"EOF", io.EOF, events.ClassEOF, true, false},
		{"unexpected EOF", io.ErrUnexpectedEOF, events.ClassEOF, true, false},
		{"closed socket", net.ErrClosed, events.ClassEOF, true, false},
		{"closed pipe", io.ErrClosedPipe, events.ClassEOF, true, false},
		{"reset", op(syscall.ECONNRESET), events.ClassReset, true, false},
		{"broken pipe", op(syscall.EPIPE), events.ClassReset, true, false},
		{"timeout of a socket", os.ErrDeadlineExceeded, events.ClassTimeout, false, false},
		{"deadline", context.DeadlineExceeded, events.ClassTimeout, false, false},
		{"canceled", context.Canceled, events.ClassCanceled, false, false},
		{"closed pool", pool.ErrClosed, events.ClassOther, false, true},
		{"dial", &pool.DialError{Phase: pool.PhaseConnect, Err: syscall.ECONNREFUSED}, events.ClassDial, false, true},
		{"dial timeout", &pool.DialError{Phase: pool.PhaseConnect, Err: os.ErrDeadlineExceeded}, events.ClassDial, true, true},
		{"dial deadline", &pool.DialError{Phase: pool.PhaseConnect, Err: context.DeadlineExceeded}, events.ClassDial, false, true},
		{"resolver", &pool.DialError{Phase: pool.PhaseDNS, Err: &net.DNSError{IsNotFound: true}}, events.ClassDNS, false, true},
		{"resolver timeout", &pool.DialError{Phase: pool.PhaseDNS, Err: &net.DNSError{IsTimeout: true}}, events.ClassDNS, true, true},
		{"handshake EOF", &pool.TLSHandshakeError{Err: io.EOF}, events.ClassTLSHandshake, true, true},
		{"certificate", &pool.TLSHandshakeError{Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, events.ClassTLSHandshake, false, true},
		{"certificate alone", &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: new(x509.Certificate)}}, events.ClassOther, false, false},
		{"TLS reset", &pool.TLSTransportError{Err: op(syscall.ECONNRESET)}, events.ClassTLSTransport, true, false},
		{"TLS truncation", &pool.TLSTransportError{Truncated: true, Err: errors.New("x")}, events.ClassTLSTransport, true, false},
		{"TLS alert", &pool.TLSTransportError{Err: &net.OpError{Op: "remote error", Err: errors.New("x")}}, events.ClassTLSTransport, false, false},
		{"stale", &pool.StaleConnError{Err: io.EOF}, events.ClassStale, true, false},
		{"stale, unwritten", &pool.StaleConnError{NothingWritten: true, Err: io.EOF}, events.ClassStale, true, true},
		{"wait", &pool.WaitError{}, events.ClassTimeout, false, true},
		{"malformed", textproto.ProtocolError("x"), events.ClassProtocol, true, false},
		{"HTTP/2 REFUSED_STREAM", http2.StreamError{Code: http2.ErrCodeRefusedStream}, events.ClassRefusedStream, true, true},
		{"HTTP/2 stream error", http2.StreamError{Code: http2.ErrCodeProtocol}, events.ClassProtocol, true, false},
		{"HTTP/2 connection error", http2.ConnectionError(http2.ErrCodeFlowControl), events.ClassProtocol, true, false},
		{"HTTP/2 GOAWAY", http2.GoAwayError{ErrCode: http2.ErrCodeInternal}, events.ClassGoAway, true, false}, //nolint:staticcheck // other clients return it
		{"unknown", errors.New("x"), events.ClassOther, false, false},
		{"unsupported", http.ErrNotSupported, events.ClassProtocol, true, false},
	}
	wrappers := map[string]func(error) error{
		"alone":     func(err error) error { return err },
		"url.Error": func(err error) error { return &url.Error{Op: "Get", URL: "http://x", Err: err} },
		"%w":        func(err error) error { return fmt.Errorf("wrapped: %w", err) },
		"two %w":    func(err error) error { return fmt.Errorf("wrapped: %w, %w", errors.New("other"), err) },
		"joined":    func(err error) error { return errors.Join(errors.New("other"), err) },
		"deep":      func(err error) error { return fmt.Errorf("a: %w", &url.Error{Op: "Get", Err: errors.Join(err)}) },
	}
	for _, row := range rows {
		for how, wrap := range wrappers {
			err := wrap(row.err)
			if got := pool.ClassOf(err); got != row.class {
				t.Errorf("%s, %s: class %q, want %q", row.name, how, got, row.class)
			}
			if got := pool.Recoverable(err); got != row.recoverable {
				t.Errorf("%s, %s: recoverable %v", row.name, how, got)
			}
			if got := pool.Unprocessed(err); got != row.unprocessed {
				t.Errorf("%s, %s: unprocessed %v", row.name, how, got)
			}
		}
	}
	if pool.ClassOf(nil) != "" || pool.Recoverable(nil) || pool.Unprocessed(nil) {
		t.Error("nil is an error")
	}
}
