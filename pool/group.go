package pool

import (
	"slices"
)

// protocolKnowledge is what the last dial of a group has negotiated.
type protocolKnowledge uint8

const (
	notKnown protocolKnowledge = iota
	speaksHTTP1
	speaksHTTP2
)

// group is everything that belongs to one key. It is in Transport.groups while
// it holds anything.
type group struct {
	t      *Transport
	key    key
	origin string // scheme://host:port; of the proxy where its connections serve any host

	// guarded by Transport.mu:
	slots    int // sockets: dials and connections that are not closed. At most MaxConnsPerHost
	requests int // uses over all connections
	idles    int // idle connections
	conns    []*conn
	idle     []*conn // idle HTTP/1 connections, the latest last
	h2       []*conn // HTTP/2 connections, the oldest first
	dials    []*dialing
	shared   *dialing // the dial in progress whose connection may serve several requests
	speaks   protocolKnowledge
	queue    queue
	count    OriginStats // the counters alone
}

// group returns the group of k, a new one if there is none. Transport.mu is
// held.
func (t *Transport) group(k key) *group {
	if g := t.latest; g != nil && g.key == k {
		return g
	}
	g := t.groups[k]
	if g == nil {
		g = t.newGroup(k)
	}
	t.latest = g
	return g
}

func (t *Transport) newGroup(k key) *group {
	g := &group{t: t, key: k}
	if k.host != "" {
		g.origin = k.endpoint.origin()
	} else {
		g.origin = proxyOrigin(k.proxy)
	}
	t.groups[k] = g
	return g
}

// tidy deletes g if it holds nothing any more. Transport.mu is held.
func (t *Transport) tidy(g *group) {
	if g.slots > 0 || g.requests > 0 || len(g.conns) > 0 || len(g.dials) > 0 || g.queue.first != nil || t.groups[g.key] != g {
		return
	}
	delete(t.groups, g.key)
	if t.latest == g {
		t.latest = nil
	}
	t.lost.add(g.count)
}

// add publishes an established connection. Transport.mu is held.
func (g *group) add(c *conn) {
	c.index = len(g.conns)
	g.conns = append(g.conns, c)
	if c.h2 {
		g.h2 = append(g.h2, c)
	}
}

// remove is the reverse of add. Transport.mu is held.
func (g *group) remove(c *conn) {
	last := len(g.conns) - 1
	g.conns[c.index] = g.conns[last]
	g.conns[c.index].index = c.index
	g.conns[last] = nil
	g.conns = g.conns[:last]
	if c.h2 {
		i := slices.Index(g.h2, c)
		g.h2 = slices.Delete(g.h2, i, i+1)
	}
}

// fits reports whether a request of flavour f may use c. Transport.mu is held.
func (g *group) fits(c *conn, f flavour) bool {
	switch {
	case c.flavour == f:
		return true
	case f == onlyHTTP1:
		return !c.h2
	}
	return g.speaks == speaksHTTP1
}
