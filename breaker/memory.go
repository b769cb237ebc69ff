package breaker

import (
	"context"
	"sync"
	"time"
)

// Memory is a [Store] in the memory of this process.
type Memory struct {
	start   time.Time
	startMS int64
	max     int

	mu    sync.Mutex
	gates map[string]*cell // guarded by mu
}

type cell struct {
	mu   sync.Mutex
	gate Gate // guarded by mu
	p    Params
}

// NewMemory returns an empty store for at most maxKeys keys; 0 or less: 4096.
func NewMemory(maxKeys int) *Memory {
	if maxKeys <= 0 {
		maxKeys = 4096
	}
	start := time.Now()
	return &Memory{start: start, startMS: start.UnixMilli(), max: maxKeys, gates: make(map[string]*cell)}
}

func (m *Memory) now() int64 { return m.startMS + time.Since(m.start).Milliseconds() }

func (m *Memory) step(key string, e Event, p Params) Answer {
	m.mu.Lock()
	c := m.gates[key]
	if c == nil {
		c = &cell{}
		m.gates[key] = c
	}
	m.mu.Unlock()
	c.mu.Lock()
	next, a := Transition(c.gate, e, p, m.now())
	c.gate, c.p = next, p
	c.mu.Unlock()
	if a.Changed && p.Report != nil {
		p.Report(a.Change)
	}
	return a
}

// Admit asks for admission; a refusal is a *[RejectedError].
func (m *Memory) Admit(_ context.Context, key string, p Params) (Grant, error) {
	a := m.step(key, Event{Verb: DoAdmit}, p)
	if !a.OK {
		return Grant{}, &RejectedError{Key: key, State: a.Result.State, RetryAfter: a.Result.RetryAfter}
	}
	return a.Grant, nil
}

// Settle reports what became of the operation that g admitted.
func (m *Memory) Settle(_ context.Context, key string, g Grant, o Outcome, p Params) (Result, error) {
	return m.step(key, Event{Verb: DoSettle, Grant: g, Outcome: o}, p).Result, nil
}

// Renew extends the probe lease of g.
func (m *Memory) Renew(_ context.Context, key string, g Grant, p Params) (bool, error) {
	return m.step(key, Event{Verb: DoRenew, Grant: g}, p).OK, nil
}

// Snapshots yields every key.
func (m *Memory) Snapshots(yield func(string, Snapshot) bool) {
	type entry struct {
		key  string
		cell *cell
	}
	m.mu.Lock()
	all := make([]entry, 0, len(m.gates))
	for k, c := range m.gates {
		all = append(all, entry{k, c})
	}
	m.mu.Unlock()
	for _, e := range all {
		e.cell.mu.Lock()
		g, p := e.cell.gate, e.cell.p
		e.cell.mu.Unlock()
		if !yield(e.key, g.Snapshot(p, m.now())) {
			return
		}
	}
}
