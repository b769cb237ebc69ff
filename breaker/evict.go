package breaker

import (
	"cmp"
	"slices"
)

// worth orders gates by how much would be lost with them.
type worth int8

const (
	worthNothing worth = iota // closed, and like a new one
	worthLittle               // closed
	worthSome                 // half-open
	worthMost                 // open
)

// victim is a gate that could go.
type victim struct {
	cell  *cell
	worth worth
	order int64 // within one worth, the lower goes first
}

func (c *cell) victim(now int64) victim {
	g, p := c.read()
	v := victim{cell: c, order: orderOf(&g)}
	switch {
	case g.State == Open:
		v.worth = worthMost
	case g.State == HalfOpen:
		v.worth = worthSome
	case p != nil:
		if s := g.Snapshot(*p, now); s.Calls > 0 || s.Streak > 0 || s.Level > 0 {
			v.worth = worthLittle
		}
	}
	return v
}

// orderOf tells two gates of the same worth apart: open ones by their end,
// half-open ones by their beginning, closed ones by their last use.
func orderOf(g *Gate) int64 {
	switch g.State {
	case Open:
		return g.OpenUntil
	case HalfOpen:
		return g.Generation
	default:
		return g.Bucket
	}
}

// evictLocked makes room in t for at least one key.
func (m *Memory) evictLocked(t *table) {
	for size := t.size; t.size == size; {
		now := m.now()
		victims := make([]victim, 0, t.size)
		for c := range t.cells {
			victims = append(victims, c.victim(now))
		}
		slices.SortFunc(victims, func(a, b victim) int {
			return cmp.Or(cmp.Compare(a.worth, b.worth), cmp.Compare(a.order, b.order))
		})
		least := victims[0].worth
		n := 1
		if least <= worthLittle {
			n = max(1, m.max/16)
		}
		for _, v := range victims[:min(n, len(victims))] {
			if v.worth == least && v.cell.kill(v.order) {
				t.remove(v.cell)
			}
		}
	}
}

// kill makes whoever still holds c look its key up again. It reports false if
// the gate has moved on since it was weighed.
func (c *cell) kill(order int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if order != orderOf(&c.gate) {
		return false
	}
	c.collectLocked()
	c.dead = true
	return true
}
