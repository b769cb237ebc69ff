package breaker

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/plimsoll-http/plimsoll/events"
)

// watchers are those who want to hear what happens outside any call.
type watchers struct {
	panics atomic.Uint64
	mu     sync.Mutex
	hooks  []*subscription // guarded by mu; replaced, never changed in place
}

type subscription struct{ hooks *events.Hooks }

// Notify has h receive what happens outside any call, until stop is called:
// changes of state that a shared store learns of in the background
// ([events.Hooks].BreakerChanged, with the key as Meta.Partition), and the
// loss and the return of a shared store (BreakerStoreChanged), which many
// calls may notice at once. These hooks may run on any goroutine; their panics
// are recovered, counted by [Breaker.HookPanics] and handed to Config.OnPanic.
func (b *Breaker) Notify(h *events.Hooks) (stop func()) {
	s := &subscription{h}
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	b.watch.hooks = append(slices.Clip(b.watch.hooks), s)
	return func() {
		b.watch.mu.Lock()
		defer b.watch.mu.Unlock()
		b.watch.hooks = slices.DeleteFunc(slices.Clone(b.watch.hooks), func(o *subscription) bool { return o == s })
	}
}

// HookPanics returns how many panics of hooks and of OnChange were recovered
// outside any call.
func (b *Breaker) HookPanics() uint64 { return b.watch.panics.Load() }

// observe subscribes to a store without keeping the Breaker alive.
func (b *Breaker) observe(s Store) {
	o, ok := s.(Observable)
	if !ok {
		return
	}
	w := weak.Make(b)
	stop := o.Observe(func(key string, c Change) {
		if b := w.Value(); b != nil {
			b.notifyChanged(key, c)
		}
	}, func(available bool) {
		if b := w.Value(); b != nil {
			b.notifyStore(available)
		}
	})
	runtime.AddCleanup(b, func(stop func()) { stop() }, stop)
}

func (b *Breaker) notifyChanged(key string, c Change) {
	if c.From == c.To {
		return
	}
	e := c.event(events.Meta{Partition: key}, key)
	b.each(func(h *events.Hooks) {
		if h.BreakerChanged != nil {
			h.BreakerChanged(context.Background(), e)
		}
	})
	if b.cfg.OnChange != nil {
		b.recovered(func() { b.cfg.OnChange(e) })
	}
}

func (b *Breaker) notifyStore(available bool) {
	b.each(func(h *events.Hooks) {
		if h.BreakerStoreChanged != nil {
			h.BreakerStoreChanged(context.Background(), events.BreakerStoreChanged{Available: available})
		}
	})
}

// each calls f for the hooks of every subscription.
func (b *Breaker) each(f func(*events.Hooks)) {
	b.watch.mu.Lock()
	hooks := b.watch.hooks
	b.watch.mu.Unlock()
	for _, s := range hooks {
		if s.hooks != nil {
			b.recovered(func() { f(s.hooks) })
		}
	}
}

// recovered runs f and keeps its panic.
func (b *Breaker) recovered(f func()) {
	defer func() {
		if v := recover(); v != nil {
			b.watch.panics.Add(1)
			if b.cfg.OnPanic != nil {
				b.cfg.OnPanic(v)
			}
		}
	}()
	f()
}
