package otelbridge

import (
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Sources are what [Bridge.Observe] reads levels, states and counts from, each
// time that a reader collects. Each member may be nil: its metrics are not
// observed then. The functions are called from the readers' goroutines, also
// concurrently, and must not block; each is an iter.Seq.
type Sources struct {
	// Tokens yields the level of every partition of the retry budget that was
	// seen, full ones included.
	Tokens func(yield func(TokenLevel) bool)
	// Conns yields the pool's counts, once per origin. Several entries of an
	// origin, as of its proxies or generations, are added.
	Conns func(yield func(ConnCount) bool)
	// Requests yields the calls that are in flight.
	Requests func(yield func(RequestCount) bool)
	// Breakers yields the state of every breaker key.
	Breakers func(yield func(BreakerLevel) bool)
	// HookPanics returns how many panics of hooks were recovered so far.
	HookPanics func() uint64
}

// TokenLevel is the level of one partition of a retry budget.
type TokenLevel struct {
	Origin    string // scheme://host:port; "" where the partition has no single origin
	Partition string // "" means the origin
	Tokens    int    // from 0 to Capacity
	Capacity  int    // of a full partition
}

// ConnCount says what connections an origin has.
type ConnCount struct {
	Origin  string // scheme://host:port
	Active  int    // connections that serve at least one request
	Idle    int    // connections that serve none
	Waiting int    // requests that wait for a slot
}

// RequestCount says how many requests of a partition are in flight.
type RequestCount struct {
	Origin    string // scheme://host:port
	Partition string // "" means the origin
	Active    int    // calls under way
}

// BreakerLevel is the state of one breaker key.
type BreakerLevel struct {
	Origin    string              // scheme://host:port; "" where the key has no single origin
	Partition string              // the breaker's key; "" means the origin
	State     events.BreakerState // that the gate is in
	Cooldown  time.Duration       // of the current opening; 0 while closed
}
