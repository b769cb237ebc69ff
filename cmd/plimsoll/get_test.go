package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// inOrder fails unless every part stands in text, one after the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is missing, or out of order, in\n%s", part, text)
		}
		rest = after
	}
}

func TestGetShowsRetriesAndTheBudget(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(503, "busy"), faultserver.Respond(503, "busy"), faultserver.Respond(200, "answer"))
	got := runIt(t.Context(), "get", s.URL("/orders?token=s3cret"))
	if got.status != exitOK || got.stdout != "answer" {
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "BudgetReserved", "level=490", "RetryArmed", "cause=status",
		"GET "+s.URL("/orders?REDACTED"), "attempt 1   503", "dial", "wait", "retry wait", "10 tokens reserved", "490 left",
		"attempt 2   503", "reused connection", "attempt 3   200", "read",
		"200 OK  HTTP/1.1  6 bytes", "3 attempts, 2 retries", "budget   ###", "495 of 500 tokens  "+s.URL(), "breaker  none")
	for _, no := range []string{"s3cret", "ConnOpened", "AttemptStarted", "\x1b"} {
		if strings.Contains(got.stderr, no) {
			t.Errorf("%q stands in\n%s", no, got.stderr)
		}
	}
}

func TestGetShowsADeadConnectionThatWasReplaced(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(200, "one,"), faultserver.KillAfterReading(faultserver.RST), faultserver.Respond(200, "two"))
	got := runIt(t.Context(), "get", "-n", "2", s.URL())
	if got.status != exitOK || got.stdout != "one,two" {
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "attempt 1   200", "ConnStale", "ConnRecovered", "attempt 1   200", "dead connections replaced: 1, dial", "x dead connection",
		"2 requests, 0 failed: 200 (2)", "2 attempts, 1 recovery", "500 of 500 tokens")
}

