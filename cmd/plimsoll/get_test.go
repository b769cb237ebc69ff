package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ran is what a command left behind.
type ran struct {
	status         int
	stdout, stderr string
}

func runIt(ctx context.Context, args ...string) ran {
	var out, errs bytes.Buffer
	status := run(ctx, args, &out, &errs)
	return ran{status, out.String(), errs.String()}
}

func TestBadFlagsAndURLsAreExplainedWithStatusTwo(t *testing.T) {
	for _, row := range []struct {
		args []string
		says string
	}{
		{nil, "Usage: plimsoll COMMAND"},
		{[]string{"fetch"}, `no command "fetch": use one of get`},
		{[]string{"get"}, "0 arguments given, 1 needed"},
		{[]string{"get", "http://a.test/", "-n", "2"}, `argument "-n" is one too many: put flags before`},
		{[]string{"get", "-frobnicate", "http://a.test/"}, "flag provided but not defined: -frobnicate"},
		{[]string{"get", "-n", "0", "http://a.test/"}, "-n is 0: use 1 to"},
		{[]string{"get", "-stream", "-n", "2", "http://a.test/"}, "-stream is given"},
		{[]string{"get", "-n", "many", "http://a.test/"}, `invalid value "many"`},
		{[]string{"get", "-timeout", "-1s", "http://a.test/"}, "-timeout is -1s"},
		{[]string{"get", "-cert", "c.pem", "http://a.test/"}, `-cert is "c.pem" and -key is "": give both`},
		{[]string{"get", "-cacert", "/does/not/exist.pem", "http://a.test/"}, "exist.pem"},
		{[]string{"get", "example.com"}, `scheme ""`},
		{[]string{"get", "ftp://a.test/"}, `scheme "ftp"`},
		{[]string{"get", "http:///path"}, "no host"},
		{[]string{"get", "http://a.test:99999/"}, "port 99999: use 1 to 65535"},
		{[]string{"get", "http://a.test:0/"}, "port 0: use 1 to 65535"},
		{[]string{"get", "http://user:s3cret%zz@a.test/"}, "malformed"},
		{[]string{"demo", "-duration", "1s"}, "-duration is 1s: use 5s to"},
		{[]string{"demo", "now"}, `argument "now" is one too many`},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			got := runIt(context.Background(), row.args...)
			if got.status != exitUsage || !strings.Contains(got.stderr, row.says) || got.stdout != "" {
				t.Errorf("status %d, stdout %q, stderr %q; want status 2 and %q", got.status, got.stdout, got.stderr, row.says)
			}
			if strings.Contains(got.stderr, "s3cret") {
				t.Errorf("the password is shown: %s", got.stderr)
			}
		})
	}
}

func TestHelpGoesWithStatusZero(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"get", "-h"}, {"demo", "--help"}} {
		got := runIt(context.Background(), args...)
		if got.status != exitOK || !strings.Contains(got.stdout+got.stderr, "Usage: plimsoll") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestGetShowsTheAnswerAndTheTimeline(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if hits++; hits == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "answer %d\n", hits)
	}))
	defer s.Close()
	got := runIt(context.Background(), "get", "-n", "2", s.URL+"/?token=s3cret")
	if got.status != exitOK || got.stdout != "answer 2\nanswer 3\n" {
		t.Errorf("%+v", got)
	}
	rest := got.stderr
	for _, want := range []string{"CallStarted", "AttemptDone", "status=503", "BudgetReserved", "reserved=10 level=490", "RetryArmed", "cause=status", "status=200", "BudgetSettled", "outcome=recovered", "CallStarted", "CallDone"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing, or out of order, in\n%s", want, got.stderr)
		}
		rest = after
	}
	for _, no := range []string{"s3cret", "ConnOpened", "\x1b"} {
		if strings.Contains(got.stderr, no) {
			t.Errorf("%q stands in\n%s", no, got.stderr)
		}
	}
	if got := runIt(context.Background(), "get", "-v", s.URL); !strings.Contains(got.stderr, "ConnOpened") {
		t.Errorf("-v: %+v", got)
	}
}

