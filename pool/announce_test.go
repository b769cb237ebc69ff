package pool

import (
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func TestAConnectionThatDiesOnItsWayToItsRequestIsOpenedBeforeItIsClosed(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			x := w.enqueue("/x")
			w.pool.mu.Lock()
			w.pool.pump(x.w.g)
			w.pool.mu.Unlock()
			synctest.Wait() // x is served, and has not looked yet
			w.srv.KillAll(faultserver.FIN)
			synctest.Wait()
			if err := x.await(x.w); err != nil {
				t.Fatal(err)
			}
			if !x.c.dead() {
				t.Fatalf("%v: the connection lives", p)
			}
			x.leaveDead()
			synctest.Wait()
			x.unwind()
			opened, closed := of[events.ConnOpened](w.log), of[events.ConnClosed](w.log)
			if len(opened) != 1 || len(closed) != 1 || opened[0].Conn != closed[0].Conn {
				t.Errorf("%v: opened %+v, closed %+v", p, opened, closed)
			}
		})
	}
}
