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
	Active   int // established connections with at least one request
	Dialing  int // sockets whose dial or handshake is not over
	Waiting  int // requests that queue for a connection
	Requests int // requests that hold a connection: until the end of their response's body

	Dials      uint64 // dials started
	Reuses     uint64 // requests sent on a connection that had served before
	Stale      uint64 // reused connections that turned out to be dead
	Recoveries uint64 // requests that went through after dead connections
}
