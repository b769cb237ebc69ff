package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// go-retryablehttp#247
func TestAnAbsurdRetryAfterReturnsAtOnce(t *testing.T) {
	for _, value := range []string{"9223372036854775807", "1743686408", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		t.Run(value, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{}, statuses("429 Retry-After: "+value))
				start := time.Now()
				resp, _, err := r.get()
				if err != nil || resp.StatusCode != 429 || time.Since(start) != 0 {
					t.Fatalf("got %v, %v after %v", resp, err, time.Since(start))
				}
				if report, _ := ReportOf(resp); report.Skipped != events.SkipDeadline {
					t.Errorf("report %+v", report)
				}
				if n := r.client.Stats().Throttles; n != 0 {
					t.Errorf("%d throttles remembered, want none", n)
				}
				if got := r.level(); got != 500 {
					t.Errorf("level %d", got)
				}
			})
		})
	}
}

// go-retryablehttp#292
func TestABackoffBeyondTheDeadlineReturnsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// The first of these backoffs that is drawn above a second must not be
		// slept for.
		r := newRig(t, Config{Retry: RetryPolicy{BaseDelay: time.Hour, MaxDelay: time.Hour}, MaxTotalRetryDuration: -1}, statuses("503"))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		resp, _, err := r.do(ctx, http.MethodGet, nil)
		if err != nil || resp.StatusCode != 503 {
			t.Fatalf("got %v, %v", resp, err)
		}
		if took := time.Since(start); took >= time.Second {
			t.Errorf("slept to the deadline: %v", took)
		}
		if skip := eventstest.One[events.RetrySkipped](t, r.rec); skip.Reason != events.SkipDeadline || skip.Delay <= skip.Remaining {
			t.Errorf("skip %+v", skip)
		}
	})
}

// failsafe-go, measured: 41 connections
func TestRejectedResponsesGiveTheirConnectionBack(t *testing.T) {
	var hits, conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, strings.Repeat("x", 10_000))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	bodies := &countingBase{base: &http.Transport{}}
	for name, cfg := range map[string]Config{"pool": {}, "base": {Base: bodies}} {
		t.Run(name, func(t *testing.T) {
			hits.Store(0)
			conns.Store(0)
			cfg.NoTelemetry = true
			c := newClient(t, cfg)
			for range 20 {
				resp, err := c.Get(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if report, _ := ReportOf(resp); resp.StatusCode != 200 || report.Attempts != 3 {
					t.Fatalf("status %d, report %+v", resp.StatusCode, report)
				}
			}
			if n := conns.Load(); n != 1 {
				t.Errorf("%d TCP connections, want 1", n)
			}
		})
	}
	if opened, closed := bodies.opened.Load(), bodies.closed.Load(); opened != 60 || closed != 60 {
		t.Errorf("%d bodies opened and %d closed, want 60 and 60", opened, closed)
	}
}

// countingBase counts response bodies and those that were closed.
type countingBase struct {
	base           http.RoundTripper
	opened, closed atomic.Int32
}

type countedBody struct {
	io.ReadCloser
	base *countingBase
	done atomic.Bool
}

func (b *countedBody) Close() error {
	if !b.done.Swap(true) {
		b.base.closed.Add(1)
	}
	return b.ReadCloser.Close()
}

func (b *countingBase) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err == nil {
		b.opened.Add(1)
		resp.Body = &countedBody{ReadCloser: resp.Body, base: b}
	}
	return resp, err
}

