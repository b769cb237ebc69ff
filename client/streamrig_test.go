package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// feed answers with an event stream whose pieces f writes, each flushed.
func feed(f func(req *http.Request, write func(string))) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		f(req, func(s string) {
			io.WriteString(w, s)
			w.(http.Flusher).Flush()
		})
	})
}

// pass lets d pass, unless the client leaves before.
func pass(req *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-req.Context().Done():
	}
}

// stay writes pieces and keeps the stream open until the client leaves.
func stay(pieces ...string) http.Handler {
	return feed(func(req *http.Request, write func(string)) {
		for _, p := range pieces {
			write(p)
		}
		<-req.Context().Done()
	})
}

// dialling gives the rig a client that dials with dial.
func (r *rig) dialling(cfg Config, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *rig {
	r.t.Helper()
	r.client.Close()
	cfg.Transport = &http.Transport{DialContext: dial}
	cfg.Hooks, cfg.NoTelemetry = events.Join(r.rec.Hooks(), cfg.Hooks), true
	c, err := New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.client = c
	return r
}

func (r *rig) request(ctx context.Context) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/events", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return req
}

// stream opens a stream; it fails the test where that fails.
func (r *rig) stream(ctx context.Context) *Stream {
	r.t.Helper()
	s, err := r.client.Stream(r.request(ctx))
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// collect ranges to the end and returns the events, as "type/id=data", and the
// error, of which there must be one at most, at the end.
func collect(t testing.TB, s *Stream) (got []string, last error) {
	t.Helper()
	for ev, err := range s.Events() {
		switch {
		case last != nil:
			t.Fatalf("%v, %v after the error %v", ev, err, last)
		case err != nil:
			last = err
		default:
			got = append(got, fmt.Sprintf("%s/%s=%s", ev.Type, ev.ID, ev.Data))
		}
	}
	for ev, err := range s.Events() {
		t.Errorf("after the end: %v, %v", ev, err)
	}
	if s.ctx.Err() == nil {
		t.Error("after the end its context lives on")
	}
	return got, last
}

// reasonOf is the reason of a *StreamError; "" for nil, and for any other error
// its text.
func reasonOf(err error) events.StreamReason {
	var e *StreamError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	}
	return events.StreamReason(err.Error())
}

// over checks that the rig's one stream is over because of want, that this was
// said once, and that nothing of it is left.
func (r *rig) over(want events.StreamReason) events.StreamClosed {
	r.t.Helper()
	synctest.Wait()
	closed := eventstest.One[events.StreamClosed](r.t, r.rec)
	if closed.Reason != want {
		r.t.Errorf("StreamClosed for %q, want %q", closed.Reason, want)
	}
	if closed.Client != "default" || closed.Origin != partition || closed.Partition != partition || closed.Call == 0 {
		r.t.Errorf("StreamClosed of %+v", closed.Meta)
	}
	if last := r.rec.Select(eventstest.Type[events.CallDone](), eventstest.Type[events.StreamClosed](), eventstest.Type[events.StreamOpened]()).Timeline(); last[len(last)-1] != any(closed) {
		r.t.Errorf("StreamClosed is not the last:\n%v", r.rec)
	}
	balanced(r.t, r)
	for origin, o := range r.client.Stats().Pool.Origins {
		if o.Requests != 0 || o.Waiting != 0 || o.Active != 0 {
			r.t.Errorf("%s: %+v", origin, o)
		}
	}
	r.client.CloseIdleConnections()
	synctest.Wait()
	if n := r.listener.Counts().Open; n != 0 {
		r.t.Errorf("%d connections are left open", n)
	}
	return closed
}

func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events %q, want %q", got, want)
	}
}
