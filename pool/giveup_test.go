package pool

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// A dial that CloseIdleConnections gives up fails a little later. A request
// that came in between shared it, and failed with a "context canceled" that
// nobody had asked for.
func TestADialThatIsGivenUpIsNotShared(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.TLS, faultserver.H2} {
		release := make(chan struct{})
		inWorld(t, faultserver.Config{Protocol: p, ChooseConn: func(faultserver.Conn) faultserver.Script {
			return faultserver.Do(faultserver.Wait{Until: release}) // before the handshake
		}}, nil, func(w *world) {
			release = make(chan struct{})
			ctx, cancel := context.WithCancel(w.Context())
			orphaned := w.async(w.request(ctx, "GET", "/1", ""))
			synctest.Wait()
			cancel()
			<-orphaned.done

			w.pool.mu.Lock()
			drop, dials := w.pool.dropIdle()
			w.pool.mu.Unlock()
			if len(dials) != 1 {
				t.Fatalf("%v: %d dials are given up", p, len(dials))
			}
			next := w.async(w.request(w.Context(), "GET", "/2", ""))
			synctest.Wait()
			w.pool.finishDrop(drop, dials)
			synctest.Wait()
			close(release)
			w.wantOK(next)
		})
	}
}
