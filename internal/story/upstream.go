package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Trouble is how ill an upstream is. The zero value is healthy.
type Trouble struct {
	FailRate   float64       // share of requests, 0 to 1, that are answered with Status
	Status     int           // of those answers; 0 means 503
	RetryAfter time.Duration // sent with those answers, in whole seconds; 0: not sent
	KillReused bool          // a request on a connection that has served before is read and never answered: the connection just ends
	Down       bool          // connections are accepted and closed at once
}

// Upstream is a real HTTP server on a listener.
type Upstream struct {
	Name string

	server   *http.Server
	listener net.Listener
	served   chan struct{} // closed when Serve has returned

	hits     atomic.Int64
	unserved atomic.Int64 // requests that KillReused ended

	mu      sync.Mutex
	trouble Trouble                     // guarded by mu
	random  *rand.Rand                  // guarded by mu
	conns   map[net.Conn]http.ConnState // guarded by mu; those that are open
}

type usesKey struct{}

// NewUpstream serves on l until Close. seed makes its failures repeatable.
func NewUpstream(name string, l net.Listener, seed uint64) *Upstream {
	u := &Upstream{
		Name: name, listener: l, served: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, seed)), conns: map[net.Conn]http.ConnState{},
	}
	u.server = &http.Server{
		Handler:   http.HandlerFunc(u.answer),
		ConnState: u.connState,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, usesKey{}, new(int))
		},
	}
	go func() {
		defer close(u.served)
		_ = u.server.Serve(l) // http.ErrServerClosed
	}()
	return u
}

// ListenUpstream is NewUpstream on a free loopback port.
func ListenUpstream(name string, seed uint64) (*Upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("story: upstream %s: %w", name, err)
	}
	return NewUpstream(name, l, seed), nil
}

// URL is where the upstream answers.
func (u *Upstream) URL() string { return "http://" + u.listener.Addr().String() }

// Set makes the upstream ill, or healthy with the zero Trouble, from the next
// request on. Going Down closes the open connections too.
func (u *Upstream) Set(t Trouble) {
	u.mu.Lock()
	u.trouble = t
	u.mu.Unlock()
	if t.Down {
		u.kill(func(http.ConnState) bool { return true })
	}
}

// Trouble returns what was last set.
func (u *Upstream) Trouble() Trouble {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.trouble
}

// KillParked closes the connections that wait for a request, and returns how
// many there were.
func (u *Upstream) KillParked() int {
	return u.kill(func(s http.ConnState) bool { return s == http.StateIdle })
}

func (u *Upstream) kill(which func(http.ConnState) bool) int {
	u.mu.Lock()
	var dead []net.Conn
	for c, state := range u.conns {
		if which(state) {
			dead = append(dead, c)
		}
	}
	u.mu.Unlock()
	for _, c := range dead {
		c.Close()
	}
	return len(dead)
}

// Hits is how many requests arrived.
func (u *Upstream) Hits() int64 { return u.hits.Load() }

// Unserved is how many requests arrived and were ended without an answer.
func (u *Upstream) Unserved() int64 { return u.unserved.Load() }

// Close ends the server and its connections.
func (u *Upstream) Close() error {
	err := u.server.Close()
	<-u.served
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (u *Upstream) connState(c net.Conn, s http.ConnState) {
	u.mu.Lock()
	down := u.trouble.Down
	if s == http.StateClosed || s == http.StateHijacked {
		delete(u.conns, c)
	} else {
		u.conns[c] = s
	}
	u.mu.Unlock()
	if down && s == http.StateNew {
		c.Close()
	}
}

func (u *Upstream) answer(w http.ResponseWriter, r *http.Request) {
	u.hits.Add(1)
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20)) // the client's trouble, if any
	uses := r.Context().Value(usesKey{}).(*int)
	*uses++
	u.mu.Lock()
	t := u.trouble
	ill := t.FailRate > 0 && u.random.Float64() < t.FailRate
	u.mu.Unlock()
	switch {
	case t.Down, t.KillReused && *uses > 1:
		u.unserved.Add(1)
		panic(http.ErrAbortHandler)
	case !ill:
		fmt.Fprintf(w, "%s is fine\n", u.Name)
		return
	}
	if t.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(t.RetryAfter/time.Second)))
	}
	status := t.Status
	if status == 0 {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, u.Name+" is ill", status)
}
