package breakertest

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// Watched is a store that remembers which admissions were not settled.
type Watched struct {
	breaker.Store

	mu   sync.Mutex
	next int               // guarded by mu
	open map[int]admission // guarded by mu
}

type admission struct {
	key   string
	grant breaker.Grant
	stack string
}

// Watch wraps a store for a program under test; nil means a memory store. When
// the test ends, each admission that was never settled is an error of the test
// that shows where it was asked for.
func Watch(t testing.TB, s breaker.Store) *Watched {
	if s == nil {
		s = breaker.NewMemory(0)
	}
	w := &Watched{Store: s, open: make(map[int]admission)}
	t.Cleanup(func() {
		for _, line := range w.Forgotten() {
			t.Errorf("breakertest: a permit was never settled: %s", line)
		}
	})
	return w
}

// Admit asks the wrapped store.
func (w *Watched) Admit(ctx context.Context, key string, p breaker.Params) (breaker.Grant, error) {
	g, err := w.Store.Admit(ctx, key, p)
	if err != nil {
		return g, err
	}
	buf := make([]byte, 8<<10)
	stack := string(buf[:runtime.Stack(buf, false)])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.open[w.next] = admission{key, g, stack}
	return g, nil
}

// Settle settles with the wrapped store.
func (w *Watched) Settle(ctx context.Context, key string, g breaker.Grant, o breaker.Outcome, p breaker.Params) (breaker.Result, error) {
	w.mu.Lock()
	for id, a := range w.open {
		// Admissions by the same closed gate are alike; any of them will do.
		if a.key == key && a.grant == g {
			delete(w.open, id)
			break
		}
	}
	w.mu.Unlock()
	return w.Store.Settle(ctx, key, g, o, p)
}

// Observe forwards to the wrapped store, if that is a [breaker.Observable].
func (w *Watched) Observe(changed func(string, breaker.Change), available func(bool)) (stop func()) {
	if o, ok := w.Store.(breaker.Observable); ok {
		return o.Observe(changed, available)
	}
	return func() {}
}

// Forgotten describes the admissions that have not been settled yet, oldest
// first.
func (w *Watched) Forgotten() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		a := w.open[id]
		lines = append(lines, fmt.Sprintf("key %q, lease %d, asked for at\n%s", a.key, a.grant.Lease, strings.TrimSpace(a.stack)))
	}
	return lines
}
