package chaos

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// state is what became of one call, at the servers, in the events and for the
// caller.
type state struct {
	*plan
	w     *world
	dials atomic.Uint64

	panicking atomic.Bool // one of the call's callbacks has panicked

	mu       sync.Mutex
	arrivals map[int][]arrival // by hop of the redirect chain; guarded by mu
	written  map[int]int       // sockets that a hop's request line was written to (HTTP/1.1 without TLS); guarded by mu
	hops     []*hop            // calls of the client, in order; guarded by mu
	bodies   []*body           // request bodies that were made; guarded by mu

	// What the caller saw; written by its goroutine alone.
	began    time.Time
	ended    time.Time
	stopAt   time.Time // when the caller gave up; zero: it did not
	ran      bool
	status   int // 0: none
	fallback bool
	err      error
	bodyErr  error
	panicked bool
}

// arrival is one request as a server saw it.
type arrival struct {
	host, conn int
	stream     uint32
	method     string
	refused    bool
	fault      string
}

// hop is one call of the client, as its events tell it.
type hop struct {
	call     uint64
	number   int // in the redirect chain; of a stream 0
	method   string
	started  int
	attempts int // AttemptStarted
	ended    int // AttemptDone
	armed    int
	forced   int // of the armed: by RetryIf against the built-in verdict
	skips    []events.SkipReason
	reserved int
	settled  int
	kept     int
	resent   int // recoveries, by the attempts
	done     []events.CallDone
}

func newState(w *world, p *plan) *state {
	return &state{plan: p, w: w, arrivals: map[int][]arrival{}, written: map[int]int{}}
}

type stateKey struct{}

func stateOf(ctx context.Context) *state {
	s, _ := ctx.Value(stateKey{}).(*state)
	return s
}

// hopOf returns the record of a call of the client.
func (s *state) hopOf(call uint64) *hop {
	for _, h := range s.hops {
		if h.call == call {
			return h
		}
	}
	h := &hop{call: call}
	s.hops = append(s.hops, h)
	return h
}

// record changes the record of a call of the client.
func (s *state) record(call uint64, change func(*hop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.hopOf(call))
}

// body is a request body that counts its closes.
type body struct {
	io.Reader
	closes atomic.Int32
}

func (b *body) Close() error {
	b.closes.Add(1)
	return nil
}

var (
	errBroken   = errors.New("the body is broken")
	errGaveUp   = errors.New("the caller gave up")
	errPlanned  = errors.New("a planned panic")
	errFallback = errors.New("the fallback has nothing")
)

// track makes a body whose closes are counted.
func (s *state) track(r io.Reader) *body {
	b := &body{Reader: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, b)
	return b
}

// sleep waits for d, or until ctx ends, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
