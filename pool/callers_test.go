package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// The end of a request's context may come while its response ends. It may cost
// the connection; it must not end the request that uses that next.
func TestALateCancelEndsNoLaterRequest(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, method := range []string{"GET", "HEAD"} {
			for _, how := range []struct{ read, closes bool }{{true, false}, {false, true}, {true, true}} {
				inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
					for i := range 40 {
						ctx, cancel := context.WithCancel(w.Context())
						resp, err := w.pool.RoundTrip(w.request(ctx, method, "/early", ""))
						if err != nil {
							t.Fatal(err)
						}
						next := w.async(w.request(w.Context(), "POST", "/later", "payload"))
						if i%2 == 0 {
							synctest.Wait() // it queues, or has ended already
						}
						var wg sync.WaitGroup
						wg.Go(cancel)
						if how.read {
							wg.Go(func() { io.Copy(io.Discard, resp.Body) })
						}
						if how.closes {
							wg.Go(func() { resp.Body.Close() })
						}
						wg.Wait()
						resp.Body.Close()
						<-next.done
						if next.err != nil || next.status != http.StatusOK {
							t.Fatalf("%v, %s, %+v, round %d: %d, %v", p, method, how, i, next.status, next.err)
						}
					}
					if n := w.srv.Sockets().MaxOpen(); n != 1 {
						t.Errorf("%v: %d sockets at once", p, n)
					}
				})
			}
		}
	}
}

// After an error nothing of the request is read any more but what its fields
// point to: its caller may give it another context.
func TestARequestThatFailedIsItsCallersAgain(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			for range 50 {
				w.srv.Next(faultserver.Do(faultserver.Hang{}))
				ctx, cancel := context.WithCancel(w.Context())
				req := w.request(ctx, "GET", "/x", "")
				failed := make(chan error, 1)
				go func() {
					_, err := w.send(req)
					*req = *req.WithContext(w.Context()) // the race detector watches
					failed <- err
				}()
				synctest.Wait()
				cancel()
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Fatalf("%v: %v", p, err)
				}
			}
		})
	}
}
