package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/pool"
)

// everyOtherTimeout is a client whose timeouts are all a second but for the
// longest silence, which is three.
func everyOtherTimeout() Config {
	return Config{
		Timeout: time.Second, AttemptTimeout: time.Second, BodyIdleTimeout: time.Second, MaxResponseBytes: 10, MaxTotalRetryDuration: time.Second,
		Transport: &http.Transport{ResponseHeaderTimeout: time.Second, IdleConnTimeout: time.Second, TLSHandshakeTimeout: time.Second},
		Pool:      pool.Config{MaxConnLifetime: time.Second, MaxConnWait: time.Second},
		Stream:    StreamConfig{ConnectTimeout: time.Second, HeaderTimeout: time.Second, ReadIdleTimeout: 3 * time.Second},
	}
}

func TestATrickleOfCommentsOutlivesEveryTimeoutButTheIdleOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, everyOtherTimeout(), feed(func(req *http.Request, write func(string)) {
			write("data: first\n\n")
			for range 10 {
				pass(req, 2*time.Second)
				write(":\n")
			}
			write("data: last\n\n")
		}))
		start := time.Now()
		got, err := collect(t, r.stream(context.Background()))
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/=first", "message/=last")
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("it took %v", took)
		}
		r.over(events.StreamEnded)
	})
}

func TestSilencePastTheIdleTimeoutEndsAStreamOnce(t *testing.T) {
	for _, resume := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			cfg := everyOtherTimeout()
			cfg.Stream.Resume = resume
			r := newRig(t, cfg, feed(func(req *http.Request, write func(string)) {
				for _, gap := range []time.Duration{0, 2999 * time.Millisecond, 2999 * time.Millisecond, 3001 * time.Millisecond} {
					pass(req, gap)
					write(fmt.Sprintf("data: %v\n\n", gap))
				}
			}))
			start := time.Now()
			got, err := collect(t, r.stream(context.Background()))
			equal(t, got, "message/=0s", "message/=2.999s", "message/=2.999s")
			if reasonOf(err) != events.StreamIdle || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3s (Config.Stream.ReadIdleTimeout)") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(start); took != 5998*time.Millisecond+3*time.Second {
				t.Errorf("it took %v", took)
			}
			r.over(events.StreamIdle)
			if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped || done.Class != events.ClassTimeout {
				t.Errorf("CallDone %+v", done)
			}
		})
	}
}

func TestWhatTheCallerDoesBetweenEventsIsNoSilence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, feed(func(req *http.Request, write func(string)) {
			write("data: 1\n\n")
			pass(req, 10*time.Minute)
			write("data: 2\n\n")
		}))
		s := r.stream(context.Background())
		<-time.After(time.Hour)
		n := 0
		for _, err := range s.Events() {
			if err != nil {
				t.Fatal(err)
			}
			n++
			<-time.After(time.Hour)
		}
		if n != 2 {
			t.Errorf("%d events", n)
		}
		r.over(events.StreamEnded)
	})
}

