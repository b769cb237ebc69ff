package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// outage holds the replicas whose server cannot be asked.
type outage struct {
	mu      sync.Mutex // lock order: a replica's, then mu
	lost    map[*replica]struct{}
	timer   *time.Timer
	armed   bool
	said    bool   // what the observers are told last: the server is lost
	news    []bool // what they have not been told yet, in order
	telling bool   // someone tells them
}

// loseLocked makes the local gate decide. What was not flushed counts there.
// It returns what that changed, and whether this is news.
func (r *replica) loseLocked(p *breaker.Params) (changes []breaker.Change, news bool) {
	if r.lost {
		return nil, false
	}
	r.followLocked(p)
	merged, a := r.mergedLocked(p)
	r.pending, r.sent = breaker.Batch{}, breaker.Batch{}
	r.gate, r.known, r.lost = merged, true, true
	if a.Changed {
		changes = []breaker.Change{a.Change}
	}
	r.store.outage.add(r)
	return changes, true
}

// add schedules the way back.
func (o *outage) add(r *replica) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil {
		o.lost = make(map[*replica]struct{})
	}
	o.lost[r] = struct{}{}
	o.armLocked(r.store)
}

// drop forgets a replica.
func (o *outage) drop(r *replica) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.lost, r)
}

func (o *outage) armLocked(s *Store) {
	switch {
	case o.armed:
		return
	case o.timer == nil:
		o.timer = s.afterFunc(s.retry, s.recover)
	default:
		o.timer.Reset(s.retry)
	}
	o.armed = true
}

// announce tells the observers if the server was lost or is back since they
// were told last. They hear it in order and outside all locks.
func (s *Store) announce() {
	o := &s.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if lost := len(o.lost) > 0; lost != o.said {
		o.said = lost
		o.news = append(o.news, !lost)
	}
	if o.telling {
		return
	}
	o.telling = true
	defer func() { o.telling = false }()
	for len(o.news) > 0 {
		available := o.news[0]
		o.news = o.news[1:]
		s.available(available)
	}
}

// available tells the observers, with the outage's mutex released meanwhile.
func (s *Store) available(is bool) {
	s.outage.mu.Unlock()
	defer s.outage.mu.Lock()
	if s.closed.Load() {
		return
	}
	for _, o := range s.observing() {
		o.available(is)
	}
}

// recover tries to get the lost gates back. It stops at the third that fails:
// the server is still away.
func (s *Store) recover() {
	s.outage.mu.Lock()
	s.outage.armed = false
	lost := make([]*replica, 0, len(s.outage.lost))
	for r := range s.outage.lost {
		lost = append(lost, r)
	}
	s.outage.mu.Unlock()
	failed := 0
	for _, r := range lost {
		if !s.restore(r) {
			if failed++; failed == 3 {
				break
			}
		}
	}
	s.outage.mu.Lock()
	if len(s.outage.lost) > 0 {
		s.outage.armLocked(s)
	}
	s.outage.mu.Unlock()
	s.announce()
}

// restore brings one gate back to the server: the newer of the local one and
// the server's stays.
func (s *Store) restore(r *replica) bool {
	for {
		r.mu.Lock()
		local, rules := r.gate, r.rules
		r.mu.Unlock()
		got, err := s.run(context.Background(), r.name, &rules, "restore", numbersOf(&local)...)
		if err != nil {
			return false
		}
		r.mu.Lock()
		if r.gate.Generation != local.Generation || r.gate.Lease != local.Lease {
			r.mu.Unlock() // it moved on meanwhile
			continue
		}
		r.lost, r.at = false, 0
		changes := r.adoptLocked(got)
		s.outage.mu.Lock()
		delete(s.outage.lost, r)
		s.outage.mu.Unlock()
		r.mu.Unlock()
		s.learnt(r.key, changes)
		return true
	}
}

var errClosed = errors.New("redisstore: the store is closed")
