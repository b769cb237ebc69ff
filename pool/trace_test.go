package pool

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// traceLog records a trace as text.
type traceLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *traceLog) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *traceLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := strings.Join(l.lines, " ")
	l.lines = nil
	return s
}

func (l *traceLog) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(hostPort string) { l.add("get(%s)", hostPort) },
		GotConn: func(i httptrace.GotConnInfo) {
			l.add("got(%v,%v,%v)", i.Conn != nil, i.Reused, i.WasIdle)
		},
		PutIdleConn:          func(err error) { l.add("put(%v)", err) },
		GotFirstResponseByte: func() { l.add("byte") },
		WroteHeaders:         func() { l.add("headers") },
	}
}

func TestTheTraceTellsOfEveryConnection(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			var log traceLog
			send := func() string {
				req := traced(w.request(w.Context(), "GET", "/x", ""), log.trace())
				if _, err := w.send(req); err != nil {
					t.Fatal(err)
				}
				return log.take()
			}
			addr := strings.TrimPrefix(strings.TrimPrefix(w.srv.URL(), "http://"), "https://")
			put := " put(<nil>)"
			if p.Multiplexed() {
				put = "" // as with http.Transport
			}
			if got, want := send(), "get("+addr+") got(true,false,false) headers byte"+put; got != want {
				t.Errorf("%v: %s, want %s", p, got, want)
			}
			if got, want := send(), "get("+addr+") got(true,true,true) headers byte"+put; got != want {
				t.Errorf("%v: %s, want %s", p, got, want)
			}
			w.srv.RaceIdle(faultserver.RST)
			got := send()
			if strings.Count(got, "get(") != 2 || strings.Count(got, "byte") != 1 || !strings.Contains(got, "got(true,true,true)") || !strings.Contains(got, "got(true,false,false)") {
				t.Errorf("%v: recovered: %s", p, got)
			}
		})
	}
}

func TestTheTraceLearnsWhyAConnectionIsNotKept(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxIdleConnsPerHost = 1 }, func(w *world) {
		var log traceLog
		a, b := w.open("/a"), func() *http.Response {
			resp, err := w.pool.RoundTrip(traced(w.request(w.Context(), "GET", "/b", ""), log.trace()))
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}()
		io.Copy(io.Discard, a.Body)
		io.Copy(io.Discard, b.Body)
		if got := log.take(); !strings.HasSuffix(got, "put(pool: too many idle connections)") {
			t.Error(got)
		}
	})
}
