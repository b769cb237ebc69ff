package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestTheKillSwitchWorksAtRunTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, statuses("503", "503", "200"))
		r.client.SetRetries(false)
		if resp, _, err := r.get(); err != nil || resp.StatusCode != 503 {
			t.Fatalf("got %v, %v", resp, err)
		}
		r.client.SetRetries(true)
		if resp, _, err := r.get(); err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
	})
}

func TestPartitionIsTheKeyOfBudgetBreakerAndThrottle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, err := breaker.New(breaker.Config{ConsecutiveFailures: 1})
		if err != nil {
			t.Fatal(err)
		}
		bucket := capacity(t, 50)
		r := newRig(t, Config{
			Breaker: b, Budget: bucket, Retry: RetryPolicy{MaxRetries: -1},
			Partition: func(req *http.Request) string { return req.Header.Get("Tenant") },
		}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch req.Header.Get("Tenant") {
			case "Red":
				w.WriteHeader(500)
			case "Blue":
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(429)
			}
		}))
		send := func(tenant string) (*http.Response, error) {
			req, _ := http.NewRequest(http.MethodGet, r.url, nil)
			req.Header.Set("Tenant", tenant)
			resp, err := r.client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return resp, err
		}
		for _, tenant := range []string{"Red", "Blue", "Green"} {
			if _, err := send(tenant); err != nil {
				t.Fatal(err)
			}
		}
		var rejected *breaker.RejectedError
		if _, err := send("Red"); !errors.As(err, &rejected) || rejected.Key != "red" {
			t.Errorf("Red: error %v", err)
		}
		start := time.Now()
		if resp, err := send("Green"); err != nil || time.Since(start) != 0 {
			t.Errorf("Green: %v, %v after %v", resp, err, time.Since(start))
		} else if report, _ := ReportOf(resp); report.Partition != "green" || report.Capacity != 50 {
			t.Errorf("report %+v", report)
		}
		if _, err := send("Blue"); err != nil || time.Since(start) < 5*time.Second {
			t.Errorf("Blue: %v after %v, want the throttle waited out", err, time.Since(start))
		}
		stats := r.client.Stats()
		if len(stats.Budget) != 3 || stats.Breaker["red"].State != breaker.Open || stats.Breaker["green"].State != breaker.Closed {
			t.Errorf("stats %+v", stats)
		}
	})
}

func TestShutdownWaitsForRunningCallsAndTheirBodies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			<-time.After(3 * time.Second)
			io.WriteString(w, " last")
		}))
		resp, err := r.client.Get(r.url)
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		start := time.Now()
		go func() { over <- r.client.Shutdown(context.Background()) }()
		synctest.Wait()
		if _, err := r.client.Get(r.url); !errors.Is(err, ErrClosed) {
			t.Errorf("a new call: %v", err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "first last" {
			t.Errorf("body %q, %v", body, err)
		}
		if err := <-over; err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("Shutdown: %v after %v", err, time.Since(start))
		}
	})
}

func TestShutdownGivesUpAtItsDeadlineAndCutsOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}))
		resp, err := r.client.Get(r.url)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := r.client.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 calls") {
			t.Errorf("Shutdown: %v", err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the body ended in order")
		}
		resp.Body.Close()
	})
}

func TestEveryShutdownSeesTheLastCallLeave(t *testing.T) {
	for _, reloaded := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.(http.Flusher).Flush()
				<-time.After(3 * time.Second)
			}))
			resp, err := r.client.Get(r.url)
			if err != nil {
				t.Fatal(err)
			}
			if reloaded { // the old generation waits for its last call too
				if err := r.client.Reload(TLSMaterial{RootCAs: issue(t, "authority", nil).cert}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			over := make(chan error)
			start := time.Now()
			for range 3 {
				go func() { over <- r.client.Shutdown(ctx) }()
			}
			synctest.Wait()
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			for range 3 {
				if err := <-over; err != nil || time.Since(start) != 3*time.Second {
					t.Errorf("reloaded %v: Shutdown: %v after %v", reloaded, err, time.Since(start))
				}
			}
		})
	}
}