func TestExitStatuses(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	secure := faultserver.Start(t, faultserver.Config{Protocol: faultserver.TLS})
	gone := faultserver.Start(t, faultserver.Config{})
	nobody := gone.URL()
	gone.Close()
	redirect := faultserver.RespondWith(302, http.Header{"Location": {"/again?s3cret"}}, "")
	for _, row := range []struct {
		name   string
		server *faultserver.Server
		script []faultserver.Script
		conn   []faultserver.Script
		args   string
		status int
		says   string // on stderr
		stdout string
	}{
		{name: "an answer", status: exitOK, stdout: "ok", says: "200 OK"},
		{name: "not found", script: []faultserver.Script{faultserver.Respond(404, "none")}, status: exitHTTP, stdout: "none", says: "404 Not Found"},
		{name: "not found, no failure", script: []faultserver.Script{faultserver.Respond(404, "none")}, args: "--fail=false", status: exitOK, stdout: "none"},
		{name: "retries used up", script: []faultserver.Script{faultserver.Respond(503, "a"), faultserver.Respond(503, "b")}, args: "--retry 1", status: exitHTTP, stdout: "b", says: "no retry: attempts"},
		{name: "retries off", script: []faultserver.Script{faultserver.Respond(503, "a")}, args: "--retry 0", status: exitHTTP, stdout: "a", says: "1 attempt"},
		{name: "not idempotent", script: []faultserver.Script{faultserver.Respond(503, "a")}, args: "-d x", status: exitHTTP, stdout: "a", says: "Idempotency-Key"},
		{name: "budget empty", script: []faultserver.Script{faultserver.Respond(503, "a"), faultserver.Respond(503, "b")}, args: "--budget 10", status: exitRefused, stdout: "b", says: "--budget N makes it larger"},
		{name: "wait too long", script: []faultserver.Script{faultserver.RespondWith(503, http.Header{"Retry-After": {"3600"}}, "later")}, status: exitRefused, stdout: "later", says: "no retry: deadline"},
		{name: "breaker opens", script: []faultserver.Script{faultserver.Respond(503, "a"), faultserver.Respond(503, "b")}, args: "--breaker 2", status: exitRefused, stdout: "b", says: "breaker  open"},
		{name: "breaker closed", args: "--breaker 2", status: exitOK, stdout: "ok", says: "breaker  closed"},
		{name: "time-out", script: []faultserver.Script{faultserver.Do(faultserver.Hang{})}, args: "--timeout 50ms", status: exitTimeout, says: "--timeout is 50ms"},
		{name: "seconds", script: []faultserver.Script{faultserver.Do(faultserver.Hang{})}, args: "--timeout 0.05", status: exitTimeout, says: "--timeout is 50ms"},
		{name: "reset", script: []faultserver.Script{faultserver.KillAfterReading(faultserver.RST)}, args: "--retry 0", status: exitTransfer, says: "reset"},
		{name: "malformed", script: []faultserver.Script{faultserver.BadStatusLine(faultserver.FIN)}, args: "--retry 0", status: exitTransfer, says: "malformed"},
		{name: "half a body", script: []faultserver.Script{faultserver.KillInBody(8, faultserver.FIN)}, status: exitTransfer, says: "after 4 bytes of the body: unexpected EOF", stdout: string(faultserver.Pattern(4))},
		{name: "redirect", script: []faultserver.Script{redirect}, status: exitOK, stdout: "ok", says: "/again?REDACTED"},
		{name: "redirect shown", script: []faultserver.Script{redirect}, args: "--max-redirs 0", status: exitOK, says: "302 Found"},
		{name: "redirects", script: []faultserver.Script{redirect, redirect}, args: "--max-redirs 1", status: exitRedirects, says: "stopped after 1 redirect ("},
		{name: "redirects, as many as there may be", script: slices.Repeat([]faultserver.Script{redirect}, 9), status: exitOK, stdout: "ok"},
		{name: "redirects without end", script: slices.Repeat([]faultserver.Script{redirect}, 10), status: exitRedirects, says: "stopped after 9 redirects"},
		{name: "nobody there", args: nobody, status: exitDial, says: "refused"},
		{name: "no such host", args: "http://no..host/", status: exitDNS, says: "no such host"},
		{name: "unknown authority", server: secure, status: exitCertificate, says: "--cacert FILE"},
		{name: "no certificate is checked", server: secure, args: "-k", status: exitOK, stdout: "ok", says: "warning: --insecure"},
		{name: "no TLS", args: "https" + strings.TrimPrefix(s.URL(), "http"), status: exitTLS, says: "TLS handshake"},
		{name: "alert", server: secure, conn: []faultserver.Script{faultserver.Do(faultserver.Raw{Data: faultserver.TLSAlert(40)}, faultserver.Kill{})}, args: "-k", status: exitTLS, says: "handshake failure"},
		{name: "no HTTP/2", args: "--http2 --retry 0", status: exitTransfer, says: "leave --http2 out"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := row.server
			if server == nil {
				server = s
			}
			server.Next(row.script...)
			server.NextConn(row.conn...)
			args := append([]string{"get"}, strings.Fields(row.args)...)
			if !strings.Contains(row.args, "://") {
				args = append(args, server.URL())
			}
			got := runIt(t.Context(), args...)
			if got.status != row.status || got.stdout != row.stdout || !strings.Contains(got.stderr, row.says) {
				t.Errorf("status %d, stdout %q, stderr\n%s\nwant %d, %q and %q", got.status, got.stdout, got.stderr, row.status, row.stdout, row.says)
			}
			if strings.Contains(got.stderr, "s3cret") {
				t.Errorf("a secret is shown in\n%s", got.stderr)
			}
		})
	}
}

func TestAnOpenBreakerRefusesTheRequestsAfterIt(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Choose: func(faultserver.Request) faultserver.Script { return faultserver.Respond(500, "") }})
	got := runIt(t.Context(), "get", "-n", "4", "--retry", "0", "--breaker", "2", s.URL())
	if got.status != exitHTTP { // of the first failure
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "BreakerChanged", "BreakerRejected", "breaker open: not sent", "4 requests, 4 failed: 500 (2), not sent: breaker open (2)", "breaker  open", "a probe is let through in")
	if n := s.Stats().Requests; n != 2 {
		t.Errorf("the server saw %d requests", n)
	}
}

