package client

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// realServers runs f against a TCP, a TLS and an HTTP/2 server.
func realServers(t *testing.T, handler http.Handler, f func(t *testing.T, s *httptest.Server, cfg Config)) {
	for _, kind := range []string{"TCP", "TLS", "HTTP2"} {
		t.Run(kind, func(t *testing.T) {
			s := httptest.NewUnstartedServer(handler)
			s.Config.ErrorLog = quiet // handshakes that a client gave up
			cfg := Config{NoTelemetry: true}
			switch kind {
			case "TCP":
				s.Start()
			case "HTTP2":
				s.EnableHTTP2 = true
				fallthrough
			case "TLS":
				s.StartTLS()
				cfg.Transport = &http.Transport{
					TLSClientConfig:   &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs},
					ForceAttemptHTTP2: kind == "HTTP2",
				}
			}
			defer s.Close()
			f(t, s, cfg)
		})
	}
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOrdinaryRequestsOverRealServers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s", r.Proto) })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(b)
	})
	mux.HandleFunc("GET /gzip", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("plain ", 1000))
		z.Close()
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", Path: "/"})
		http.Redirect(w, r, "/me", http.StatusFound)
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("session")
		fmt.Fprintf(w, "%v %v", c, err)
	})
	realServers(t, mux, func(t *testing.T, s *httptest.Server, cfg Config) {
		cfg.Jar, _ = cookiejar.New(nil)
		c := newClient(t, cfg)
		read := func(resp *http.Response, err error) string {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		want := "HTTP/1.1"
		if s.EnableHTTP2 {
			want = "HTTP/2.0"
		}
		if got := read(c.Get(s.URL + "/")); got != want {
			t.Errorf("GET: %q, want %q", got, want)
		}
		big := strings.Repeat("0123456789", 50_000)
		if got := read(c.Post(s.URL+"/echo", "text/plain", strings.NewReader(big))); got != big {
			t.Errorf("POST: %d bytes back of %d", len(got), len(big))
		}
		if got := read(c.Post(s.URL+"/echo", "text/plain", struct{ io.Reader }{strings.NewReader(big)})); got != big {
			t.Errorf("POST of a one-shot body: %d bytes back of %d", len(got), len(big))
		}
		if got := read(c.Get(s.URL + "/gzip")); got != strings.Repeat("plain ", 1000) {
			t.Errorf("gzip: %d bytes", len(got))
		}
		if got := read(c.Get(s.URL + "/login")); got != "session=s1 <nil>" {
			t.Errorf("cookies: %q", got)
		}
		resp, err := c.Head(s.URL + "/")
		if got := read(resp, err); got != "" {
			t.Errorf("HEAD: %q", got)
		}
	})
}

func TestCancellationEndsTheCallAtOnce(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	realServers(t, handler, func(t *testing.T, s *httptest.Server, cfg Config) {
		rec := eventstest.NewRecorder()
		cfg.Hooks = rec.Hooks()
		c := newClient(t, cfg)
		mine := errors.New("my reason")
		ctx, cancel := context.WithCancelCause(context.Background())
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		time.AfterFunc(20*time.Millisecond, func() { cancel(mine) })
		_, err := c.Do(req)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, mine) {
			t.Errorf("error %v, want the cancellation and its cause", err)
		}
		ctx, cancel = context.WithCancelCause(context.Background())
		req, _ = http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/body", nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(20*time.Millisecond, func() { cancel(mine) })
		if _, err = io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) || !errors.Is(err, mine) {
			t.Errorf("error %v of the body, want the cancellation and its cause", err)
		}
		resp.Body.Close()
		for _, done := range eventstest.All[events.CallDone](rec) {
			if done.Outcome != events.OutcomeCanceled || done.Class != events.ClassCanceled {
				t.Errorf("CallDone %+v", done)
			}
		}
		if n := eventstest.Count[events.CallDone](rec); n != 2 {
			t.Errorf("%d calls done, want 2", n)
		}
	})
}