func TestGetWritesJSONLines(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	defer s.Close()
	got := runIt(context.Background(), "get", "-json", "-v", s.URL)
	if got.status != exitOK || got.stdout != "x" {
		t.Errorf("%+v", got)
	}
	var names []string
	for line := range strings.Lines(got.stderr) {
		var e struct {
			Event  string
			Ms     *float64
			Origin string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Event == "" || e.Ms == nil || !strings.HasPrefix(e.Origin, "http://127.0.0.1:") {
			t.Errorf("line %q: %v", line, err)
		}
		names = append(names, e.Event)
	}
	if all := strings.Join(names, " "); !strings.HasPrefix(all, "CallStarted AttemptStarted ConnOpened ConnAcquired AttemptDone") {
		t.Errorf("events %s", all)
	}
}

func TestGetSaysWhatFailedWithStatusOne(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	if got := runIt(context.Background(), "get", s.URL); got.status != exitFailed || !strings.Contains(got.stdout, "404") {
		t.Errorf("404: %+v", got)
	}
	if got := runIt(context.Background(), "get", s.URL+"/cut"); got.status != exitFailed || got.stdout != "half" || !strings.Contains(got.stderr, "reading the response: unexpected EOF") {
		t.Errorf("a body cut short: %+v", got)
	}
	s.Close()
	if got := runIt(context.Background(), "get", s.URL); got.status != exitFailed || !strings.Contains(got.stderr, "plimsoll get:") {
		t.Errorf("nobody there: %+v", got)
	}
}

func TestGetTrustsTheAuthorityThatItIsGiven(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secure") }))
	defer s.Close()
	if got := runIt(context.Background(), "get", s.URL); got.status != exitFailed || !strings.Contains(got.stderr, "certificate") {
		t.Errorf("unknown authority: %+v", got)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runIt(context.Background(), "get", "-cacert", file, s.URL); got.status != exitOK || got.stdout != "secure" {
		t.Errorf("given authority: %+v", got)
	}
	if err := os.WriteFile(file, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runIt(context.Background(), "get", "-cacert", file, s.URL); got.status != exitUsage || !strings.Contains(got.stderr, "RootCAs") {
		t.Errorf("junk: %+v", got)
	}
}

func TestGetFollowsAStreamAcrossALostConnection(t *testing.T) {
	connections := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "no such stream")
			return
		case "/cut":
			connections++
		}
		switch after := r.Header.Get("Last-Event-ID"); {
		case connections > 2:
			w.WriteHeader(http.StatusNoContent) // that was all
			return
		case after == "1":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 2\nevent: last\ndata: two\ndata: lines\n\n")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 1\ndata: one\n\nid: 2\ndata: half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	got := runIt(context.Background(), "get", "-stream", s.URL+"/cut")
	if got.status != exitOK || got.stdout != "id: 1\ndata: one\n\nid: 2\nevent: last\ndata: two\ndata: lines\n\n" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"StreamOpened", "RetryArmed", "reconnects=1", "StreamClosed"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is missing in\n%s", want, got.stderr)
		}
	}
	if got := runIt(context.Background(), "get", "-stream", s.URL+"/gone"); got.status != exitFailed || got.stdout != "no such stream" || !strings.Contains(got.stderr, "404") {
		t.Errorf("refused: %+v", got)
	}
}

func TestGetShowsTheClientCertificateThatItIsGiven(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "somebody"}, NotAfter: time.Now().Add(time.Hour),
	}, &x509.Certificate{}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := file("ca.pem", "CERTIFICATE", s.Certificate().Raw)
	certFile, keyFile := file("cert.pem", "CERTIFICATE", der), file("key.pem", "EC PRIVATE KEY", keyDER)
	if got := runIt(context.Background(), "get", "-cacert", ca, "-cert", certFile, "-key", keyFile, s.URL); got.status != exitOK || got.stdout != "somebody" {
		t.Errorf("%+v", got)
	}
	if got := runIt(context.Background(), "get", "-cacert", ca, s.URL); got.status != exitFailed {
		t.Errorf("without a certificate: %+v", got)
	}
	if got := runIt(context.Background(), "get", "-cacert", ca, "-cert", certFile, "-key", certFile, s.URL); got.status != exitUsage || !strings.Contains(got.stderr, "Key") {
		t.Errorf("a certificate as the key: %+v", got)
	}
}
