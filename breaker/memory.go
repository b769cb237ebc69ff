package breaker

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Memory is a [Store] in the memory of this process, the default. Its clock is
// monotonic: stepping the wall clock changes nothing. It starts no goroutine.
//
// It keeps at most so many keys. Where a new one needs room, gates go in this
// order: closed ones that have seen nothing within the window and remember
// nothing, then the closed ones that were used least recently, then half-open
// ones, and open ones only if nothing else is left, the one that ends first.
// Of the first two kinds up to a sixteenth of all goes at once.
type Memory struct {
	start time.Time // with its monotonic reading
	epoch int64     // start in nanoseconds since the Unix epoch
	max   int
	owner *Breaker // whose permits point to the cells; nil: the store goes by its exported methods alone

	table atomic.Pointer[table] // replaced under mu
	mu    sync.Mutex            // lock order: mu, then a cell's
}

// NewMemory returns an empty store for at most maxKeys keys; 0 or less: 4096.
func NewMemory(maxKeys int) *Memory {
	if maxKeys <= 0 {
		maxKeys = 4096
	}
	start := time.Now()
	m := &Memory{start: start, epoch: start.UnixNano(), max: maxKeys}
	m.table.Store(newTable(maphash.MakeSeed(), 1))
	return m
}

// nanos returns nanoseconds since the Unix epoch on the monotonic clock.
func (m *Memory) nanos() int64 { return m.epoch + int64(time.Since(m.start)) }

// now returns them as milliseconds.
func (m *Memory) now() int64 { return m.nanos() / int64(time.Millisecond) }

// cell returns the cell of key, a new one where there is none.
func (m *Memory) cell(key string, p *Params) *cell {
	if c := m.table.Load().find(key); c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table.Load()
	if c := t.find(key); c != nil {
		return c
	}
	if t.size >= m.max {
		m.evictLocked(t)
	}
	c := &cell{store: m, place: place{b: m.owner, key: strings.Clone(key)}}
	c.place.cell = c
	c.mu.Lock()
	c.publishLocked(p)
	c.mu.Unlock()
	t = t.grown()
	t.add(c)
	m.table.Store(t)
	return c
}

// admit asks the gate of key what admitNow cannot answer.
func (m *Memory) admit(c *cell, p *Params) (*cell, Answer) {
	if left := c.refuseNow(); left > 0 {
		return c, Answer{Result: Result{State: Open, RetryAfter: millis(left)}}
	}
	return m.step(c, Event{Verb: DoAdmit}, p)
}

// step runs e on c, or on the cell that took its key over.
func (m *Memory) step(c *cell, e Event, p *Params) (*cell, Answer) {
	for {
		if a, ok := c.step(e, p); ok {
			return c, a
		}
		c = m.cell(c.key, p)
	}
}

// Admit asks for admission; a refusal is a *[RejectedError]. It never waits.
func (m *Memory) Admit(_ context.Context, key string, p Params) (Grant, error) {
	c := m.cell(key, &p)
	if generation, ok := c.admitNow(); ok {
		return Grant{Generation: generation}, nil
	}
	_, a := m.admit(c, &p)
	a.report(&p)
	if !a.OK {
		return Grant{}, a.rejected(key)
	}
	return a.Grant, nil
}

// Settle reports what became of the operation that g admitted. It never waits
// and never fails.
func (m *Memory) Settle(_ context.Context, key string, g Grant, o Outcome, p Params) (Result, error) {
	c := m.cell(key, &p)
	if c.settleNow(g, o, &p) {
		return Result{}, nil
	}
	_, a := m.step(c, Event{Verb: DoSettle, Grant: g, Outcome: o}, &p)
	a.report(&p)
	return a.Result, nil
}

// Renew extends the probe lease of g. It never waits and never fails.
func (m *Memory) Renew(_ context.Context, key string, g Grant, p Params) (bool, error) {
	_, a := m.step(m.cell(key, &p), Event{Verb: DoRenew, Grant: g}, &p)
	return a.OK, nil
}

// Snapshots yields every key, in no particular order.
func (m *Memory) Snapshots(yield func(string, Snapshot) bool) {
	for c := range m.table.Load().cells {
		if s, ok := c.snapshot(); ok && !yield(c.key, s) {
			return
		}
	}
}

// snapshot returns what the gate of key looks like.
func (m *Memory) snapshot(key string) (Snapshot, bool) {
	c := m.table.Load().find(key)
	if c == nil {
		return Snapshot{}, false
	}
	return c.snapshot()
}

// report hands a change to p.Report.
func (a *Answer) report(p *Params) {
	if a.Changed && p.Report != nil {
		p.Report(a.Change)
	}
}

// rejected turns a refusal into its error.
func (a *Answer) rejected(key string) *RejectedError {
	return &RejectedError{Key: key, State: a.Result.State, RetryAfter: a.Result.RetryAfter}
}
