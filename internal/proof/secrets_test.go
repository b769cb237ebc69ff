package proof

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge/logbridge"
)

// planted begins every secret; what follows says where it was planted.
const planted = "s3cr3t-"

// smuggler is a set of clients that see secrets everywhere.
type smuggler struct {
	t     *testing.T
	sink  *sink
	log   *slog.Logger
	base  string // of the upstream
	heard atomic.Int64
}

// lines is a log in memory.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer // guarded by mu
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// client makes one that reports to the sink and to the log.
func (s *smuggler) client(cfg client.Config) *client.Client {
	s.t.Helper()
	cfg.Telemetry = s.sink.telemetry
	cfg.Retry.BaseDelay = time.Nanosecond
	cfg.Hooks = events.Join(cfg.Hooks, logbridge.New(s.log))
	c, err := client.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// send makes a call with a secret in each of its parts and reports whether an
// answer came.
func (s *smuggler) send(c *client.Client, target string) (answered bool) {
	s.t.Helper()
	defer func() {
		if v := recover(); v != nil && v != planted+"panic" {
			panic(v)
		}
	}()
	member, err := baggage.NewMember("user", planted+"baggage")
	if err != nil {
		s.t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx := baggage.ContextWithBaggage(s.t.Context(), bag)
	u, err := neturl.Parse(target)
	if err != nil {
		s.t.Fatal(err)
	}
	u.User = neturl.UserPassword(planted+"user", planted+"password")
	u.RawQuery, u.Fragment = "key="+planted+"query", planted+"fragment"
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, u.String(), strings.NewReader(planted+"request-body"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Referer", "User-Agent"} {
		req.Header.Set(name, planted+name)
	}
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil
}

// must makes a call that ends as it should.
func (s *smuggler) must(what string, c *client.Client, target string, answered bool) {
	s.t.Helper()
	if got := s.send(c, target); got != answered {
		s.t.Errorf("%s: answered %t, want %t: nothing is shown", what, got, answered)
	}
}

// ServeHTTP is the upstream, which is as indiscreet as its callers.
func (s *smuggler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); string(body) == planted+"request-body" && r.URL.RawQuery == "key="+planted+"query" &&
		r.Header.Get("Authorization") == planted+"Authorization" && strings.Contains(r.Header.Get("Baggage"), planted+"baggage") {
		s.heard.Add(1)
	}
	h := w.Header()
	for _, name := range []string{"Set-Cookie", "Retry-After", "Server", "Content-Type", "Content-Language", "Www-Authenticate", "Link", "Via"} {
		h.Set(name, planted+name)
	}
	switch r.URL.Path {
	case "/ill":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/moved":
		h.Set("Location", "/things?token="+planted+"location")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "/astray":
		h.Set("Location", "http://[::"+planted+"broken-location")
		w.WriteHeader(http.StatusFound)
	case "/stream":
		h.Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %sid\nevent: %stype\ndata: %sdata\n\n", planted, planted, planted)
		return
	case "/cut":
		h.Set("Content-Length", "1000")
	}
	fmt.Fprint(w, planted+"response-body")
}

// raw is a server that answers every connection with a text.
func raw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1<<16))
			_, _ = io.WriteString(c, answer)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// indiscreet is a store whose errors hold secrets.
type indiscreet struct{ breaker.Store }

