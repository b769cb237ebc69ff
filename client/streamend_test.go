package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/sse"
)

// plain answers with a status, a content type and a body.
func plain(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// never answers nothing until the client leaves.
func never(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }

// die writes one event and cuts the connection.
var die = feed(func(_ *http.Request, write func(string)) {
	write("id: 1\ndata: one\n\ndata: cut")
	panic(http.ErrAbortHandler)
})

// TestEveryTerminalReasonIsGivenOnce has a row for each reason of the closed
// set.
func TestEveryTerminalReasonIsGivenOnce(t *testing.T) {
	seen := map[events.StreamReason]bool{}
	noRetry := RetryPolicy{MaxRetries: -1}
	for _, row := range []struct {
		name    string
		reason  events.StreamReason
		cfg     Config
		handler http.Handler
		prepare func(r *rig)
		dial    func(ctx context.Context, network, addr string) (net.Conn, error)
		timeout time.Duration // of the context
		cancel  time.Duration // when the context is canceled
		stop    bool          // break at the first event
		opened  bool
		took    time.Duration
		status  int
		code    string
		clean   bool // no error
	}{
		{name: "in order", reason: events.StreamEnded, handler: feed(func(_ *http.Request, write func(string)) { write("data: x\n\n") }), opened: true, clean: true},
		{name: "closed", reason: events.StreamClosedByCaller, handler: stay("data: x\n\n"), opened: true, stop: true, clean: true},
		{name: "canceled", reason: events.StreamCanceled, handler: stay("data: x\n\n"), opened: true, cancel: time.Second, took: time.Second},
		{name: "canceled while it opens", reason: events.StreamCanceled, handler: http.HandlerFunc(never), cancel: time.Second, took: time.Second},
		{name: "deadline", reason: events.StreamDeadline, handler: stay("data: x\n\n"), opened: true, timeout: time.Second, took: time.Second},
		{name: "deadline while it opens", reason: events.StreamDeadline, handler: http.HandlerFunc(never), timeout: time.Second, took: time.Second},
		{
			name: "connect timeout", reason: events.StreamConnectTimeout, handler: stay(), took: 10 * time.Second,
			cfg: Config{Retry: noRetry}, dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done() // until the pool closes
				return nil, ctx.Err()
			},
		},
		{name: "header timeout", reason: events.StreamHeaderTimeout, cfg: Config{Retry: noRetry}, handler: http.HandlerFunc(never), took: 30 * time.Second},
		{name: "idle", reason: events.StreamIdle, handler: stay("data: x\n\n"), opened: true, took: time.Minute},
		{
			name: "total bytes", reason: events.StreamTotalBytes, handler: stay("data: x\n\n"), opened: true, status: 413, code: "HTTP_413",
			cfg: Config{Stream: StreamConfig{TotalBytes: 8}},
		},
		{
			name: "line bytes", reason: events.StreamLineBytes, handler: stay("data: x\n\n"), opened: true, status: 413, code: "HTTP_413",
			cfg: Config{Stream: StreamConfig{LineBytes: 6}},
		},
		{
			name: "event bytes", reason: events.StreamEventBytes, handler: stay("data: xx\n\n"), opened: true, status: 413, code: "HTTP_413",
			cfg: Config{Stream: StreamConfig{EventBytes: 1}},
		},
		{name: "status", reason: events.StreamStatus, handler: plain(404, "text/event-stream", "no such feed"), status: 404, code: "HTTP_404"},
		{name: "status after retries", reason: events.StreamStatus, handler: statuses("503"), status: 503, code: "HTTP_503", cfg: Config{Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1}}},
		{name: "no content", reason: events.StreamStatus, handler: statuses("204"), status: 204, code: "HTTP_204"},
		{name: "content type", reason: events.StreamContentType, handler: plain(200, "application/json", "{}"), status: 200},
		{name: "encoding", reason: events.StreamEncoding, handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "?")
		}), status: 200},
		{name: "transport", reason: events.StreamTransport, handler: die, opened: true},
		{name: "rejected by the breaker", reason: events.StreamRejected, handler: stay(), cfg: Config{Breaker: breakers(t, 1)}, prepare: func(r *rig) {
			p, err := r.client.transport.cfg.Breaker.Admit(context.Background(), partition)
			if err != nil {
				t.Fatal(err)
			}
			p.Failure()
		}},
		{name: "rejected by a throttle", reason: events.StreamRejected, handler: stay(), cfg: Config{MaxTotalRetryDuration: time.Second}, prepare: func(r *rig) {
			r.client.transport.throttles.Record(partition, time.Now().Add(5*time.Second))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, row.cfg, row.handler)
				if row.dial != nil {
					r = r.dialling(row.cfg, row.dial)
				}
				if row.prepare != nil {
					row.prepare(r)
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if row.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, row.timeout)
					defer cancel()
				}
				if row.cancel > 0 {
					time.AfterFunc(row.cancel, cancel)
				}
				start := time.Now()
				s, err := r.client.Stream(r.request(ctx))
				if (err == nil) != row.opened || (s != nil) != row.opened {
					t.Fatalf("Stream returned %v, %v", s, err)
				}
				if s != nil {
					if row.stop {
						for range s.Events() {
							break
						}
					} else {
						_, err = collect(t, s)
					}
					if s.Reason() != row.reason {
						t.Errorf("reason %q", s.Reason())
					}
				}
				if took := time.Since(start); took < row.took || took > row.took+time.Millisecond {
					t.Errorf("it took %v, want %v", took, row.took)
				}
				if row.clean != (err == nil) {
					t.Fatalf("error %v", err)
				}
				if err != nil {
					var e *StreamError
					if !errors.As(err, &e) || e.Reason != row.reason || e.Status != row.status || e.Code != row.code || e.Err == nil {
						t.Errorf("error %+v", err)
					}
					if !strings.HasPrefix(err.Error(), "client: stream "+string(row.reason)) {
						t.Errorf("text %q", err)
					}
					timeout := strings.Contains(string(row.reason), "timeout") || row.reason == events.StreamDeadline || row.reason == events.StreamIdle
					if e.Timeout() != timeout {
						t.Errorf("Timeout() is %v", e.Timeout())
					}
				}
				r.over(row.reason)
				if n := eventstest.Count[events.StreamOpened](r.rec); (n == 1) != row.opened {
					t.Errorf("%d times opened", n)
				}
				seen[row.reason] = true
			})
		})
	}
	for _, reason := range events.StreamReasons() {
		if !seen[reason] {
			t.Errorf("no row for %q", reason)
		}
	}
}

