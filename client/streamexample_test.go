package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// The server cuts the connection in the middle of the second event and replays
// by Last-Event-ID; the caller sees each event once.
func ExampleClient_Stream() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Last-Event-ID") {
		case "":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nevent: greeting\ndata: hello\n\n", "id: 2\ndata: wor")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "1":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 2\ndata: world\n\n")
		default:
			w.WriteHeader(http.StatusNoContent) // nothing more will come
		}
	}))
	defer server.Close()

	c, err := client.New(client.Config{Stream: client.StreamConfig{Resume: true}, NoTelemetry: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Stream(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for ev, err := range s.Events() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.ID, ev.Type, ev.Data)
	}
	fmt.Println(s.Reason())
	// Output:
	// 1 greeting hello
	// 2 message world
	// ended
}

func ExampleStreamError() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: short\n\ndata: much too long\n\n")
	}))
	defer server.Close()

	c, err := client.New(client.Config{Stream: client.StreamConfig{LineBytes: 16}, NoTelemetry: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	req, err := http.NewRequest(http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Stream(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range s.Events() {
		if end, ok := errors.AsType[*client.StreamError](err); ok {
			fmt.Println(end.Reason == events.StreamLineBytes, end.Status, end.Code)
			fmt.Println(end)
			return
		}
		fmt.Println(ev.Data)
	}
	// Output:
	// short
	// true 413 HTTP_413
	// client: stream line_bytes (HTTP_413): more than 16 bytes in a line (events before: 1); raise Config.Stream.LineBytes if the server is trusted
}
