package pool

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// canceling returns a request that ends when the channel closes.
func (w *world) canceling(path string) (*http.Request, chan struct{}) {
	req := w.request(w.Context(), "GET", path, "")
	ch := make(chan struct{})
	req.Cancel = ch //nolint:staticcheck // what is tested
	return req, ch
}

func TestARequestsCancelChannelEndsItEverywhere(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			w.srv.Next(faultserver.Do(faultserver.Hang{}))
			req, ch := w.canceling("/hang")
			hangs := w.async(req)
			synctest.Wait()
			close(ch)
			<-hangs.done
			if ClassOf(hangs.err) != events.ClassCanceled || Recoverable(hangs.err) {
				t.Errorf("%v: got %v", p, hangs.err)
			}
			// One that goes well, on a reused and on a dead connection, leaves nothing behind.
			req, _ = w.canceling("/x")
			if _, err := w.send(req); err != nil {
				t.Errorf("%v: %v", p, err)
			}
			w.srv.RaceIdle(faultserver.RST)
			req, _ = w.canceling("/x")
			if _, err := w.send(req); err != nil {
				t.Errorf("%v: %v", p, err)
			}
		})
	}
}

func TestARequestsCancelChannelEndsItsPlaceInTheQueue(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		held := w.open("/held")
		req, ch := w.canceling("/x")
		r := w.async(req)
		synctest.Wait()
		close(ch)
		<-r.done
		if !errors.Is(r.err, errCanceled) || w.pool.Stats().Waiting != 0 {
			t.Errorf("got %v", r.err)
		}
		held.Body.Close()
	})
}

// Without a short wait for Cancel, http.Client takes its own timeout for the
// context's more often than not.
func TestTheTimeoutOfAnHTTPClientIsTold(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			c := &http.Client{Transport: w.pool, Timeout: time.Second}
			for range 50 {
				w.srv.Next(faultserver.Do(faultserver.Hang{}))
				_, err := c.Get(w.srv.URL("/hang"))
				if err == nil || !strings.Contains(err.Error(), "Client.Timeout exceeded") {
					t.Fatalf("%v: got %v", p, err)
				}
			}
		})
	}
}
