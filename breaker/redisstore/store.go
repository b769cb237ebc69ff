package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// Store is a [breaker.Store] on a Redis server, and a [breaker.Observable]. It
// is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	inline bool // the client applies deadlines of contexts
	mode   Mode
	prefix string
	max    int

	start  time.Time    // with its monotonic reading
	epoch  int64        // start in nanoseconds since the Unix epoch
	clock  func() int64 // tests: the time in milliseconds, for us and for the server
	pinned bool         // clock is set

	interval, gap, stale, retry, pace time.Duration

	mu       sync.RWMutex
	replicas map[string]*replica // guarded by mu; lock order: mu, then a replica's

	observerMu sync.Mutex
	observers  []*observer // guarded by observerMu; replaced, never changed in place

	outage outage
	closed atomic.Bool
}

// New returns a store. It does not ask the server yet. Its errors name the
// field, its value and what to give instead.
func New(c Config) (*Store, error) { return newStore(c) }

// option changes what only tests change.
type option func(*Store)

func newStore(c Config, options ...option) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s := &Store{
		client: c.Client, inline: honoursDeadlines(c.Client), mode: c.Mode, prefix: c.Prefix, max: c.MaxKeys,
		start: start, epoch: start.UnixNano(), replicas: make(map[string]*replica),
		interval: flushInterval, gap: flushGap, stale: staleAfter, retry: retryInterval, pace: halfOpenPace,
	}
	for _, o := range options {
		o(s)
	}
	return s, nil
}

// stopwatch returns the time since the store was made.
func (s *Store) stopwatch() time.Duration { return time.Since(s.start) }

// nanos returns our time in nanoseconds since the Unix epoch; it is monotonic.
func (s *Store) nanos() int64 {
	if s.pinned {
		return s.clock() * int64(time.Millisecond)
	}
	return s.epoch + int64(time.Since(s.start))
}

// now returns it in milliseconds.
func (s *Store) now() int64 { return s.nanos() / int64(time.Millisecond) }

// Admit asks for admission; a refusal is a *[breaker.RejectedError]. It waits
// for the server for at most p.Timeout, and returns an error that wraps ctx's
// only where ctx ended while another caller's question was on its way.
func (s *Store) Admit(ctx context.Context, key string, p breaker.Params) (breaker.Grant, error) {
	r := s.replica(key)
	for waited := false; ; waited = true {
		a, wait, done := r.admitHere(&p, waited)
		switch {
		case done:
			return s.admitted(key, &p, a)
		case wait == nil:
			return s.admitThere(ctx, r, p)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return breaker.Grant{}, fmt.Errorf("redisstore: admission of %q: %w", key, context.Cause(ctx))
		}
	}
}

func (s *Store) admitThere(ctx context.Context, r *replica, p breaker.Params) (breaker.Grant, error) {
	got, err := s.run(ctx, r.name, &p, "admit")
	return s.admitted(r.key, &p, r.arrive(got, err, breaker.Event{Verb: breaker.DoAdmit}, &p))
}

// answer is an answer with everything that was learnt together with it.
type answer struct {
	breaker.Answer
	changes []breaker.Change
	lost    bool // the server was lost with it
}

func (s *Store) admitted(key string, p *breaker.Params, a answer) (breaker.Grant, error) {
	s.tell(p, a)
	if !a.OK {
		return breaker.Grant{}, &breaker.RejectedError{Key: key, State: a.Result.State, RetryAfter: a.Result.RetryAfter}
	}
	return a.Grant, nil
}

// tell passes on what an operation learnt, outside all locks.
func (s *Store) tell(p *breaker.Params, a answer) {
	if a.lost {
		s.announce()
	}
	report(p, a.changes)
}

// admitHere answers an admission without the server if it can (done), or says
// whose question to wait for, or, with neither, has the caller ask. Who has
// waited takes the answer as it is, however long it took: callers that asked
// one after the other would wait for all those before them.
func (r *replica) admitHere(p *breaker.Params, waited bool) (a answer, wait <-chan struct{}, done bool) {
	s := r.store
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followLocked(p)
	if r.lost {
		return r.decideLocked(breaker.Event{Verb: breaker.DoAdmit}, p), nil, true
	}
	if r.known && r.gate.State == breaker.Open {
		if left := r.left(); left > 0 {
			a.Result = breaker.Result{State: breaker.Open, RetryAfter: ceilMillis(left)}
			return a, nil, true
		}
	}
	if s.mode == Strict {
		return a, nil, false
	}
	age := s.stopwatch() - r.asOf
	switch {
	case !r.known:
	case r.gate.State == breaker.Closed && (waited || age < min(s.stale, max(p.Cooldown, s.interval))):
		a.OK, a.Grant = true, breaker.Grant{Generation: r.gate.Generation}
		return a, nil, true
	case r.gate.State != breaker.HalfOpen:
	case (waited || age < s.gap) && r.nowLocked() < r.gate.LeaseUntil, r.ask == nil && !r.payLocked():
		a.Result = breaker.Result{State: breaker.HalfOpen}
		return a, nil, true
	}
	if r.ask != nil {
		return a, r.ask, false
	}
	r.ask = make(chan struct{})
	return a, nil, false
}

