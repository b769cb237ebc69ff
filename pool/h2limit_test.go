package pool

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// The end of a stream is awaited only where the connection has few streams to
// spare. Limits on both sides of that border, on one connection: nobody who
// queues is passed over, and the server sees no stream too many.
func TestRequestsThatQueueForStreamsAreServedWhereverTheLimitLies(t *testing.T) {
	for _, limit := range []uint32{1, spareStreams - 1, spareStreams, spareStreams + 1, 2 * spareStreams, 4 * spareStreams} {
		inWorld(t, faultserver.Config{Protocol: faultserver.H2, Settings: faultserver.Settings{MaxConcurrentStreams: limit}}, oneConn, func(w *world) {
			w.mustDo("GET", "/settings", "")
			synctest.Wait()
			var wg sync.WaitGroup
			for range 3 * spareStreams {
				wg.Go(func() {
					for range 50 {
						w.mustDo("GET", "/x", "")
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			if n := w.srv.Sockets().MaxOpen(); n != 1 {
				t.Errorf("limit %d: %d sockets at once", limit, n)
			}
			if s := w.pool.Stats(); s.Active+s.Waiting+s.Requests != 0 || s.Idle != 1 {
				t.Errorf("limit %d: %+v", limit, s)
			}
		})
	}
}

// A request whose body is still on its way when the response ends has its
// stream ended, however many others the connection could take.
func TestAnUploadEndsWithItsAnswerOnAConnectionWithStreamsToSpare(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, oneConn, func(w *world) {
		req, s := w.request(w.Context(), "GET", "/x", ""), &sending{}
		if s.req = *req; s.req.Body != nil {
			t.Fatal("a GET has a body")
		}
		w.mustDo("GET", "/settings", "")
		synctest.Wait()
		for _, g := range w.pool.groups {
			s.c = g.conns[0]
		}
		if !s.forgettable() {
			t.Error("the end of a GET is awaited")
		}
		s.req = *w.request(w.Context(), "POST", "/x", "body")
		if s.forgettable() {
			t.Error("the end of a POST is not awaited")
		}
	})
}
