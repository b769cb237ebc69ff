package pool

// Stats is a snapshot of a pool. Counters only grow; the others are levels at
// one instant, all read under one lock.
type Stats struct {
	OriginStats // sums over all origins, those included that hold nothing any more

	// Origins holds the origins that have connections, waiters or requests at
	// the moment, by normalised scheme://host:port (lower case, port always
	// given). Connections to an HTTP proxy that carry requests for any http
	// origin count for the proxy itself.
	Origins map[string]OriginStats

	HookPanics uint64 // panics of hooks on background goroutines
}

// OriginStats counts what belongs to one origin.
type OriginStats struct {
	Open     int // sockets, those being dialled included
	Idle     int // established connections without a request
	Active   int // established connections with at least one request, those about to close included
	Dialing  int // sockets whose dial or handshake is not over
	Waiting  int // requests that queue for a connection
	Requests int // requests that hold a connection: until the end of their response's body

	Dials      uint64 // dials started
	Reuses     uint64 // requests sent on a connection that had served before
	Stale      uint64 // reused connections that turned out to be dead
	Recoveries uint64 // requests that went through after dead connections
}

func (s *OriginStats) add(o OriginStats) {
	s.Open += o.Open
	s.Idle += o.Idle
	s.Active += o.Active
	s.Dialing += o.Dialing
	s.Waiting += o.Waiting
	s.Requests += o.Requests
	s.Dials += o.Dials
	s.Reuses += o.Reuses
	s.Stale += o.Stale
	s.Recoveries += o.Recoveries
}

// stats returns what g holds. Transport.mu is held.
func (g *group) stats() OriginStats {
	s := g.count
	s.Open = g.slots
	s.Idle = g.idles
	for _, d := range g.dials {
		if d.c.slot { // else its socket has closed, and it is about to fail
			s.Dialing++
		}
	}
	s.Waiting = g.queue.n
	s.Requests = g.requests
	s.Active = max(0, s.Open-s.Idle-s.Dialing)
	return s
}

// Stats returns a snapshot. It is cheap enough for a scrape, not for a hot
// path: it walks all connections under the pool's lock.
func (t *Transport) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{OriginStats: t.lost, Origins: make(map[string]OriginStats, len(t.groups)), HookPanics: t.hookPanics.Load()}
	for _, g := range t.groups {
		gs := g.stats()
		s.OriginStats.add(gs)
		if gs.Open+gs.Waiting+gs.Requests == 0 {
			continue // about to be deleted
		}
		sum := s.Origins[g.origin] // of several proxies, perhaps
		sum.add(gs)
		s.Origins[g.origin] = sum
	}
	return s
}
