package client

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

func TestStreamsOverRealServers(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/plain", feed(func(_ *http.Request, write func(string)) { write("data: " + strings.Repeat("x", 70_000) + "\n\n") }))
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Accept-Encoding") != "gzip" {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for i := range 3 {
			fmt.Fprintf(z, "data: %d\n\n", i)
			z.Flush()
			w.(http.Flusher).Flush()
		}
		z.Close()
	})
	mux.Handle("/stay", stay("data: x\n\n"))
	realServers(t, mux, func(t *testing.T, s *httptest.Server, cfg Config) {
		rec := eventstest.NewRecorder()
		cfg.Hooks = rec.Hooks()
		c := newClient(t, cfg)
		get := func(ctx context.Context, path string) *Stream {
			t.Helper()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := c.Stream(req)
			if err != nil {
				t.Fatal(err)
			}
			return stream
		}
		if got, err := collect(t, get(context.Background(), "/plain")); err != nil || len(got) != 1 || len(got[0]) != len("message/=")+70_000 {
			t.Errorf("plain: %d events, %v", len(got), err)
		}
		got, err := collect(t, get(context.Background(), "/gzip"))
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/=0", "message/=1", "message/=2")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for _, err := range get(ctx, "/stay").Events() {
			if err != nil {
				if reasonOf(err) != events.StreamCanceled {
					t.Error(err)
				}
				break
			}
			cancel()
		}
		for range get(context.Background(), "/stay").Events() {
			break
		}
		var reasons []string
		for _, e := range eventstest.All[events.StreamClosed](rec) {
			reasons = append(reasons, string(e.Reason))
		}
		equal(t, reasons, "ended", "ended", "canceled", "closed")
	})
}

// TestStreamsThatAreCutOnEveryProtocol cuts each protocol's connection in each
// way, behind an event.
func TestStreamsThatAreCutOnEveryProtocol(t *testing.T) {
	header := faultserver.Header{Header: http.Header{"Content-Type": {"text/event-stream"}}, Framing: faultserver.Chunked}
	event := func(id int) faultserver.Body {
		return faultserver.Body{Data: fmt.Appendf(nil, "id: %d\ndata: x\n\n", id)}
	}
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			for _, resume := range []bool{false, true} {
				t.Run(fmt.Sprint(p, " ", how, " ", resume), func(t *testing.T) {
					server := faultserver.Start(t, faultserver.Config{Protocol: p})
					// A reset may overtake what was sent before it: the client reads the
					// first event before the cut.
					read := make(chan struct{})
					cut := faultserver.Do(header, event(1), faultserver.Flush{}, faultserver.Wait{Until: read}, faultserver.Kill{How: how})
					server.Next(cut, faultserver.Do(header, event(2)), faultserver.Respond(http.StatusNoContent, ""))
					c := newClient(t, Config{Transport: server.ClientTransport(), NoTelemetry: true, Stream: StreamConfig{Resume: resume}})
					req, err := http.NewRequest(http.MethodGet, server.URL("/events"), nil)
					if err != nil {
						t.Fatal(err)
					}
					s, err := c.Stream(req)
					if err != nil {
						t.Fatal(err)
					}
					var ids []string
					var last error
					for ev, err := range s.Events() {
						if err != nil {
							last = err
							continue
						}
						ids = append(ids, ev.ID)
						if ev.ID == "1" {
							close(read)
						}
					}
					if resume {
						if last != nil || fmt.Sprint(ids) != "[1 2]" || s.Reason() != events.StreamEnded {
							t.Errorf("events %v, then %v", ids, last)
						}
						return
					}
					if reasonOf(last) != events.StreamTransport || fmt.Sprint(ids) != "[1]" || !pool.Recoverable(last) {
						t.Errorf("events %v, then %v", ids, last)
					}
					var onTLS *pool.TLSTransportError
					if clean := how == faultserver.CloseNotify; errors.As(last, &onTLS) != (p.Encrypted() && !clean) {
						t.Errorf("error %#v", last)
					}
				})
			}
		}
	}
}

// TestManyStreamsLeaveNothingBehind opens streams of all fates at the same time
// and counts goroutines and connections afterwards.
func TestManyStreamsLeaveNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	var (
		mu    sync.Mutex
		conns = map[net.Conn]bool{} // guarded by mu
	)
	mux := http.NewServeMux()
	mux.Handle("/stay", stay("data: x\n\n"))
	mux.Handle("/ends", feed(func(_ *http.Request, write func(string)) { write("data: x\n\n") }))
	mux.Handle("/dies", die)
	mux.Handle("/huge", stay("data: "+strings.Repeat("x", 10_000)))
	mux.Handle("/silent", stay())
	mux.Handle("/refused", plain(404, "text/html", "no"))
	mux.Handle("/never", http.HandlerFunc(never))
	s := httptest.NewUnstartedServer(mux)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			conns[c] = true
		} else if state == http.StateClosed {
			delete(conns, c)
		}
	}
	s.Start()
	rec := eventstest.NewRecorder()
	made := func(cfg StreamConfig) *Client {
		cfg.LineBytes, cfg.Resume = 5000, true
		return newClient(t, Config{Hooks: rec.Hooks(), NoTelemetry: true, Retry: RetryPolicy{MaxRetries: -1}, Stream: cfg})
	}
	patient, hasty, sleepless := made(StreamConfig{}), made(StreamConfig{HeaderTimeout: 50 * time.Millisecond}), made(StreamConfig{ReadIdleTimeout: 50 * time.Millisecond})
	want := map[string]events.StreamReason{
		"/stay": events.StreamClosedByCaller, "/ends": events.StreamEnded, "/dies": events.StreamTransport, "/huge": events.StreamLineBytes,
		"/silent": events.StreamIdle, "/refused": events.StreamStatus, "/never": events.StreamHeaderTimeout,
	}
	var wg sync.WaitGroup
	for path, reason := range want {
		c := patient
		switch reason {
		case events.StreamIdle:
			c = sleepless
		case events.StreamHeaderTimeout:
			c = hasty
		}
		for range 10 {
			wg.Go(func() {
				req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				stream, err := c.Stream(req)
				if err == nil {
					for _, err = range stream.Events() {
						if err == nil && path == "/stay" {
							break
						}
					}
				}
				if reason != events.StreamClosedByCaller && reasonOf(err) != reason {
					t.Errorf("%s: %v", path, err)
				}
			})
		}
	}
	wg.Wait()
	got := map[events.StreamReason]int{}
	for _, e := range eventstest.All[events.StreamClosed](rec) {
		got[e.Reason]++
	}
	for _, reason := range want {
		if got[reason] != 10 {
			t.Errorf("%q %d times, want 10", reason, got[reason])
		}
	}
	if a, b := eventstest.Count[events.CallStarted](rec), eventstest.Count[events.CallDone](rec); a != b {
		t.Errorf("%d calls started, %d done", a, b)
	}
	for _, c := range []*Client{patient, hasty, sleepless} {
		c.CloseIdleConnections()
	}
	eventually(t, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(conns) > 0 {
			return fmt.Errorf("%d connections are left open", len(conns))
		}
		return nil
	})
	for _, c := range []*Client{patient, hasty, sleepless} {
		c.Close()
	}
	s.Close()
	eventually(t, func() error {
		if now := runtime.NumGoroutine(); now > before {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", now, before, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
}

// eventually asks until the answer is nil, for ten seconds.
func eventually(t testing.TB, ask func() error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

var _ io.Closer = (*Stream)(nil)
