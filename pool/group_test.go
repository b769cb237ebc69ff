package pool

import (
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// The group asked for last is found without a look into the map: it must be the
// one that is there.
func TestADeletedGroupIsNotFound(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H1}, nil, func(w *world) {
		for range 2 {
			w.mustDo("GET", "/x", "")
			w.pool.mu.Lock()
			latest, groups := w.pool.latest, len(w.pool.groups)
			w.pool.mu.Unlock()
			if latest == nil || groups != 1 || w.pool.groups[latest.key] != latest {
				t.Fatalf("the latest of %d groups is %v", groups, latest)
			}
			w.pool.CloseIdleConnections()
			synctest.Wait()
			w.pool.mu.Lock()
			if w.pool.latest != nil || len(w.pool.groups) != 0 {
				t.Error("a group without anything is still there")
			}
			w.pool.mu.Unlock()
		}
	})
}

func TestGroupsOfSeveralOriginsAreToldApart(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := key{endpoint: endpoint{"http", "a.test", "80"}}
	keys := []key{a, {endpoint: endpoint{"https", "a.test", "80"}}, {endpoint: endpoint{"http", "b.test", "80"}}, {endpoint: a.endpoint, proxy: "http://proxy.test"}}
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 2 {
		for _, k := range keys {
			for range 2 {
				if g := p.group(k); g.key != k || p.groups[k] != g {
					t.Errorf("%v: the group of %v", k, g.key)
				}
			}
		}
	}
	if len(p.groups) != len(keys) {
		t.Errorf("%d groups of %d keys", len(p.groups), len(keys))
	}
}

// One sending is made per exchange. As many bytes again would cost 1 % of an
// exchange over HTTP/2, 1.6 % over HTTP/1.
func TestASendingStaysInItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(sending{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 384 {
		t.Errorf("it has %d bytes", size)
	}
}
