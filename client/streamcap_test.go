package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

func TestStreamsAtTheirCaps(t *testing.T) {
	const limit = 100
	for _, row := range []struct {
		name   string
		cfg    StreamConfig
		body   func(n int) string // n of what the cap counts
		reason events.StreamReason
		inCap  int64 // bytes of the stream that are counted at the end, past the cap
	}{
		{"total", StreamConfig{TotalBytes: limit}, func(n int) string { return "data: " + strings.Repeat("x", n-8) + "\n\n" }, events.StreamTotalBytes, limit},
		{"total, comments alone", StreamConfig{TotalBytes: limit}, func(n int) string { return strings.Repeat(":\n", n/2) + strings.Repeat("\n", n%2) }, events.StreamTotalBytes, limit},
		{"line", StreamConfig{LineBytes: limit}, func(n int) string { return "data: " + strings.Repeat("x", n-6) + "\n\n" }, events.StreamLineBytes, limit},
		{"line, a comment", StreamConfig{LineBytes: limit}, func(n int) string { return ":" + strings.Repeat("x", n-1) + "\n" }, events.StreamLineBytes, limit},
		{"event", StreamConfig{EventBytes: limit}, func(n int) string { return "id:12\ndata:\ndata:" + strings.Repeat("x", n-3) + "\n\n" }, events.StreamEventBytes, 0},
	} {
		for _, resume := range []bool{false, true} {
			for past := -1; past <= 1; past++ {
				t.Run(fmt.Sprint(row.name, " ", resume, " ", past), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						row.cfg.Resume = resume
						body := row.body(limit + past)
						served := 0
						r := newRig(t, Config{Stream: row.cfg}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
							if served++; served > 1 {
								w.WriteHeader(http.StatusNoContent)
								return
							}
							feed(func(_ *http.Request, write func(string)) { write(body) }).ServeHTTP(w, req)
						}))
						_, err := collect(t, r.stream(context.Background()))
						want := events.StreamReason("")
						if past > 0 {
							want = row.reason
						}
						if reasonOf(err) != want {
							t.Fatalf("error %v, want reason %q", err, want)
						}
						if want == "" {
							if closed := r.over(events.StreamEnded); closed.Bytes != int64(len(body)) {
								t.Errorf("StreamClosed %+v, want %d bytes", closed, len(body))
							}
							return
						}
						if n := strings.Count(err.Error(), "HTTP_413"); n != 1 {
							t.Errorf("%q says HTTP_413 %d times", err, n)
						}
						closed := r.over(want)
						if closed.Bytes > int64(len(body)) || row.inCap > 0 && closed.Bytes != row.inCap {
							t.Errorf("StreamClosed %+v, want %d bytes", closed, row.inCap)
						}
					})
				})
			}
		}
	}
}

func TestTheTotalCapCountsAllConnections(t *testing.T) {
	// Each connection carries a comment and an event, 20 bytes, and is lost.
	for limit := int64(59); limit <= 61; limit++ {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{Stream: StreamConfig{TotalBytes: limit, Resume: true}}, feed(func(_ *http.Request, write func(string)) {
				write(":pin\n\ndata: 123456\n\n")
				panic(http.ErrAbortHandler)
			}))
			got, err := collect(t, r.stream(context.Background()))
			want := []string{"message/=123456", "message/=123456", "message/=123456"}
			if limit < 60 {
				want = want[:2]
			}
			equal(t, got, want...)
			if reasonOf(err) != events.StreamTotalBytes {
				t.Errorf("error %v", err)
			}
			if closed := r.over(events.StreamTotalBytes); closed.Bytes != limit || closed.Reconnects != int(limit/20) && limit != 60 {
				t.Errorf("StreamClosed %+v", closed)
			}
		})
	}
}