func (indiscreet) Admit(context.Context, string, breaker.Params) (breaker.Grant, error) {
	return breaker.Grant{}, errors.New(planted + "store-error")
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoSecretIsInAnyExportedByte plants secrets in everything that a client
// sends, receives, is configured with and fails with, and looks for them in
// what leaves the process: OTLP, the exposition and the log. It is about
// hashicorp/go-retryablehttp#31 and #154.
func TestNoSecretIsInAnyExportedByte(t *testing.T) {
	log := &lines{}
	s := &smuggler{t: t, sink: newSink(t), log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	s.base = upstream.URL

	buggy := s.client(client.Config{Name: "buggy", Hooks: &events.Hooks{CallDone: func(context.Context, events.CallDone) { panic(planted + "panic") }}})
	s.must("a hook that panics", buggy, s.base+"/things", false)
	c := s.client(client.Config{})
	s.must("a call", c, s.base+"/things", true)
	s.must("retries", c, s.base+"/ill", true)
	s.must("a redirect", c, s.base+"/moved", true)
	s.must("a redirect into nowhere", c, s.base+"/astray", false)
	s.must("a body that is cut", c, s.base+"/cut", false)
	s.must("a malformed answer", c, "http://"+raw(t, "HTTP/1.1 "+planted+"status\r\n"+planted+"header\r\n\r\n")+"/", false)
	s.must("a reason phrase", c, "http://"+raw(t, "HTTP/1.1 400 "+planted+"reason\r\nContent-Length: 0\r\n\r\n")+"/", true)
	s.must("a scheme", c, planted+"scheme://"+"api.example/", false)
	s.streams(c)
	if n := s.heard.Load(); n < 4 {
		t.Errorf("the upstream saw the secrets %d times: they were not planted", n)
	}
	s.failures()
	c.CloseIdleConnections()
	left := s.sink.bytes(t)
	left["the log"] = log.String()
	search(t, left)
}

// streams reads events whose every field is a secret.
func (s *smuggler) streams(c *client.Client) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base+"/stream?key="+planted+"query", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", planted+"last-id")
	stream, err := c.Stream(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer stream.Close()
	n := 0
	for range stream.Events() {
		n++
	}
	if n == 0 {
		s.t.Error("the stream had no events")
	}
}

// failures makes calls whose errors tell secrets.
func (s *smuggler) failures() {
	t := s.t
	told := errors.New(planted + "error")
	s.must("a dial's error", s.client(client.Config{Name: "dial", Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, told },
	}}), s.base, false)
	s.must("a lookup's error", s.client(client.Config{Name: "lookup", Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: planted + "lookup-error", Name: planted + "name", Server: planted + "server", IsNotFound: true}
		},
	}}), s.base, false)
	s.must("a base's error", s.client(client.Config{Name: "base", Base: roundTrips(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, told
	})}), s.base, false)
	s.must("a proxy that is told by an error", s.client(client.Config{Name: "no proxy", Transport: &http.Transport{
		Proxy: func(*http.Request) (*neturl.URL, error) { return nil, told },
	}}), s.base, false)
	for name, at := range map[string]string{
		"refuses":    "http://%s@127.0.0.1:1/%s",
		"denies":     "http://%s@" + raw(t, "HTTP/1.1 407 "+planted+"denied\r\nProxy-Authenticate: "+planted+"realm\r\nContent-Length: 0\r\n\r\n") + "/%s",
		"is socks":   "socks5://%s@" + raw(t, "\x05\xff"+planted+"socks") + "/%s",
		"is a dunce": "http://%s@" + raw(t, planted+"nonsense\r\n\r\n") + "/%s",
	} {
		proxy, err := neturl.Parse(fmt.Sprintf(at, planted+"proxy-user:"+planted+"proxy-password", planted+"proxy-path?key="+planted+"proxy-query"))
		if err != nil {
			t.Fatal(err)
		}
		s.must("a proxy that "+name, s.client(client.Config{Name: "proxy", Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}), "https://api.example/things", false)
	}
	ca := faultserver.NewCA()
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(planted + "certificate.example")}}
	server.StartTLS()
	defer server.Close()
	s.must("a certificate", s.client(client.Config{Name: "tls", Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}}), server.URL, false)

	gate, err := breaker.New(breaker.Config{Store: indiscreet{breaker.NewMemory(0)}})
	if err != nil {
		t.Fatal(err)
	}
	s.must("a store's error", s.client(client.Config{Name: "store", Breaker: gate}), s.base+"/things", true)
}

// search looks through what left the process, and makes sure that it can find things there.
func search(t *testing.T, left map[string]string) {
	t.Helper()
	for where, needles := range map[string][]string{
		"OTLP traces":    {"plimsoll.call", "/things?REDACTED", "REDACTED:REDACTED@", "http.request.resend_count", "plimsoll.breaker.store", "http.getconn"},
		"OTLP metrics":   {"plimsoll.call.escapes", "http.client.request.duration", "tls_handshake", "dns"},
		"the exposition": {"plimsoll_call_escapes_total", "plimsoll_hook_panics_total", `error_type="dial"`},
		"the log":        {`"level":"ERROR"`, `"level":"WARN"`},
	} {
		for _, needle := range needles {
			if !strings.Contains(left[where], needle) {
				t.Errorf("%s, %d bytes, lack %q: what is searched is not what was done", where, len(left[where]), needle)
			}
		}
	}
	coded := base64.StdEncoding.EncodeToString([]byte(planted + "user:" + planted + "password"))
	for where, text := range left {
		for _, secret := range []string{planted, strings.ToUpper(planted), coded, neturl.QueryEscape(planted)} {
			rest := text
			for range 5 {
				i := strings.Index(rest, secret)
				if i < 0 {
					break
				}
				t.Errorf("%s: a secret: %q", where, rest[max(0, i-60):min(len(rest), i+60)])
				rest = rest[i+len(secret):]
			}
		}
	}
}
