package pool_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// taxon is one row of the error taxonomy: a fault at one boundary of a
// connection, and what the error that reaches the caller must be.
type taxon struct {
	name    string
	on      []faultserver.Protocol // nil: all
	config  func(*faultserver.Config)
	tune    func(*http.Transport, *pool.Config)
	provoke func(*rig) error
	want    func(faultserver.Protocol) verdict
}

var (
	tlsOnes = []faultserver.Protocol{faultserver.TLS, faultserver.H2}
	http1s  = []faultserver.Protocol{faultserver.H1, faultserver.TLS}
	http2s  = []faultserver.Protocol{faultserver.H2, faultserver.H2C}
)

// verdict is everything that a caller can ask about an error.
type verdict struct {
	class       events.ErrorClass
	recoverable bool
	unprocessed bool
	timeout     bool

	// What errors.As finds; the zero value: not that type.
	phase     string // of a *DialError
	handshake bool   // a *TLSHandshakeError
	op        string // of a *TLSTransportError
	truncated bool   // its field
	stale     bool   // a *StaleConnError
	wait      bool   // a *WaitError

	is []error // what errors.Is finds
	as func(error) bool
}

// The secrets of every request in the taxonomy. None may be in an error's text.
const (
	secretUser  = "secret-user"
	secretPass  = "secret-password"
	secretQuery = "secret-query"
	secretField = "secret-field"
	secretBody  = "secret-body"
)

func (v verdict) check(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if got := pool.ClassOf(err); got != v.class {
		t.Errorf("class %q, want %q", got, v.class)
	}
	if got := pool.Recoverable(err); got != v.recoverable {
		t.Errorf("recoverable %v, want %v", got, v.recoverable)
	}
	if got := pool.Unprocessed(err); got != v.unprocessed {
		t.Errorf("unprocessed %v, want %v", got, v.unprocessed)
	}
	var timeout interface{ Timeout() bool }
	if got := errors.As(err, &timeout) && timeout.Timeout(); got != v.timeout {
		t.Errorf("timeout %v, want %v", got, v.timeout)
	}
	v.checkTypes(t, err)
	for _, cause := range v.is {
		if !errors.Is(err, cause) {
			t.Errorf("errors.Is does not reach %v", cause)
		}
	}
	if v.as != nil && !v.as(err) {
		t.Error("errors.As does not reach the cause")
	}
	for _, secret := range []string{secretUser, secretPass, secretQuery, secretField, secretBody, "secret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("it tells %s", secret)
		}
	}
	if t.Failed() {
		t.Errorf("the error is %v: %s", err, tree(err))
	}
}

func (v verdict) checkTypes(t *testing.T, err error) {
	t.Helper()
	var (
		dial      *pool.DialError
		handshake *pool.TLSHandshakeError
		transport *pool.TLSTransportError
		stale     *pool.StaleConnError
		wait      *pool.WaitError
	)
	phase, op, truncated := "", "", false
	if errors.As(err, &dial) {
		phase = dial.Phase
		wantOrigin(t, dial.Origin)
	}
	if errors.As(err, &transport) {
		op, truncated = transport.Op, transport.Truncated
		wantOrigin(t, transport.Origin)
	}
	if phase != v.phase {
		t.Errorf("*DialError of phase %q, want %q", phase, v.phase)
	}
	if op != v.op || truncated != v.truncated {
		t.Errorf("*TLSTransportError at %q, truncated %v; want %q, %v", op, truncated, v.op, v.truncated)
	}
	if got := errors.As(err, &handshake); got != v.handshake {
		t.Errorf("*TLSHandshakeError %v, want %v", got, v.handshake)
	} else if got {
		wantOrigin(t, handshake.Origin)
	}
	if got := errors.As(err, &stale); got != v.stale {
		t.Errorf("*StaleConnError %v, want %v", got, v.stale)
	}
	if got := errors.As(err, &wait); got != v.wait {
		t.Errorf("*WaitError %v, want %v", got, v.wait)
	}
}

// wantOrigin checks that an error names the request's origin, in full.
func wantOrigin(t *testing.T, origin string) {
	t.Helper()
	scheme, rest, _ := strings.Cut(origin, "://")
	if scheme != "http" && scheme != "https" || !strings.Contains(rest, ":") || strings.ContainsAny(rest, "/@?") {
		t.Errorf("origin %q, want scheme://host:port", origin)
	}
}

// tree lists the types in an error.
func tree(err error) string {
	s := typeName(err)
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			s += " > " + tree(inner)
		}
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			s += " > (" + tree(e) + ")"
		}
	}
	return s
}

// inTaxonomy checks each row on each of its protocols, in virtual time, and
// that nothing is left of it.
func inTaxonomy(t *testing.T, rows []taxon) {
	for _, row := range rows {
		protocols := row.on
		if protocols == nil {
			protocols = faultserver.Protocols()
		}
		for _, p := range protocols {
			t.Run(row.name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fc := faultserver.Config{Protocol: p, Memory: true}
					if row.config != nil {
						row.config(&fc)
					}
					r := newRig(t, fc, row.tune)
					row.want(p).check(t, row.provoke(r))
					r.pool.Close()
					synctest.Wait()
					r.wantNothingHeld()
				})
			})
		}
	}
}

// secret is a request full of secrets.
func (r *rig) secret(ctx context.Context, method string, body io.Reader) *http.Request {
	r.Helper()
	req := r.requestIn(ctx, method, "/path?token="+secretQuery, body)
	req.SetBasicAuth(secretUser, secretPass)
	req.URL.User = urlUser()
	req.Header.Set("X-Secret", secretField)
	return req
}

// answering provokes an error of RoundTrip with a script for the request.
func answering(script faultserver.Script) func(*rig) error {
	return func(r *rig) error {
		r.srv.Next(script)
		_, _, err := exchange(r.pool, r.secret(context.Background(), "GET", nil))
		return err
	}
}

// always is the same verdict on all protocols.
func always(v verdict) func(faultserver.Protocol) verdict {
	return func(faultserver.Protocol) verdict { return v }
}

// byTLS is one verdict without TLS, another one over TLS.
func byTLS(plain, encrypted verdict) func(faultserver.Protocol) verdict {
	return func(p faultserver.Protocol) verdict {
		if p.Encrypted() {
			return encrypted
		}
		return plain
	}
}