func TestSlowOpeningsAreTriedAgain(t *testing.T) {
	for _, row := range []struct {
		name       string
		dial, head time.Duration // until the connection is there, and from there to the headers, at the first attempt
		want       events.StreamReason
		took       time.Duration // of the first attempt
	}{
		{"within both", 9 * time.Second, 29 * time.Second, "", 38 * time.Second},
		{"no connection", 11 * time.Second, 0, events.StreamConnectTimeout, 10 * time.Second},
		{"no headers", 9 * time.Second, 31 * time.Second, events.StreamHeaderTimeout, 39 * time.Second},
	} {
		for _, retries := range []int{-1, 1} {
			t.Run(fmt.Sprint(row.name, " ", retries), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					attempts := 0
					var dials atomic.Int32
					cfg := Config{Retry: RetryPolicy{MaxRetries: retries, BaseDelay: 1, MaxDelay: 1}}
					r := newRig(t, cfg, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						if attempts++; attempts == 1 && row.want != events.StreamConnectTimeout {
							pass(req, row.head)
						}
						stay("data: x\n\n").ServeHTTP(w, req)
					}))
					r = r.dialling(cfg, func(ctx context.Context, network, addr string) (net.Conn, error) {
						if dials.Add(1) == 1 {
							<-time.After(row.dial)
						}
						return r.listener.DialContext(ctx, network, addr)
					})
					start := time.Now()
					// A method that is not idempotent, which is sent again only where
					// it was certainly not sent.
					req := r.request(context.Background())
					if row.want == events.StreamConnectTimeout {
						req.Method = http.MethodPost
					}
					s, err := r.client.Stream(req)
					if took := time.Since(start); took < row.took || took > row.took+10 {
						t.Errorf("it took %v, want %v", took, row.took)
					}
					if retries < 0 || row.want == "" {
						if reasonOf(err) != row.want {
							t.Fatalf("error %v, want reason %q", err, row.want)
						}
					} else {
						armed := eventstest.One[events.RetryArmed](t, r.rec)
						if err != nil || armed.Cause != events.CauseTimeout || armed.Cost != 10 {
							t.Fatalf("%v; %+v", err, armed)
						}
					}
					if err == nil {
						s.Close()
					}
					balanced(t, r)
					<-time.After(row.dial) // for a connection that nobody waits for any more
				})
			})
		}
	}
}

func TestTheQueueForAConnectionIsNotInTheConnectTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg := Config{Transport: &http.Transport{MaxConnsPerHost: 1}}
		r := newRig(t, cfg, stay("data: x\n\n"))
		first := r.stream(context.Background())
		time.AfterFunc(time.Hour, func() { first.Close() })
		start := time.Now()
		second := r.stream(context.Background())
		if took := time.Since(start); took != time.Hour {
			t.Errorf("it took %v", took)
		}
		if report, _ := ReportOf(second.Response()); report.ConnWait != time.Hour {
			t.Errorf("report %+v", report)
		}
		second.Close()
		balanced(t, r)
	})
	inBubble(t, func(t *testing.T) {
		cfg := Config{Transport: &http.Transport{MaxConnsPerHost: 1}, Pool: pool.Config{MaxConnWait: time.Minute}, Breaker: breakers(t, 1)}
		r := newRig(t, cfg, stay("data: x\n\n"))
		first := r.stream(context.Background())
		_, err := r.client.Stream(r.request(context.Background()))
		var wait *pool.WaitError
		if reasonOf(err) != events.StreamConnectTimeout || !errors.As(err, &wait) {
			t.Errorf("error %v", err)
		}
		first.Close()
		r.stream(context.Background()).Close() // queueing is no failure for the breaker
	})
}

func TestABaseThatTellsNothingHasBothTimesTogether(t *testing.T) {
	for _, row := range []struct {
		name   string
		traced bool
		took   time.Duration
		want   events.StreamReason
	}{
		{"nothing told", false, 40 * time.Second, events.StreamHeaderTimeout},
		{"connecting", true, 10 * time.Second, events.StreamConnectTimeout},
	} {
		inBubble(t, func(t *testing.T) {
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				if trace := httptrace.ContextClientTrace(req.Context()); row.traced {
					trace.GetConn("origin.test:80")
				}
				<-req.Context().Done()
				return nil, req.Context().Err()
			})
			r := newRig(t, Config{Base: base, Retry: RetryPolicy{MaxRetries: -1}}, stay())
			start := time.Now()
			_, err := r.client.Stream(r.request(context.Background()))
			if took := time.Since(start); reasonOf(err) != row.want || took != row.took {
				t.Errorf("%s: %v after %v", row.name, err, took)
			}
			balanced(t, r)
		})
	}
	inBubble(t, func(t *testing.T) {
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			<-time.After(time.Minute)
			return nil, errors.New("nobody is there")
		}}
		r := newRig(t, Config{Base: base, Retry: RetryPolicy{MaxRetries: -1}}, stay())
		start := time.Now()
		_, err := r.client.Stream(r.request(context.Background()))
		if took := time.Since(start); reasonOf(err) != events.StreamConnectTimeout || took != 10*time.Second {
			t.Errorf("http.Transport: %v after %v", err, took)
		}
		<-time.After(time.Minute) // for the dial
	})
}