func TestEveryTimeoutOfHTTPClientSaysSo(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	realServers(t, handler, func(t *testing.T, s *httptest.Server, cfg Config) {
		cfg.Timeout = 3 * time.Millisecond
		c := newClient(t, cfg)
		for i := range 200 {
			_, err := c.Get(s.URL)
			if err == nil || !strings.Contains(err.Error(), "Client.Timeout exceeded") {
				t.Fatalf("time-out %d: %v", i+1, err)
			}
			var timeout interface{ Timeout() bool }
			if !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("time-out %d is not a timeout: %v", i+1, err)
			}
		}
		c.Client.Timeout = 100 * time.Millisecond
		for i := range 3 {
			resp, err := c.Get(s.URL + "/body")
			for err != nil && c.Client.Timeout < time.Minute { // a busy machine
				c.Client.Timeout *= 2
				resp, err = c.Get(s.URL + "/body")
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil || !strings.Contains(err.Error(), "Client.Timeout") {
				t.Fatalf("body time-out %d: %v", i+1, err)
			}
		}
	})
}

func TestARedirectChainIsOneCallPerHopAndOneClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// Every hop answers 503 with Retry-After 4 first. The clock of 10 s
		// allows two such waits, wherever in the chain they fall.
		var seen = map[string]int{}
		r := newRig(t, Config{MaxTotalRetryDuration: 10 * time.Second}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			seen[req.URL.Path]++
			if seen[req.URL.Path] == 1 {
				w.Header().Set("Retry-After", "4")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			http.Redirect(w, req, req.URL.Path+"x", http.StatusFound)
		}))
		start := time.Now()
		resp, _, err := r.get()
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("got %v, %v", resp, err)
		}
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("took %v, want 8s", took)
		}
		var resends []int
		for _, e := range eventstest.All[events.AttemptStarted](r.rec) {
			resends = append(resends, e.Resend)
		}
		if fmt.Sprint(resends) != "[0 1 2 3 4]" {
			t.Errorf("resend counts %v, want [0 1 2 3 4]", resends)
		}
		if n := eventstest.Count[events.CallDone](r.rec); n != 3 {
			t.Errorf("%d calls, want 3", n)
		}
		if skip := eventstest.One[events.RetrySkipped](t, r.rec); skip.Reason != events.SkipDeadline {
			t.Errorf("skip %+v", skip)
		}
	})
}

// closeCounter counts how often a body is closed.
type closeCounter struct {
	io.Reader
	closed atomic.Int32
	once   sync.Once
	first  chan struct{} // if not nil, closed by the first Close
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	if c.first != nil {
		c.once.Do(func() { close(c.first) })
	}
	return nil
}

func TestTheRequestBodyIsClosedExactlyOnce(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	realServers(t, handler, func(t *testing.T, s *httptest.Server, cfg Config) {
		c := newClient(t, cfg)
		var made []*closeCounter
		fresh := func() (io.ReadCloser, error) {
			b := &closeCounter{Reader: strings.NewReader("body"), first: make(chan struct{})}
			made = append(made, b)
			return b, nil
		}
		send := func(url string, ctx context.Context, getBody bool) {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
			req.Body, _ = fresh()
			req.ContentLength = 4
			if getBody {
				req.GetBody = fresh
			}
			if resp, err := c.Transport.RoundTrip(req); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		send(s.URL, context.Background(), false)
		send(s.URL, context.Background(), true)
		if len(made) != 6 {
			t.Errorf("%d bodies, want 1 and 5", len(made))
		}
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		send(s.URL, canceled, true)
		send("http://"+s.Listener.Addr().String()+"0", context.Background(), false) // no such port
		send("ftp://example.test", context.Background(), false)
		c.Close()
		send(s.URL, context.Background(), true)
		for i, b := range made {
			select {
			case <-b.first: // HTTP/2 closes it after RoundTrip has returned
			case <-time.After(20 * time.Second):
			}
			if n := b.closed.Load(); n != 1 {
				t.Errorf("body %d was closed %d times", i, n)
			}
		}
	})
}