func TestGetSpeaksTheProtocolThatItIsTold(t *testing.T) {
	for _, row := range []struct {
		protocol faultserver.Protocol
		flag     string
		says     string
	}{
		{faultserver.H2, "--fail", "HTTP/2"}, {faultserver.H2, "--http2", "HTTP/2"}, {faultserver.H2, "--http1.1", "HTTP/1.1"},
		{faultserver.TLS, "--fail", "HTTP/1.1"}, {faultserver.H2C, "--http2", "HTTP/2"}, {faultserver.H1, "--http1.1", "HTTP/1.1"},
	} {
		s := faultserver.Start(t, faultserver.Config{Protocol: row.protocol})
		args := []string{"get", row.flag, s.URL()}
		if row.protocol.Encrypted() {
			ca := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--cacert", ca)
		}
		got := runIt(t.Context(), args...)
		if got.status != exitOK || got.stdout != "ok" || !strings.Contains(got.stderr, "200 OK  "+row.says+"  ") {
			t.Errorf("%v with %s: %+v", row.protocol, row.flag, got)
		}
		if row.protocol.Encrypted() != strings.Contains(got.stderr, "TLS ") {
			t.Errorf("%v: the handshake is told wrongly in\n%s", row.protocol, got.stderr)
		}
	}
}

func TestGetSendsWhatItIsTold(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s %q %q %s:%s %d %s", r.Method, r.Host, r.Header.Get("Content-Type"), r.Header["X-A"], user, password, r.ContentLength, body[:n])
	})})
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte("in a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const form = `"application/x-www-form-urlencoded"`
	for _, row := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{"-X", "delete"}, "", `DELETE ` + s.Addr() + ` "" [] : 0 `},
		{[]string{"-d", "a=b"}, "", `POST ` + s.Addr() + ` ` + form + ` [] : 3 a=b`},
		{[]string{"-d", ""}, "", `POST ` + s.Addr() + ` ` + form + ` [] : 0 `},
		{[]string{"-d", "@-", "-X", "PUT", "-H", "Content-Type: text/plain"}, "typed", `PUT ` + s.Addr() + ` "text/plain" [] : 5 typed`},
		{[]string{"-d", "@" + file}, "", `POST ` + s.Addr() + ` ` + form + " [] : 10 in a file\n"},
		{[]string{"-H", "X-A: 1", "-H", "x-a:2", "-H", "Host: other.test"}, "", `GET other.test "" ["1" "2"] : 0 `},
	} {
		got := runWith(t.Context(), row.stdin, nil, append([]string{"get", s.URL()}, row.args...)...)
		if got.status != exitOK || got.stdout != row.want {
			t.Errorf("%v: %+v, want %q", row.args, got, row.want)
		}
	}
	got := runIt(t.Context(), "get", "-v", strings.Replace(s.URL(), "://", "://bob:s3cret@", 1))
	if got.status != exitOK || !strings.Contains(got.stdout, " bob:s3cret ") || strings.Contains(got.stderr, "s3cret") || strings.Contains(got.stderr, "bob") {
		t.Errorf("userinfo: %+v", got)
	}
}

func TestABodyIsSentAgainWithEachAttempt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte("body"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"body", "@" + file, "@-"} {
		s := faultserver.Start(t, faultserver.Config{})
		s.Next(faultserver.Respond(503, ""), faultserver.KillAfterReading(faultserver.RST))
		got := runWith(t.Context(), "body", nil, "get", "-X", "PUT", "-d", data, s.URL())
		if got.status != exitOK || got.stdout != "body" {
			t.Errorf("%s: %+v", data, got)
		}
	}
}

func TestVerboseShowsHeadersWithoutSecrets(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	answer := http.Header{"Content-Type": {"text/plain"}, "Set-Cookie": {"sid=s3cret"}, "X-Session-Token": {"s3cret"}, "Etag": {`"s3cret"`}, "Server": {"a\tb"}}
	s.Next(faultserver.RespondWith(302, http.Header{"Location": {"/next?s3cret"}, "Set-Cookie": {"s3cret"}}, ""), faultserver.RespondWith(200, answer, "ok"))
	got := runIt(t.Context(), "get", "-v", "-H", "Authorization: Bearer s3cret", "-H", "Cookie: a=s3cret", "-H", "Proxy-Authorization: s3cret", "-H", "X-Api-Key: s3cret", "-H", "Whatever: s3cret",
		"-H", "Accept: text/plain", "-X", "PUT", "-d", "s3cret", strings.Replace(s.URL("/p?s3cret#s3cret"), "://", "://s3cret:s3cret@", 1))
	if got.status != exitOK || strings.Contains(got.stderr, "s3cret") {
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "CallStarted", "> PUT ", "> Accept: text/plain", "> Authorization: [redacted]", "> Cookie: [redacted]", "> Proxy-Authorization: [redacted]", "> Whatever: [redacted]", "> X-Api-Key: [redacted]",
		"ConnOpened", "< HTTP/1.1 302 Found", "< Location: /next?REDACTED", "< Set-Cookie: [redacted]", "> GET ", "> Authorization: [redacted]", "< HTTP/1.1 200 OK", "< Content-Type: text/plain", "< Etag: [redacted]", `< Server: a\tb`, "< Set-Cookie: [redacted]", "< X-Session-Token: [redacted]")
}