func TestARedirectWithAnEndlessBodyHoldsNothingUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/events" {
				w.Header().Set("Location", "/there")
				w.WriteHeader(http.StatusFound)
				w.(http.Flusher).Flush()
				for req.Context().Err() == nil {
					pass(req, 100*time.Millisecond)
					io.WriteString(w, "x")
					w.(http.Flusher).Flush()
				}
				return
			}
			stay("data: x\n\n").ServeHTTP(w, req)
		}))
		start := time.Now()
		s := r.stream(context.Background())
		if took := time.Since(start); took != refusedBodyTime {
			t.Errorf("it took %v", took)
		}
		s.Close()
		balanced(t, r)
	})
}

func TestAStreamThatOpensSlowlyKeepsItsProbe(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 1)
		r := newRig(t, Config{Breaker: b}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			pass(req, 29*time.Second)
			stay("data: x\n\n").ServeHTTP(w, req)
		}))
		r = r.dialling(Config{Breaker: b}, func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-time.After(9 * time.Second)
			return r.listener.DialContext(ctx, network, addr)
		})
		p, err := b.Admit(context.Background(), partition)
		if err != nil {
			t.Fatal(err)
		}
		p.Failure()
		<-time.After(time.Minute) // the cooldown
		time.AfterFunc(35*time.Second, func() {
			if p, err := b.Admit(context.Background(), partition); err == nil {
				t.Error("the lease is over while the stream opens")
				p.Cancel()
			}
		})
		r.stream(context.Background()).Close()
		if s := r.client.Stats().Breaker[partition]; s.State != breaker.Closed {
			t.Errorf("breaker %+v", s)
		}
	})
}

func TestThePhasesOfAnAttemptAddUp(t *testing.T) {
	cfg := &StreamConfig{ConnectTimeout: 10 * time.Second, HeaderTimeout: 30 * time.Second}
	type step struct {
		do    func(*openTimer)
		after time.Duration
	}
	connect := func(t *openTimer) { t.enter(connecting) }
	wait := func(t *openTimer) { t.enter(awaitingHeaders) }
	queue := func(t *openTimer) { t.pause(true) }
	served := func(t *openTimer) { t.pause(false) }
	for _, row := range []struct {
		name  string
		steps []step
		want  events.StreamReason
		took  time.Duration
	}{
		{"dials of dead connections", []step{{connect, 6 * time.Second}, {wait, time.Second}, {connect, 20 * time.Second}}, events.StreamConnectTimeout, 11 * time.Second},
		{"answers of dead connections", []step{{connect, 0}, {wait, 20 * time.Second}, {connect, 5 * time.Second}, {wait, 20 * time.Second}}, events.StreamHeaderTimeout, 35 * time.Second},
		{"queueing is not counted", []step{{connect, 6 * time.Second}, {queue, time.Hour}, {served, 20 * time.Second}}, events.StreamConnectTimeout, time.Hour + 10*time.Second},
		{"in time", []step{{connect, 9 * time.Second}, {wait, 29 * time.Second}}, "", 38 * time.Second},
		{"nothing told", []step{{func(*openTimer) {}, time.Minute}}, events.StreamHeaderTimeout, 40 * time.Second},
	} {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			start := time.Now()
			timer := startOpenTimer(cancel, cfg)
			for _, s := range row.steps {
				s.do(timer)
				select {
				case <-time.After(s.after):
				case <-ctx.Done():
				}
			}
			took := time.Since(start)
			late := timer.stop()
			if took != row.took || (late == nil) != (row.want == "") {
				t.Errorf("%s: %v after %v, want %q after %v", row.name, late, took, row.want, row.took)
			}
			if late != nil && (late.(*streamTimeoutError).reason != row.want || context.Cause(ctx) != late) {
				t.Errorf("%s: %v, canceled for %v", row.name, late, context.Cause(ctx))
			}
		})
	}
}
