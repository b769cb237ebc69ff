package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// errBoom is what callbacks panic with; its identity must survive.
var errBoom = errors.New("errBoom")

// TestACallbackThatPanicsLeavesNothingBehind makes each callback panic, or call
// runtime.Goexit, at each place where the client calls it.
func TestACallbackThatPanicsLeavesNothingBehind(t *testing.T) {
	for _, how := range []struct {
		name string
		do   func()
	}{
		{"panic", func() { panic(errBoom) }},
		{"Goexit", runtime.Goexit},
	} {
		for _, row := range []struct {
			name    string
			answers []string
			level   int // afterwards, of 100
			set     func(cfg *Config, h *events.Hooks, do func())
		}{
			{name: "Partition", level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Partition = func(*http.Request) string { do(); return "" }
			}},
			{name: "Classify", level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Classify = func(*http.Response, error) breaker.Outcome { do(); return breaker.Success }
			}},
			{name: "RetryIf at the first attempt", answers: []string{"503"}, level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Retry.RetryIf = func(context.Context, Try) Verdict { do(); return Default }
			}},
			{name: "RetryIf after a retry", answers: []string{"503"}, level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Retry.RetryIf = func(_ context.Context, t Try) Verdict {
					if t.Attempt == 2 {
						do()
					}
					return Default
				}
			}},
			{name: "RetryIf after PeekBody", answers: []string{"503"}, level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Retry.RetryIf = func(_ context.Context, t Try) Verdict { _, _ = t.PeekBody(3); do(); return Default }
			}},
			{name: "CallStarted", level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.CallStarted = func(ctx context.Context, _ events.CallStarted) context.Context { do(); return ctx }
			}},
			{name: "AttemptStarted", level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.AttemptStarted = func(ctx context.Context, _ events.AttemptStarted) context.Context { do(); return ctx }
			}},
			{name: "AttemptStarted of a retry", answers: []string{"503"}, level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.AttemptStarted = func(ctx context.Context, e events.AttemptStarted) context.Context {
					if e.Attempt == 2 {
						do()
					}
					return ctx
				}
			}},
			{name: "AttemptDone", level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.AttemptDone = func(context.Context, events.AttemptDone) { do() }
			}},
			{name: "AttemptDone of a retry", answers: []string{"503", "200"}, level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.AttemptDone = func(_ context.Context, e events.AttemptDone) {
					if e.Attempt == 2 {
						do()
					}
				}
			}},
			{name: "ThrottleRecorded", answers: []string{"503 Retry-After: 1"}, level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.ThrottleRecorded = func(context.Context, events.ThrottleRecorded) { do() }
			}},
			{name: "BudgetReserved", answers: []string{"503"}, level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.BudgetReserved = func(context.Context, events.BudgetReserved) { do() }
			}},
			{name: "BudgetSettled", answers: []string{"503"}, level: 95, set: func(_ *Config, h *events.Hooks, do func()) {
				h.BudgetSettled = func(context.Context, events.BudgetSettled) { do() }
			}},
			{name: "RetryArmed", answers: []string{"503"}, level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.RetryArmed = func(context.Context, events.RetryArmed) { do() }
			}},
			{name: "RetrySkipped", answers: []string{"503"}, level: 100, set: func(c *Config, h *events.Hooks, do func()) {
				c.Retry.MaxRetries = -1
				h.RetrySkipped = func(context.Context, events.RetrySkipped) { do() }
			}},
			{name: "BreakerChanged", answers: []string{"503"}, level: 100, set: func(c *Config, h *events.Hooks, do func()) {
				h.BreakerChanged = func(context.Context, events.BreakerChanged) { do() }
			}},
			{name: "GetBody", answers: []string{"503"}, level: 100},
			{name: "Jar", answers: []string{"503 Set-Cookie: a=b"}, level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				c.Jar = jarFunc(do)
			}},
			{name: "BreakerFallback", level: 100, set: func(c *Config, _ *events.Hooks, do func()) {
				open(t, c.Breaker)
				c.BreakerFallback = func(*http.Request, *breaker.RejectedError) (*http.Response, error) { do(); return nil, errBoom }
			}},
			{name: "BreakerRejected", level: 100, set: func(c *Config, h *events.Hooks, do func()) {
				open(t, c.Breaker)
				h.BreakerRejected = func(context.Context, events.BreakerRejected) { do() }
			}},
			{name: "BreakerProbe", level: 100, set: func(c *Config, h *events.Hooks, do func()) {
				open(t, c.Breaker)
				<-time.After(time.Hour) // half-open now
				h.BreakerProbe = func(_ context.Context, e events.BreakerProbe) {
					if !e.Released {
						do()
					}
				}
			}},
			{name: "BudgetReplenished", level: 91, set: func(c *Config, h *events.Hooks, do func()) {
				spend(t, c.Budget, 10)
				h.BudgetReplenished = func(context.Context, events.BudgetReplenished) { do() }
			}},
			{name: "CallDone", level: 100, set: func(_ *Config, h *events.Hooks, do func()) {
				h.CallDone = func(context.Context, events.CallDone) { do() }
			}},
		} {
			t.Run(how.name+" in "+row.name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					bucket := capacity(t, 100)
					failures := 5
					if strings.HasPrefix(row.name, "Breaker") {
						failures = 1
					}
					cfg := Config{Budget: bucket, Breaker: breakers(t, failures), Hooks: &events.Hooks{}}
					if row.set != nil {
						row.set(&cfg, cfg.Hooks, how.do)
					}
					answers := row.answers
					if answers == nil {
						answers = []string{"200"}
					}
					r := newRig(t, cfg, statuses(answers...))
					body := &closeCounter{Reader: strings.NewReader("body")}
					bodies := []*closeCounter{body}
					req, _ := http.NewRequest(http.MethodPut, r.url, nil)
					req.Body, req.ContentLength = body, 4
					req.GetBody = func() (io.ReadCloser, error) {
						if row.name == "GetBody" {
							how.do()
						}
						b := &closeCounter{Reader: strings.NewReader("body")}
						bodies = append(bodies, b)
						return b, nil
					}
					value, ended := caught(func() {
						resp, err := r.client.Transport.RoundTrip(req)
						if err == nil {
							resp.Body.Close()
						}
					})
					if how.name == "panic" && value != any(errBoom) || how.name == "Goexit" && (value != nil || ended) {
						t.Errorf("recovered %v, ended in order: %v", value, ended)
					}
					synctest.Wait()
					for i, b := range bodies {
						if n := b.closed.Load(); n != 1 {
							t.Errorf("request body %d was closed %d times", i+1, n)
						}
					}
					if got := bucket.Level(partition); got != row.level {
						t.Errorf("level %d, want %d", got, row.level)
					}
					if row.name != "CallDone" && row.name != "CallStarted" {
						if a, b := eventstest.Count[events.CallStarted](r.rec), eventstest.Count[events.CallDone](r.rec); a != b {
							t.Errorf("%d calls started, %d done", a, b)
						}
					}
					if n := r.client.transport.gen.Load().targets.active(); n != 0 {
						t.Errorf("%d calls still running", n)
					}
					for key, l := range bucket.Levels() {
						if l.Reserved != 0 {
							t.Errorf("%s: %d tokens still reserved", key, l.Reserved)
						}
					}
					if row.name == "Partition" {
						return
					}
					// No permit is left behind: a probe would be refused for the
					// length of a lease otherwise, and the next call goes through.
					stats := r.client.Stats()
					for origin, o := range stats.Pool.Origins {
						if o.Requests != 0 || o.Waiting != 0 || o.Active != 0 {
							t.Errorf("%s: %+v", origin, o)
						}
					}
				})
			})
		}
	}
}