func TestCausesStayReachableThroughStreamError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 1)
		r := newRig(t, Config{Breaker: b, Retry: RetryPolicy{MaxRetries: -1}}, statuses("503"))
		_, err := r.client.Stream(r.request(context.Background()))
		var e *StreamError
		if report, ok := ReportOfError(err); !ok || report.Attempts != 1 || report.Skipped != events.SkipDisabled {
			t.Errorf("report %+v of %v", report, err)
		}
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		if report, ok := ReportOf(e.Response()); !ok || report.Skipped != events.SkipDisabled {
			t.Errorf("report %+v of the response", report)
		}
		_, err = r.client.Stream(r.request(context.Background()))
		var rejected *breaker.RejectedError
		if !errors.As(err, &rejected) || rejected.State != breaker.Open {
			t.Errorf("error %v", err)
		}
		if errors.As(err, &e); e.Response() != nil {
			t.Errorf("response %v of a stream that was not sent", e.Response())
		}
	})
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{LineBytes: 4}}, stay("data\n\ndata: 1\n\n"))
		_, err := collect(t, r.stream(context.Background()))
		var full *sse.CapError
		if !errors.As(err, &full) || full.Cap != sse.LineCap || full.Limit != 4 || full.Events != 1 {
			t.Errorf("error %v", err)
		}
		if want := "client: stream line_bytes (HTTP_413): more than 4 bytes in a line (events before: 1); raise Config.Stream.LineBytes if the server is trusted"; err.Error() != want {
			t.Errorf("text %q, want %q", err, want)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped {
			t.Errorf("CallDone %+v", done)
		}
	})
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, die)
		_, err := collect(t, r.stream(context.Background()))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped || done.Class != events.ClassEOF {
			t.Errorf("CallDone %+v", done)
		}
	})
}

func TestARefusedResponseKeepsWhatItSaid(t *testing.T) {
	for _, row := range []struct {
		name    string
		handler http.Handler
		bytes   int
		took    time.Duration
		conns   int
	}{
		{"short", plain(401, "application/json", `{"error":"expired"}`), 19, 0, 1},
		{"long", plain(500, "text/plain", strings.Repeat("x", 100_000)), 64 << 10, 0, 2},
		{"slow", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(403)
			for range 10 {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				pass(req, 300*time.Millisecond)
			}
		}), 4, time.Second, 2},
		{"endless", feed(func(req *http.Request, write func(string)) { <-req.Context().Done() }), 0, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{Retry: RetryPolicy{MaxRetries: -1}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if row.name == "endless" {
						w.Header().Set("Content-Encoding", "zstd")
					}
					row.handler.ServeHTTP(w, req)
				}))
				start := time.Now()
				_, err := r.client.Stream(r.request(context.Background()))
				var e *StreamError
				if !errors.As(err, &e) {
					t.Fatal(err)
				}
				if row.name == "endless" {
					row.took = time.Second
				}
				if took := time.Since(start); took != row.took {
					t.Errorf("it took %v, want %v", took, row.took)
				}
				body, err := io.ReadAll(e.Response().Body)
				if err != nil || len(body) != row.bytes || e.Response().StatusCode != e.Status {
					t.Errorf("%d bytes, %v; want %d", len(body), err, row.bytes)
				}
				r.over(e.Reason)
			})
		})
	}
}

func TestARedirectThatCheckRedirectRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/x?token=s3cret", http.StatusFound)
		}))
		mine := errors.New("no redirects here")
		r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return mine }
		_, err := r.client.Stream(r.request(context.Background()))
		var e *StreamError
		if !errors.As(err, &e) || e.Reason != events.StreamStatus || e.Status != 302 || !errors.Is(err, mine) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("error %v", err)
		}
		r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if _, err = r.client.Stream(r.request(context.Background())); !errors.As(err, &e) || e.Status != 302 || e.Response().Header.Get("Location") == "" {
			t.Errorf("error %v", err)
		}
	})
}

func TestSecretsStayOutOfStreamErrors(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, handler := range []http.Handler{
			statuses("404"), die, plain(200, "application/json; s3cret=1", "s3cret"), plain(200, "s3cret", ""),
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", "s3cret")
			}),
			http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, "/events?s3cret", http.StatusFound)
			}),
		} {
			r := newRig(t, Config{}, handler)
			req := r.request(context.Background())
			req.URL.RawQuery = "token=s3cret"
			req.Header.Set("Authorization", "Bearer s3cret")
			s, err := r.client.Stream(req)
			if err == nil {
				_, err = collect(t, s)
			}
			for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
				if strings.Contains(text, "s3cret") {
					t.Errorf("a secret in %s", text)
				}
			}
		}
	})
}