func TestAnInterruptCountsMoreThanAFailureBeforeIt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := faultserver.Start(t, faultserver.Config{Choose: func(r faultserver.Request) faultserver.Script {
		if r.Seq == 1 {
			return faultserver.Respond(404, "")
		}
		cancel(&interruptedError{os.Interrupt})
		return faultserver.Do(faultserver.Hang{})
	}})
	if got := runIt(ctx, "get", "-n", "3", s.URL()); got.status != exitInterrupted || !strings.Contains(got.stderr, "2 requests, 2 failed") {
		t.Errorf("%+v", got)
	}
}

func TestSecretFieldsStayWithTheirOrigin(t *testing.T) {
	show := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q %q %q", r.Header["Authorization"], r.Header["X-Key"], r.Header["Accept"])
	})
	home, abroad := faultserver.Start(t, faultserver.Config{Handler: show}), faultserver.Start(t, faultserver.Config{Handler: show})
	to := func(s *faultserver.Server) faultserver.Script {
		return faultserver.RespondWith(307, http.Header{"Location": {s.URL()}}, "")
	}
	for _, row := range []struct {
		home, abroad []faultserver.Script
		want         string
	}{
		{[]faultserver.Script{to(home)}, nil, `["Bearer s3cret"] ["s3cret"] ["a/b"]`},
		{[]faultserver.Script{to(abroad)}, nil, `[] [] ["a/b"]`},
		{[]faultserver.Script{to(abroad)}, []faultserver.Script{to(home)}, `[] [] ["a/b"]`},
	} {
		home.Next(row.home...)
		abroad.Next(row.abroad...)
		got := runIt(t.Context(), "get", home.URL(), "-H", "Authorization: Bearer s3cret", "-H", "x-key: s3cret", "-H", "Accept: a/b")
		if got.status != exitOK || got.stdout != row.want {
			t.Errorf("%+v, want %s", got, row.want)
		}
	}
}

// trigger calls do when text has been written.
type trigger struct {
	got  bytes.Buffer
	text string
	do   func()
}

func (g *trigger) Write(p []byte) (int, error) {
	n, err := g.got.Write(p)
	if g.do != nil && strings.Contains(g.got.String(), g.text) {
		do := g.do
		g.do = nil
		do()
	}
	return n, err
}

func TestAnInterruptEndsARetryWaitAndIsSummedUp(t *testing.T) {
	for signal, status := range map[os.Signal]int{os.Interrupt: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := faultserver.Start(t, faultserver.Config{})
		s.Next(faultserver.RespondWith(503, http.Header{"Retry-After": {"30"}}, "later"))
		stderr := &trigger{text: "BudgetReserved", do: func() { cancel(&interruptedError{signal}) }}
		begin := time.Now()
		got := run(ctx, []string{"get", "--timeout", "0", s.URL()}, streams{in: strings.NewReader(""), out: io.Discard, err: stderr, env: func(string) string { return "" }})
		if got != status {
			t.Errorf("%v: status %d, want %d", signal, got, status)
		}
		inOrder(t, stderr.got.String(), "plimsoll get: interrupted", "attempt 1   503", "500 of 500 tokens")
		if took := time.Since(begin); took > 25*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}

func TestSilentLeavesTheBodyAlone(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(503, ""))
	if got := runIt(t.Context(), "get", "-s", s.URL()); got != (ran{exitOK, "ok", ""}) {
		t.Errorf("%+v", got)
	}
}
