package compat_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// rig is a server and a plimsoll client whose transport speaks the server's
// protocol. The library under test gets the client and the server's URL.
type rig struct {
	*faultserver.Server
	client *client.Client
	rec    *eventstest.Recorder
}

// newRig starts server and makes a client of cfg, whose Transport, Hooks and
// NoTelemetry it sets.
func newRig(t testing.TB, server faultserver.Config, cfg client.Config) *rig {
	t.Helper()
	s := faultserver.Start(t, server)
	return joinRig(t, s, s.ClientTransport(), cfg)
}

// joinRig makes a client of cfg and template for a server that runs.
func joinRig(t testing.TB, s *faultserver.Server, template *http.Transport, cfg client.Config) *rig {
	t.Helper()
	r := &rig{Server: s, rec: eventstest.NewRecorder()}
	cfg.Transport, cfg.Hooks, cfg.NoTelemetry = template, r.rec.Hooks(), true
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	t.Cleanup(func() { c.Close() })
	return r
}

// level is the budget's level for the server; the capacity before the first
// request.
func (r *rig) level() int {
	for _, l := range r.client.Stats().Budget {
		return l.Tokens
	}
	return 500
}

// saw counts the requests that the server has received with this method; "" is
// any.
func (r *rig) saw(method string) int { return saw(r.Server, method) }

func saw(s *faultserver.Server, method string) (n int) {
	for _, req := range s.Requests() {
		if method == "" || req.Method == method {
			n++
		}
	}
	return n
}

// nothingHeld fails the test unless the client comes to rest: every call has
// ended, and no request holds a connection. No event tells that the last figure
// has changed, so it is looked at until it has.
func (r *rig) nothingHeld(t testing.TB) {
	t.Helper()
	ctx, again := bounded(t), time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		started, ended := eventstest.Count[events.CallStarted](r.rec), eventstest.Count[events.CallDone](r.rec)
		s := r.client.Stats().Pool
		if started == ended && s.Requests == 0 && s.Active == 0 {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Errorf("%d calls started, %d ended; connections at rest: %+v", started, ended, s.OriginStats)
			return
		}
	}
}

// inBubble runs f in virtual time. The server must be in memory.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// bounded returns a context that ends with the test, or after a time that no
// passing test needs.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// get returns a GET request of ctx.
func get(t testing.TB, ctx context.Context, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// read returns the whole body and closes it.
func read(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the body of a %d: %v", resp.StatusCode, err)
	}
	return string(data)
}
