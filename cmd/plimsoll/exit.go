package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// Exit statuses. Where curl has a number for the same, it is curl's.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDNS         = 6
	exitDial        = 7
	exitHTTP        = 22
	exitWrite       = 23
	exitTimeout     = 28
	exitTLS         = 35
	exitRedirects   = 47
	exitTransfer    = 56
	exitCertificate = 60
	exitRefused     = 75
	exitInterrupted = 130
	exitTerminated  = 143
)

// exits explains each status of plimsoll get, in the order of the manual.
var exits = []struct {
	status int
	means  string
}{
	{exitOK, "the answer arrived, with a status below 400 (--fail=false: any status)"},
	{exitFailed, "any other failure"},
	{exitUsage, "flags or arguments that make no sense; nothing was sent"},
	{exitDNS, "the host's name could not be resolved"},
	{exitDial, "no connection: refused, unreachable, or the proxy failed"},
	{exitHTTP, "the answer's status is 400 or above"},
	{exitWrite, "the output could not be written"},
	{exitTimeout, "time-out"},
	{exitTLS, "TLS failed, in the handshake or later"},
	{exitRedirects, "more redirects than --max-redirs"},
	{exitTransfer, "the connection broke, or the answer was malformed"},
	{exitCertificate, "the server's certificate was not accepted"},
	{exitRefused, "refused by the client: the breaker is open, or a retry was not made because the budget is empty, a wait does not fit or the breaker is open"},
	{exitInterrupted, "interrupted (SIGINT)"},
	{exitTerminated, "terminated (SIGTERM)"},
}

// endedError ends a command that has explained itself with a status.
type endedError struct{ status int }

func (e *endedError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// exitOfError is the status for a call, or the read of its body, that ended in
// err.
func exitOfError(ctx context.Context, err error) int {
	if status := exitOfSignal(ctx); status != exitOK {
		return status
	}
	var (
		rejected  *breaker.RejectedError
		throttled *client.ThrottledError
		redirects *tooManyRedirectsError
		handshake *pool.TLSHandshakeError
		dial      *pool.DialError
		encrypted *pool.TLSTransportError
		timeout   interface{ Timeout() bool }
	)
	report, _ := client.ReportOfError(err)
	switch {
	case errors.As(err, &rejected), errors.As(err, &throttled):
		return exitRefused
	case errors.As(err, &redirects):
		return exitRedirects
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case refusal(report.Skipped):
		return exitRefused
	case errors.As(err, &dial):
		if dial.Phase == pool.PhaseDNS {
			return exitDNS
		}
		return exitDial
	case errors.As(err, &handshake):
		if uncertified(err) {
			return exitCertificate
		}
		return exitTLS
	case errors.As(err, &encrypted):
		if encrypted.Truncated {
			return exitTransfer
		}
		return exitTLS
	}
	return exitTransfer
}

// exitOfSignal is exitOK while ctx lives.
func exitOfSignal(ctx context.Context) int {
	if ctx.Err() == nil {
		return exitOK
	}
	var by *interruptedError
	if errors.As(context.Cause(ctx), &by) && by.signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// exitOfAnswer is the status for an answer that came.
func exitOfAnswer(status int, skipped events.SkipReason, fail bool) int {
	switch {
	case !fail || status < http.StatusBadRequest:
		return exitOK
	case refusal(skipped):
		return exitRefused
	}
	return exitHTTP
}

// refusal reports whether the client itself refused a retry that was allowed.
func refusal(r events.SkipReason) bool {
	return r == events.SkipBucket || r == events.SkipDeadline || r == events.SkipBreaker
}

func uncertified(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("\nExit status:\n")
	for _, e := range exits {
		for i, line := range wrap(e.means, helpWidth-8) {
			if i == 0 {
				fmt.Fprintf(&b, "  %4d  %s\n", e.status, line)
			} else {
				fmt.Fprintf(&b, "        %s\n", line)
			}
		}
	}
	return b.String()
}

// complain writes a message of plimsoll get.
func complain(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "plimsoll get: "+format+"\n", args...)
}
