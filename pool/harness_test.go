package pool

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// world is a server in memory and a pool that dials it, in a synctest bubble.
type world struct {
	*testing.T
	srv  *faultserver.Server
	pool *Transport
	base *http.Transport
	log  *eventLog
}

// inWorld runs body in a bubble. At its end nothing may be left: no socket at
// the server, no slot, no waiter, no request, and, as synctest checks, no
// goroutine.
func inWorld(t *testing.T, cfg faultserver.Config, tune func(*http.Transport, *Config), body func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Memory = true
		w := &world{T: t, srv: faultserver.Start(t, cfg), log: &eventLog{}}
		w.base = w.srv.ClientTransport()
		pc := Config{Base: w.base, Hooks: w.log.hooks()}
		if tune != nil {
			tune(w.base, &pc)
		}
		var err error
		if w.pool, err = New(pc); err != nil {
			t.Fatal(err)
		}
		body(w)
		w.pool.CloseIdleConnections()
		synctest.Wait()
		w.wantNothingLeft()
		w.pool.Close()
		synctest.Wait()
	})
}

// wantNothingLeft checks that the pool holds nothing and the server sees no
// connection that this pool could use.
func (w *world) wantNothingLeft() {
	w.Helper()
	s := w.pool.Stats()
	if s.Open+s.Idle+s.Active+s.Dialing+s.Waiting+s.Requests != 0 || len(s.Origins) != 0 {
		w.Errorf("the pool still holds %+v", s)
	}
	if s, n := w.srv.Sockets().Open(), w.srv.Stats().Open; s != 0 || n != 0 {
		w.Errorf("%d sockets are still open, %d at the server", s, n)
	}
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	if w.pool.inflight != 0 || w.pool.idles != 0 || len(w.pool.groups) != 0 || w.pool.lru.newer != &w.pool.lru {
		w.Errorf("inflight %d, idles %d, groups %d", w.pool.inflight, w.pool.idles, len(w.pool.groups))
	}
}

func (w *world) request(ctx context.Context, method, path, body string) *http.Request {
	w.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.srv.URL(path), r)
	if err != nil {
		w.Fatal(err)
	}
	return req
}

// do sends a request and reads its response to the end.
func (w *world) do(method, path, body string) (status int, err error) {
	w.Helper()
	return w.send(w.request(w.Context(), method, path, body))
}

func (w *world) send(req *http.Request) (status int, err error) {
	resp, err := w.pool.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, err
}

// mustDo is do with an answer of 200.
func (w *world) mustDo(method, path, body string) {
	w.Helper()
	if status, err := w.do(method, path, body); err != nil || status != 200 {
		w.Fatalf("%s %s: %d, %v", method, path, status, err)
	}
}

// open sends a request and leaves its response unread.
func (w *world) open(path string) *http.Response {
	w.Helper()
	resp, err := w.pool.RoundTrip(w.request(w.Context(), "GET", path, ""))
	if err != nil {
		w.Fatal(err)
	}
	return resp
}

// result is what a request on another goroutine came to.
type result struct {
	status int
	err    error
	done   chan struct{}
}

func (w *world) async(req *http.Request) *result {
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.status, r.err = w.send(req)
	}()
	return r
}

// pending reports whether the request has no result, once all is quiet.
func (r *result) pending() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (w *world) wantOK(rs ...*result) {
	w.Helper()
	for i, r := range rs {
		<-r.done
		if r.err != nil || r.status != 200 {
			w.Errorf("request %d: %d, %v", i, r.status, r.err)
		}
	}
}

// park leaves n connections idle.
func (w *world) park(n int) {
	w.Helper()
	if w.srv.Protocol().Multiplexed() {
		w.parkH2(n)
		return
	}
	release := make(chan struct{})
	w.srv.NextN(n, faultserver.Do(faultserver.Wait{Until: release}))
	var rs []*result
	for range n {
		rs = append(rs, w.async(w.request(w.Context(), "GET", "/park", "")))
	}
	synctest.Wait()
	close(release)
	w.wantOK(rs...)
	synctest.Wait()
	if got := w.pool.Stats().Idle; got != n {
		w.Fatalf("%d connections idle, want %d", got, n)
	}
}

// parkH2 leaves n HTTP/2 connections idle: while the one before has a stream
// open, a dial is forced as after a dead connection.
func (w *world) parkH2(n int) {
	w.Helper()
	var open []*exchange
	for range n {
		req := w.request(w.Context(), "GET", "/park", "")
		x := &exchange{t: w.pool, req: req, ctx: req.Context(), hooks: hooks{t: w.pool}, fresh: true}
		if err := x.resolve(); err != nil {
			w.Fatal(err)
		}
		if err := x.acquire(); err != nil {
			w.Fatal(err)
		}
		open = append(open, x)
	}
	for _, x := range open {
		if _, err := x.send(); err != nil {
			w.Fatal(err)
		}
		x.resp.Body.Close()
	}
	synctest.Wait()
	if got := w.pool.Stats().Idle; got != n {
		w.Fatalf("%d connections idle, want %d", got, n)
	}
}

// eventLog records connection events.
type eventLog struct {
	mu     sync.Mutex
	events []any
}

func note[E any](l *eventLog) func(context.Context, E) {
	return func(_ context.Context, e E) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e)
	}
}

func (l *eventLog) hooks() *events.Hooks {
	return &events.Hooks{
		ConnOpened:    note[events.ConnOpened](l),
		ConnAcquired:  note[events.ConnAcquired](l),
		ConnReleased:  note[events.ConnReleased](l),
		ConnClosed:    note[events.ConnClosed](l),
		ConnStale:     note[events.ConnStale](l),
		ConnRecovered: note[events.ConnRecovered](l),
	}
}

func (l *eventLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = nil
}

// of returns the recorded events of type E.
func of[E any](l *eventLog) (es []E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e, ok := e.(E); ok {
			es = append(es, e)
		}
	}
	return es
}

// enqueue puts a request into the queue that has not looked yet what came of
// it.
func (w *world) enqueue(path string) *exchange {
	w.Helper()
	req := w.request(w.Context(), "GET", path, "")
	x := &exchange{t: w.pool, req: req, ctx: req.Context(), hooks: hooks{t: w.pool}}
	if err := x.resolve(); err != nil {
		w.Fatal(err)
	}
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.pool.place++
	w.pool.inflight++
	x.place, x.admitted = w.pool.place, true
	x.w = &waiter{g: w.pool.group(x.key), place: x.place, ctx: x.ctx, to: x.to, wake: make(chan struct{}, 1)}
	x.w.g.queue.insert(x.w)
	return x
}