func ceilMillis(nanos int64) time.Duration {
	return (time.Duration(nanos) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// arrive takes what the server said to e, or decides e where it said nothing.
func (r *replica) arrive(got reply, err error, e breaker.Event, p *breaker.Params) (a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Verb == breaker.DoAdmit && r.ask != nil {
		close(r.ask)
		r.ask = nil
	}
	if e.Verb == breaker.DoAdmit && r.gate.State == breaker.HalfOpen && got.answer.Grant.Lease != 0 {
		r.chargeLocked() // for its settlement
	}
	if err != nil {
		a.changes, a.lost = r.loseLocked(p)
		local := r.decideLocked(e, p)
		a.Answer, a.changes = local.Answer, append(a.changes, local.changes...)
		return a
	}
	return answer{Answer: got.answer, changes: r.adoptLocked(got)}
}

// decideLocked decides e by the local gate.
func (r *replica) decideLocked(e breaker.Event, p *breaker.Params) (a answer) {
	r.gate, a.Answer = breaker.Transition(r.gate, e, *p, r.nowLocked())
	if a.Changed {
		a.changes = []breaker.Change{a.Change}
	}
	return a
}

// Settle reports what became of the operation that g admitted. In mode Batched
// the outcome of an operation that was no probe is counted here and sent
// later; a failure that could open the gate is sent at once and waited for,
// unless the last batch is less than 25 ms old.
func (s *Store) Settle(ctx context.Context, key string, g breaker.Grant, o breaker.Outcome, p breaker.Params) (breaker.Result, error) {
	r := s.replica(key)
	e := breaker.Event{Verb: breaker.DoSettle, Grant: g, Outcome: o}
	a, urgent, done := r.settleHere(e, &p)
	switch {
	case urgent:
		if flushed, ok := s.flush(ctx, r); ok {
			a = flushed
		}
	case !done:
		return s.settleThere(ctx, r, e, p)
	}
	s.tell(&p, a)
	return a.Result, nil
}

func (s *Store) settleThere(ctx context.Context, r *replica, e breaker.Event, p breaker.Params) (breaker.Result, error) {
	got, err := s.run(ctx, r.name, &p, "settle", e.Grant.Generation, e.Grant.Lease, int64(e.Outcome))
	a := r.arrive(got, err, e, &p)
	s.tell(&p, a)
	return a.Result, nil
}

// settleHere counts an outcome without the server if it can (done). It says
// that a flush is urgent if the outcome could have opened the gate.
func (r *replica) settleHere(e breaker.Event, p *breaker.Params) (a answer, urgent, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followLocked(p)
	switch {
	case r.lost:
		return r.decideLocked(e, p), false, true
	case r.store.mode == Strict || !r.known || e.Grant.Lease != 0:
		return a, false, false
	case e.Grant.Generation != r.gate.Generation || r.gate.State != breaker.Closed:
		a.Result.State = r.gate.State
		return a, false, true // fenced out
	}
	return a, r.countLocked(e.Outcome, p), true
}

// Renew extends the probe lease of g. It waits for the server for at most
// p.Timeout.
func (s *Store) Renew(ctx context.Context, key string, g breaker.Grant, p breaker.Params) (bool, error) {
	r := s.replica(key)
	e := breaker.Event{Verb: breaker.DoRenew, Grant: g}
	r.mu.Lock()
	if r.lost {
		defer r.mu.Unlock()
		return r.decideLocked(e, &p).OK, nil
	}
	r.mu.Unlock()
	got, err := s.run(ctx, r.name, &p, "renew", g.Generation, g.Lease)
	a := r.arrive(got, err, e, &p)
	s.tell(&p, a)
	return a.OK, nil
}

// Snapshots yields what this process knows, in no particular order, outcomes
// included that are not flushed yet.
func (s *Store) Snapshots(yield func(string, breaker.Snapshot) bool) {
	for _, r := range s.all() {
		r.mu.Lock()
		known, snapshot := r.known, breaker.Snapshot{}
		if known {
			snapshot = r.snapshotLocked()
		}
		r.mu.Unlock()
		if known && !yield(r.key, snapshot) {
			return
		}
	}
}
