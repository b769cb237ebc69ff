package otelbridge

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// scopeKey is what a scope is found by. A partition that is the origin is "",
// and so is what a scope does not tell apart.
type scopeKey struct{ client, origin, partition string }

// registry is a bounded set of scopes: the first max keys have one each, and
// the rest of each client shares one. Lookups take no lock, also past the
// bound.
type registry[V any] struct {
	max    int
	create func(key scopeKey, other bool) *V

	first  atomic.Pointer[entry[V]]        // the first of byKey: many clients have no other
	byKey  atomic.Pointer[map[scopeKey]*V] // replaced, never changed
	others atomic.Pointer[map[string]*V]   // by client; replaced, never changed
	full   atomic.Bool                     // byKey holds max entries

	mu sync.Mutex // guards the replacing
}

type entry[V any] struct {
	key   scopeKey
	value *V
}

// newRegistry returns an empty registry that makes its scopes with create,
// which is called under the registry's lock.
func newRegistry[V any](limit int, create func(key scopeKey, other bool) *V) *registry[V] {
	r := &registry[V]{max: limit, create: create}
	r.byKey.Store(&map[scopeKey]*V{})
	r.others.Store(&map[string]*V{})
	return r
}

// get returns the scope of key, or the one that takes the rest.
func (r *registry[V]) get(key scopeKey) *V {
	if e := r.first.Load(); e != nil && e.key == key {
		return e.value
	}
	if v := (*r.byKey.Load())[key]; v != nil {
		return v
	}
	if r.full.Load() {
		if v := (*r.others.Load())[key.client]; v != nil {
			return v
		}
	}
	return r.add(key)
}

func (r *registry[V]) add(key scopeKey) *V {
	r.mu.Lock()
	defer r.mu.Unlock()
	byKey := *r.byKey.Load()
	if v := byKey[key]; v != nil {
		return v
	}
	if len(byKey) >= r.max {
		return r.otherLocked(key.client)
	}
	// Partitions that differ in case alone are one, as in the budget.
	lower := scopeKey{key.client, key.origin, lowerCase(key.partition)}
	v := byKey[lower]
	if v == nil {
		v = r.create(lower, false)
	}
	if len(byKey) == 0 {
		r.first.Store(&entry[V]{key, v})
	}
	next := extended(byKey, key, v)
	r.byKey.Store(&next)
	r.full.Store(len(next) >= r.max)
	return v
}

// otherLocked returns the scope that takes the rest of a client. Clients are
// as many as the configuration names; should names be made up at run time, the
// last of them share one scope.
func (r *registry[V]) otherLocked(client string) *V {
	others := *r.others.Load()
	if v := others[client]; v != nil {
		return v
	}
	if len(others) >= r.max {
		client = catalog.Other
	}
	if v := others[client]; v != nil {
		return v
	}
	v := r.create(scopeKey{client: client}, true)
	next := extended(others, client, v)
	r.others.Store(&next)
	return v
}

// extended returns a copy of m in which k is v.
func extended[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	next := make(map[K]V, len(m)+1)
	maps.Copy(next, m)
	next[k] = v
	return next
}
