package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// feed is an upstream of event streams: GET /?events=N&every=DURATION gives N
// events and ends.
type feed struct {
	server   *http.Server
	listener net.Listener
	served   chan struct{}
}

func listenFeed() (*feed, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("stage: feed: %w", err)
	}
	f := &feed{listener: l, served: make(chan struct{})}
	f.server = &http.Server{Handler: http.HandlerFunc(serveEvents), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(f.served)
		_ = f.server.Serve(l) // http.ErrServerClosed
	}()
	return f, nil
}

func (f *feed) close() error {
	err := f.server.Close()
	<-f.served
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func serveEvents(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("events"))
	if err != nil || n < 0 {
		http.Error(w, "events must be a number", http.StatusBadRequest)
		return
	}
	every, err := time.ParseDuration(r.FormValue("every"))
	if err != nil {
		http.Error(w, "every must be a duration", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for i := range n {
		if !pause(r.Context(), every) {
			return
		}
		fmt.Fprintf(w, "id: %d\ndata: order %d\n\n", i, i)
		_ = flush.Flush() // the client went away
	}
}

// pause waits for d and reports whether ctx still holds.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
