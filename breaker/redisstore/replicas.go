package redisstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// replica returns the replica of key, a new one where there is none.
func (s *Store) replica(key string) *replica {
	s.mu.RLock()
	r := s.replicas[key]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.replicas[key]; r != nil {
		return r
	}
	if len(s.replicas) >= s.max {
		s.evictLocked()
	}
	key = strings.Clone(key)
	// The tag keeps all gates of a key in one slot of a cluster.
	r = &replica{store: s, key: key, name: s.prefix + "{" + key + "}"}
	r.flushed = -s.gap
	s.replicas[key] = r
	return r
}

// all returns every replica.
func (s *Store) all() []*replica {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.replicas))
}

// rankLocked orders replicas by what would be lost with them: those that the
// server can replace, then those that decide because it cannot be reached.
func (r *replica) rankLocked() int {
	switch {
	case r.idleLocked() && r.gate.State == breaker.Closed:
		return 0
	case r.idleLocked():
		return 1
	case r.gate.State == breaker.Closed:
		return 2
	case r.gate.State == breaker.HalfOpen:
		return 3
	default:
		return 4
	}
}

// evictLocked makes room for at least one key.
func (s *Store) evictLocked() {
	type victim struct {
		r    *replica
		rank int
		asOf time.Duration
	}
	victims := make([]victim, 0, len(s.replicas))
	for _, r := range s.replicas {
		r.mu.Lock()
		victims = append(victims, victim{r, r.rankLocked(), r.asOf})
		r.mu.Unlock()
	}
	slices.SortFunc(victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.asOf, b.asOf))
	})
	least, n := victims[0].rank, 1
	if least <= 2 {
		n = max(1, s.max/16)
	}
	for _, v := range victims[:min(n, len(victims))] {
		if v.rank == least {
			delete(s.replicas, v.r.key)
			s.outage.drop(v.r)
		}
	}
}

// Close flushes what is pending, for at most a second, and stops the store's
// timers. It does not close the client. Whatever is asked of the store
// afterwards is decided by local gates, and the observers hear nothing more.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.Flush(ctx)
	s.closed.Store(true)
	return err
}

// afterFunc is time.AfterFunc until the store is closed.
func (s *Store) afterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		if !s.closed.Load() {
			f()
		}
	})
}
