package proof

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// upstream is a net/http server in memory, whose handler can be changed.
type upstream struct {
	listener *memconn.Listener
	handler  atomic.Pointer[http.HandlerFunc]
	down     atomic.Bool
}

// newUpstream serves until the stage's end. It is healthy.
func newUpstream(s *Stage) *upstream {
	u := &upstream{listener: memconn.Listen()}
	u.answer(healthy)
	var answering sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answering.Add(1)
		defer answering.Done()
		(*u.handler.Load())(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(u.listener)
	}()
	s.Cleanup(func() {
		server.Close()
		<-served
		answering.Wait()
	})
	return u
}

func (u *upstream) answer(with http.HandlerFunc) { u.handler.Store(&with) }

// transport reaches the upstream under every name. While it is down, dials are
// refused.
func (u *upstream) transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if u.down.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return u.listener.DialContext(ctx, network, address)
	}}
}

const url = "http://api.example/things"

func healthy(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "ill", code) }
}

func throttling(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// inTurn answers each request with the next of the handlers, and starts anew.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) { handlers[int(n.Add(1)-1)%len(handlers)](w, r) }
}

// illAtFirst answers the first request of each call with 503 and its retries
// with what comes after.
func illAtFirst(then http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		again := known[r.Header.Get(callHeader)]
		known[r.Header.Get(callHeader)] = true
		mu.Unlock()
		if again {
			then(w, r)
			return
		}
		status(http.StatusServiceUnavailable)(w, r)
	}
}

func newBucket(s *Stage, c budget.Config) *budget.Bucket {
	s.Helper()
	b, err := budget.New(c)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

func newBreaker(s *Stage) *breaker.Breaker {
	s.Helper()
	b, err := breaker.New(breaker.Config{})
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// callHeader tells an upstream which requests belong to one call.
const callHeader = "X-Call"

var lastCall atomic.Int64

// get sends one request, reads its answer and gives up after patience.
func get(s *Stage, c *client.Client, url string, patience time.Duration) {
	ctx, cancel := context.WithTimeout(s.Context, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		s.Error(err)
		return
	}
	req.Header.Set(callHeader, strconv.FormatInt(lastCall.Add(1), 10))
	resp, err := c.Do(req)
	if err != nil {
		return // the client's metrics tell
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// repeat calls f every period until the stage is as old as until, without
// waiting for f, and returns when all calls have.
func repeat(s *Stage, period, until time.Duration, f func(n int)) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(period)
	defer tick.Stop()
	for n := 1; ; n++ {
		running.Go(func() { f(n) })
		<-tick.C
		if s.Since() >= until {
			return
		}
	}
}