// jarFunc is a jar that is told of cookies.
type jarFunc func()

func (f jarFunc) SetCookies(*url.URL, []*http.Cookie) { f() }
func (f jarFunc) Cookies(*url.URL) []*http.Cookie     { return nil }

// open makes the breaker open for the rig's partition.
func open(t testing.TB, b *breaker.Breaker) {
	t.Helper()
	for {
		p, err := b.Admit(context.Background(), partition)
		if err != nil {
			return
		}
		p.Failure()
	}
}

// TestAPanicDuringAProbeFreesItsLease makes hooks panic while the call holds
// the lease of a half-open breaker.
func TestAPanicDuringAProbeFreesItsLease(t *testing.T) {
	for name, h := range map[string]*events.Hooks{
		"AttemptStarted": {AttemptStarted: func(context.Context, events.AttemptStarted) context.Context { panic(errBoom) }},
		"AttemptDone":    {AttemptDone: func(context.Context, events.AttemptDone) { panic(errBoom) }},
		"BreakerProbe": {BreakerProbe: func(_ context.Context, e events.BreakerProbe) {
			if !e.Released {
				panic(errBoom)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := breakers(t, 1)
				open(t, b)
				<-time.After(time.Hour)
				r := newRig(t, Config{Breaker: b}, statuses("200"))
				ctx := events.With(context.Background(), h)
				if value, _ := caught(func() { _, _, _ = r.do(ctx, http.MethodGet, nil) }); value != any(errBoom) {
					t.Fatalf("recovered %v", value)
				}
				if resp, _, err := r.get(); err != nil || resp.StatusCode != 200 {
					t.Errorf("the next call: %v, %v; want it to be the probe", resp, err)
				}
				if s, _ := b.Snapshot(partition); s.State != breaker.Closed {
					t.Errorf("the breaker is %v", s.State)
				}
			})
		})
	}
}

func TestAPanicInCallDoneClosesAnUpgradedConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Hooks: &events.Hooks{CallDone: func(context.Context, events.CallDone) { panic(errBoom) }}}, upgrades)
		req := upgradeRequest(r.url)
		req.Cancel = make(chan struct{}) //nolint:staticcheck // what http.Client.Timeout sets; its watcher must not outlive the call
		if value, _ := caught(func() { _, _ = r.client.Transport.RoundTrip(req) }); value != any(errBoom) {
			t.Fatalf("recovered %v", value)
		}
		synctest.Wait()
		if n := r.client.Stats().Pool.Open; n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// caught runs f on a goroutine of its own and returns what it panicked with
// and whether it came to its end.
func caught(f func()) (value any, ended bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { value = recover() }()
		f()
		ended = true
	}()
	<-done
	return value, ended
}

func TestAVerdictOutsideTheSetPanicsWithAHint(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Retry: RetryPolicy{RetryIf: func(context.Context, Try) Verdict { return 7 }}}, statuses("503"))
		value, _ := caught(func() { _, _, _ = r.get() })
		if s := fmt.Sprint(value); !strings.Contains(s, "Verdict(7)") || !strings.Contains(s, "client.Default") {
			t.Errorf("panic %v", value)
		}
		balanced(t, r)
	})
}

func TestAPanicOfTheBaseReachesTheCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { panic(errBoom) })}, statuses("200"))
		if value, _ := caught(func() { _, _, _ = r.get() }); value != any(errBoom) {
			t.Errorf("recovered %v", value)
		}
		balanced(t, r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
