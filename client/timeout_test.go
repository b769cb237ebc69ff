package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestOtherTimeoutsDoNotWaitForThatOfHTTPClient(t *testing.T) {
	hang := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	for name, cfg := range map[string]Config{
		"AttemptTimeout":        {AttemptTimeout: time.Second},
		"ResponseHeaderTimeout": {Transport: &http.Transport{ResponseHeaderTimeout: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				cfg.Timeout = time.Minute
				r := newRig(t, cfg, hang)
				start := time.Now()
				_, _, err := r.do(context.Background(), http.MethodPost, strings.NewReader("x"))
				if took := time.Since(start); took != time.Second {
					t.Errorf("took %v, want 1s", took)
				}
				var timeout interface{ Timeout() bool }
				if !errors.As(err, &timeout) || !timeout.Timeout() || strings.Contains(err.Error(), "Client.Timeout") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestAResponseAfterTheAttemptTimeoutIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		late := &closeCounter{Reader: strings.NewReader("late")}
		calls := 0
		r := newRig(t, Config{AttemptTimeout: 2 * time.Second, Base: roundTripper(func(*http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				<-time.After(3 * time.Second) // it does not look at the context
				return &http.Response{StatusCode: 200, Body: late}, nil
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("in time"))}, nil
		})}, statuses("200"))
		_, body, err := r.get()
		if err != nil || body != "in time" {
			t.Errorf("got %q, %v", body, err)
		}
		if armed := eventstest.One[events.RetryArmed](t, r.rec); armed.Cause != events.CauseTimeout {
			t.Errorf("RetryArmed %+v", armed)
		}
		if n := late.closed.Load(); n != 1 {
			t.Errorf("the late response's body was closed %d times", n)
		}
	})
}

func TestACallWhoseContextIsOverSendsNothingAndTellsTheBreakerNothing(t *testing.T) {
	for name, over := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		},
		"canceled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := breakers(t, 1)
				r := newRig(t, Config{Breaker: b}, statuses("200"))
				ctx, cancel := over()
				defer cancel()
				body := &closeCounter{Reader: strings.NewReader("x")}
				_, _, err := r.do(ctx, http.MethodPost, body)
				if !errors.Is(err, ctx.Err()) {
					t.Errorf("error %v, want %v", err, ctx.Err())
				}
				if got := r.kinds(); got != "CallStarted CallDone" {
					t.Errorf("events %s", got)
				}
				if s, _ := b.Snapshot(partition); s.State != breaker.Closed {
					t.Errorf("the breaker is %v", s.State)
				}
				if n := body.closed.Load(); n != 1 {
					t.Errorf("the body was closed %d times", n)
				}
				balanced(t, r)
			})
		})
	}
}

// late is a context whose deadline passes without its telling so.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// http.Client.Timeout closes Cancel, and ends the context, at the same instant;
// whichever comes first, it is a deadline.
func TestACancelAtTheDeadlineIsTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, answersInTurn("hang"))
		cancel := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(cancel) })
		req, _ := http.NewRequestWithContext(late{context.Background(), time.Now().Add(time.Second)}, http.MethodGet, r.url, nil)
		req.Cancel = cancel //nolint:staticcheck // what http.Client.Timeout sets
		_, err := r.client.Transport.RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped || done.Class != events.ClassTimeout {
			t.Errorf("CallDone %+v", done)
		}
	})
}

func TestADeadlineWithACauseIsATimeoutWithThatCause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, answersInTurn("hang"))
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errBoom)
		defer cancel()
		_, _, err := r.do(ctx, http.MethodGet, nil)
		e, ok := errors.AsType[*url.Error](err)
		if !ok || !e.Timeout() || !errors.Is(err, errBoom) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestTheContextsOfAttemptsEndWithTheCall looks at contexts that hang on the
// caller's until they are canceled: a server's base context collects them.
func TestTheContextsOfAttemptsEndWithTheCall(t *testing.T) {
	for name, cfg := range map[string]Config{
		"AttemptTimeout":  {AttemptTimeout: time.Minute},
		"BodyIdleTimeout": {BodyIdleTimeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var attempts []context.Context
				cfg.Hooks = &events.Hooks{AttemptDone: func(ctx context.Context, _ events.AttemptDone) { attempts = append(attempts, ctx) }}
				cfg.Pool.Recoveries = -1
				r := newRig(t, cfg, answersInTurn("503", "abort", "503 Retry-After: 1", "200"))
				if _, _, err := r.get(); err != nil {
					t.Fatal(err)
				}
				if len(attempts) != 4 {
					t.Fatalf("%d attempts", len(attempts))
				}
				for i, ctx := range attempts {
					if ctx.Err() == nil {
						t.Errorf("the context of attempt %d lives on", i+1)
					}
				}
			})
		})
	}
}

// upgrades switches protocols and echoes.
var upgrades = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "echo")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, buffered)
})

func upgradeRequest(url string) *http.Request {
	req, _ := http.NewRequest(http.MethodGet, url, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	return req
}

func TestTheContextsOfAnUpgradedConnectionEndWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var attempt context.Context
		r := newRig(t, Config{AttemptTimeout: time.Second, Hooks: &events.Hooks{
			AttemptDone: func(ctx context.Context, _ events.AttemptDone) { attempt = ctx }, //nolint:fatcontext // it is what the test looks at
		}}, upgrades)
		req := upgradeRequest(r.url)
		req.Cancel = make(chan struct{}) //nolint:staticcheck // what http.Client.Timeout sets; its watcher must not outlive the call
		resp, err := r.client.Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		stream, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("a %T", resp.Body)
		}
		if _, err := io.WriteString(stream, "hello"); err != nil {
			t.Fatal(err)
		}
		echo := make([]byte, 5)
		if _, err := io.ReadFull(stream, echo); err != nil || string(echo) != "hello" {
			t.Fatalf("read %q, %v", echo, err)
		}
		if attempt.Err() != nil {
			t.Error("the context has ended before the connection")
		}
		if err := stream.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		if n, err := stream.Read(echo); n != 0 || err != io.EOF {
			t.Errorf("read %d bytes, %v, after CloseWrite", n, err)
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
		if attempt.Err() == nil {
			t.Error("the context outlives the connection")
		}
		synctest.Wait()
		balanced(t, r)
	})
}
