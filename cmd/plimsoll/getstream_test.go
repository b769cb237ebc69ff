package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

const wholeStream = "id: 1\ndata: one\n\nid: 2\nevent: last\ndata: two\ndata: lines\n\n"

// streaming serves a stream whose first connection is cut.
func streaming(t *testing.T) http.Handler {
	t.Helper()
	var connections atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "no such stream")
			return
		case "/open":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: one\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		n := connections.Add(1)
		switch {
		case n > 2:
			w.WriteHeader(http.StatusNoContent) // that was all
			return
		case r.Header.Get("Last-Event-ID") == "1":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 2\nevent: last\ndata: two\ndata: lines\n\n")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 1\ndata: one\n\nid: 2\ndata: half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
}

func TestGetFollowsAStreamAcrossALostConnection(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Handler: streaming(t)})
	got := runIt(t.Context(), "get", "--stream", s.URL("/cut"))
	if got.status != exitOK || got.stdout != wholeStream {
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "StreamOpened", "RetryArmed", "reconnects=1", "StreamClosed", "attempt 1   200", "budget  ")
	got = runIt(t.Context(), "get", "--stream", s.URL("/gone"))
	if got.status != exitHTTP || got.stdout != "no such stream" || !strings.Contains(got.stderr, "404") {
		t.Errorf("refused: %+v", got)
	}
}

func TestAStreamThatIsInterruptedKeepsWhatCame(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Handler: streaming(t)})
	ctx, cancel := context.WithCancelCause(t.Context())
	stdout := &trigger{text: "data: one\n\n", do: func() { cancel(&interruptedError{os.Interrupt}) }}
	stderr := &trigger{}
	status := run(ctx, []string{"get", "--stream", s.URL("/open")}, streams{in: strings.NewReader(""), out: stdout, err: stderr, env: func(string) string { return "" }})
	if status != exitInterrupted || stdout.got.String() != "data: one\n\n" {
		t.Errorf("status %d, %q", status, stdout.got.String())
	}
	inOrder(t, stderr.got.String(), "StreamClosed", "interrupted", "attempt 1   200", "500 of 500 tokens")

	ctx, cancel = context.WithCancelCause(t.Context())
	file := filepath.Join(t.TempDir(), "events")
	stdout = &trigger{text: "StreamEvent", do: func() { cancel(&interruptedError{os.Interrupt}) }}
	status = run(ctx, []string{"get", "--json", "--stream", "-o", file, s.URL("/open")}, streams{in: strings.NewReader(""), out: stdout, err: io.Discard, env: func(string) string { return "" }})
	if data, err := os.ReadFile(file); status != exitInterrupted || err != nil || string(data) != "data: one\n\n" {
		t.Errorf("status %d, %q, %v", status, data, err)
	}
}