func TestCloseEndsTheWaitsOfCalls(t *testing.T) {
	for _, base := range []http.RoundTripper{nil, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"10"}}}, nil
	})} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{Base: base}, statuses("503 Retry-After: 10"))
			time.AfterFunc(time.Second, func() { r.client.Close() })
			var throttled error
			var wg sync.WaitGroup
			start := time.Now()
			wg.Go(func() {
				<-time.After(time.Second / 2)
				_, _, throttled = r.get()
			})
			_, _, err := r.get()
			wg.Wait()
			if took := time.Since(start); took != time.Second || !errors.Is(err, ErrClosed) || !errors.Is(throttled, ErrClosed) {
				t.Errorf("a retry: %v, a throttled call: %v, after %v; want ErrClosed after 1s", err, throttled, took)
			}
			for _, done := range eventstest.All[events.CallDone](r.rec) {
				if done.Outcome != events.OutcomeEscaped || done.Class != events.ClassOther {
					t.Errorf("CallDone %+v", done)
				}
			}
			if got := r.level(); got != 500 {
				t.Errorf("level %d", got)
			}
			r.rec.ExpectNothing(t, eventstest.Type[events.RetrySkipped](), eventstest.Type[events.RetryArmed]())
		})
	}
}

func TestAnAttemptThatIsCutOffByCloseSaysThatTheClientIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Transport: &http.Transport{MaxConnsPerHost: 1}}, answersInTurn("hang"))
		over := make(chan error)
		for range 2 { // one has the connection, the other one waits for it
			go func() {
				_, _, err := r.get()
				over <- err
			}()
		}
		synctest.Wait()
		r.client.Close()
		for range 2 {
			if err := <-over; !errors.Is(err, ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestTheAttemptTimeoutIsRetriedAndDoesNotCountTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		calls := 0
		var mu sync.Mutex
		r := newRig(t, Config{AttemptTimeout: 2 * time.Second}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			mu.Lock()
			calls++
			first := calls == 1
			mu.Unlock()
			if first {
				<-req.Context().Done()
			}
		}))
		resp, _, err := r.get()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		armed := eventstest.One[events.RetryArmed](t, r.rec)
		if armed.Cause != events.CauseTimeout {
			t.Errorf("RetryArmed %+v", armed)
		}
		r.rec.Reset()
		// A POST that times out is not sent again; its error says what happened.
		mu.Lock()
		calls = 0
		mu.Unlock()
		_, _, err = r.do(context.Background(), http.MethodPost, strings.NewReader("x"))
		var e *Error
		if !errors.As(err, &e) || !e.Timeout() || e.Skipped != events.SkipMethod || !strings.Contains(err.Error(), "attempt timeout of 2s") {
			t.Errorf("error %v", err)
		}
	})
}

func TestQueueingForAConnectionIsNoFailureOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 1)
		release := make(chan struct{})
		r := newRig(t, Config{
			Breaker: b, AttemptTimeout: 2 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1},
		}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.(http.Flusher).Flush()
			if req.Method == http.MethodPut {
				<-release
			}
		}))
		req, _ := http.NewRequest(http.MethodPut, r.url, nil)
		busy, err := r.client.Do(req) // holds the only connection with its body
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, _, err = r.do(ctx, http.MethodGet, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("error %v after %v, want the deadline: the attempt timeout stands still in the queue", err, time.Since(start))
		}
		if s, _ := b.Snapshot(partition); s.State != breaker.Closed {
			t.Errorf("the breaker is %v", s.State)
		}
		close(release)
		busy.Body.Close()
	})
}

func TestTheDebugHandlerServesStatsAsTextAndJSON(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Name: "billing", Breaker: breakers(t, 5)}, statuses("200"))
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		text := httptest.NewRecorder()
		r.client.DebugHandler().ServeHTTP(text, httptest.NewRequest(http.MethodGet, "/", nil))
		for _, want := range []string{"client billing", partition, "500", "closed"} {
			if !strings.Contains(text.Body.String(), want) {
				t.Errorf("%q is missing in\n%s", want, text.Body)
			}
		}
		data := httptest.NewRecorder()
		r.client.DebugHandler().ServeHTTP(data, httptest.NewRequest(http.MethodGet, "/?format=json", nil))
		var loose map[string]any
		if err := json.Unmarshal(data.Body.Bytes(), &loose); err != nil {
			t.Fatalf("%v in %s", err, data.Body)
		}
		if loose["Generation"] != 1.0 || loose["Budget"].(map[string]any)[partition] == nil {
			t.Errorf("JSON %s", data.Body)
		}
	})
}