// HTTP.jl#1353, aws-sdk-go-v2#3189
func TestADeniedRetryReturnsWhatCameAndSaysWhy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bucket := capacity(t, 10)
		spend(t, bucket, 10)
		r := newRig(t, Config{Budget: bucket}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPut {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "body of 503")
		}))
		resp, body, err := r.get()
		if err != nil || resp.StatusCode != 503 || body != "body of 503" {
			t.Fatalf("got %v %q %v", resp, body, err)
		}
		if report, _ := ReportOf(resp); report.Skipped != events.SkipBucket || report.Tokens != 0 || report.Capacity != 10 {
			t.Errorf("report %+v", report)
		}
		skip := eventstest.One[events.RetrySkipped](t, r.rec)
		if skip.Reason != events.SkipBucket || skip.Needed != 10 || skip.Level != 0 || skip.Status != 503 {
			t.Errorf("skip %+v", skip)
		}
		r.client.CloseIdleConnections() // a fresh connection has nothing to recover from
		start := time.Now()
		_, _, err = r.do(context.Background(), http.MethodPut, nil)
		var mine *Error
		if !errors.As(err, &mine) || mine.Skipped != events.SkipBucket || mine.Attempts != 1 || !errors.Is(err, io.EOF) {
			t.Errorf("error %v", err)
		}
		if report, ok := ReportOfError(err); !ok || report.Skipped != events.SkipBucket {
			t.Errorf("report of the error %+v", report)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the refusal took %v", took)
		}
		if n := len(r.requests()); n != 2 {
			t.Errorf("%d hits, want one for each call", n)
		}
	})
}

// aws-sdk-go-v2#3550
func TestAnEmptyBudgetRefillsThroughSuccesses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bucket := capacity(t, 20)
		spend(t, bucket, 20)
		r := newRig(t, Config{Budget: bucket}, statuses("503", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "503", "200"))
		if resp, _, err := r.get(); err != nil || resp.StatusCode != 503 {
			t.Fatalf("got %v, %v", resp, err)
		}
		for range 10 {
			if resp, _, err := r.get(); err != nil || resp.StatusCode != 200 {
				t.Fatalf("got %v, %v", resp, err)
			}
		}
		if got := r.level(); got != 10 {
			t.Fatalf("level %d after ten successes, want 10", got)
		}
		resp, _, err := r.get()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v: the budget has recovered", resp, err)
		}
		if report, _ := ReportOf(resp); report.Attempts != 2 {
			t.Errorf("report %+v", report)
		}
	})
}

// go-retryablehttp#31, #154
func TestSecretsStayOutOfEventsAndErrors(t *testing.T) {
	secrets := []string{"s3cretUser", "s3cretPass", "s3cretQuery", "s3cretHeader", "s3cretCookie", "s3cretFragment", "s3cretBody"}
	rec := eventstest.NewRecorder()
	var text strings.Builder
	check := func(what, s string) {
		t.Helper()
		for _, secret := range secrets {
			if strings.Contains(s, secret) {
				t.Errorf("%s shows %s: %s", what, secret, s)
			}
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "s3cretCookie"})
		if r.URL.Path == "/die" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "s3cretBody")
	}))
	defer s.Close()
	c := newClient(t, Config{Hooks: rec.Hooks(), NoTelemetry: true, Retry: RetryPolicy{MaxRetries: 1}})
	target := func(base, path string) string {
		u, err := url.Parse(base + path + "?token=s3cretQuery#s3cretFragment")
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("s3cretUser", "s3cretPass")
		return u.String()
	}
	for _, u := range []string{target(s.URL, "/"), target(s.URL, "/die"), target("http://127.0.0.1:1", "/"), target("http://nowhere.invalid", "/"), "ftp://s3cretUser:s3cretPass@x/?s3cretQuery"} {
		req, err := http.NewRequest(http.MethodPut, u, strings.NewReader("s3cretBody"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer s3cretHeader")
		resp, err := c.Do(req)
		if err != nil {
			check("error text", err.Error())
			check("error value", fmt.Sprintf("%+v", err))
			if e, ok := errors.AsType[*url.Error](err); ok {
				check("cause", fmt.Sprintf("%v %+v %#v", e.Err, e.Err, e.URL))
			}
			continue
		}
		resp.Body.Close()
		report, _ := ReportOf(resp)
		check("report", fmt.Sprintf("%+v", report))
	}
	for _, e := range rec.Timeline() {
		fmt.Fprintf(&text, "%v\n%+v\n%#v\n", e, e, e)
	}
	if text.Len() == 0 {
		t.Fatal("no events")
	}
	check("events", text.String())
	w := httptest.NewRecorder()
	c.DebugHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?format=json", nil))
	check("debug handler", w.Body.String())
}
