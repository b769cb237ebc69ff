package breaker

import (
	"hash/maphash"
	"sync/atomic"
)

// table finds cells by key. Reading takes no lock; whoever writes holds the
// store's mutex. Nodes never change: a removal copies the nodes before it, and
// growth makes new ones, so that a reader sees a consistent chain.
type table struct {
	seed  maphash.Seed
	chain []atomic.Pointer[node] // one, or a larger power of two
	size  int                    // guarded by the store's mu
}

type node struct {
	key  string
	cell *cell
	next *node
}

// short is how many keys are found by looking at each: most processes call few
// upstreams.
const short = 4

func newTable(seed maphash.Seed, chains int) *table {
	return &table{seed: seed, chain: make([]atomic.Pointer[node], chains)}
}

// at returns the chain of key.
func (t *table) at(key string) *atomic.Pointer[node] {
	if len(t.chain) == 1 {
		return &t.chain[0]
	}
	return &t.chain[maphash.String(t.seed, key)&uint64(len(t.chain)-1)]
}

// find returns the cell of key, or nil.
func (t *table) find(key string) *cell {
	for n := t.at(key).Load(); n != nil; n = n.next {
		if n.key == key {
			return n.cell
		}
	}
	return nil
}

// add puts c, whose key is absent, into t.
func (t *table) add(c *cell) {
	head := t.at(c.key)
	head.Store(&node{key: c.key, cell: c, next: head.Load()})
	t.size++
}

// remove takes c out of t.
func (t *table) remove(c *cell) {
	head := t.at(c.key)
	var without func(n *node) *node
	without = func(n *node) *node {
		if n == nil || n.cell == c {
			t.size--
			return n.next
		}
		return &node{key: n.key, cell: n.cell, next: without(n.next)}
	}
	head.Store(without(head.Load()))
}

// grown returns t, or a table of twice the chains with the same cells where t
// has become crowded.
func (t *table) grown() *table {
	if t.size < max(short, len(t.chain)) {
		return t
	}
	bigger := newTable(t.seed, max(2*short, 2*len(t.chain)))
	for c := range t.cells {
		bigger.add(c)
	}
	return bigger
}

// cells yields every cell.
func (t *table) cells(yield func(*cell) bool) {
	for i := range t.chain {
		for n := t.chain[i].Load(); n != nil; n = n.next {
			if !yield(n.cell) {
				return
			}
		}
	}
}
