package pool

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// diesAtBirth is a socket that has closed when its first Write returns, with
// success: net/http closes it before the dial has returned.
type diesAtBirth struct {
	net.Conn
	c *conn
}

func (d *diesAtBirth) Write(p []byte) (int, error) {
	d.c.raw.Close()
	return len(p), nil
}

// A dial whose request has gone returns a connection whose socket has closed
// meanwhile. Those that shared the dial hung until another request came.
func TestRequestsThatSharedADialWhoseConnectionDiedAtBirthDialAgain(t *testing.T) {
	release := make(chan struct{})
	inWorld(t, faultserver.Config{Protocol: faultserver.H2C}, func(b *http.Transport, _ *Config) {
		b.MaxConnsPerHost = 1
		release = make(chan struct{})
		dial, first := b.DialContext, true
		b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := dial(ctx, network, addr)
			if !first || err != nil {
				return nc, err
			}
			first = false
			<-release
			return &diesAtBirth{nc, dialingFrom(ctx).c}, nil
		}
	}, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		first := w.async(w.request(ctx, "GET", "/1", ""))
		synctest.Wait()
		second := w.async(w.request(w.Context(), "GET", "/2", ""))
		synctest.Wait()
		cancel()
		<-first.done
		close(release)
		if second.pending() {
			w.pool.Close()
			w.Fatal("it waits for a dial that is over")
		}
		w.wantOK(second)
	})
}

// GOAWAY arrives between the moment at which a connection's last stream ends
// and that at which the connection is offered to those that queue: it was
// neither parked nor closed, and kept its slot.
func TestAConnectionThatIsToldToGoWhileItIsOfferedGivesItsSlotBack(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2C}, func(b *http.Transport, _ *Config) {
		b.MaxConnsPerHost = 1
	}, func(w *world) {
		w.park(1)
		x := w.enqueue("/queued")
		w.srv.GoAway(http2.ErrCodeNo)
		synctest.Wait()
		var drop closing
		w.pool.mu.Lock()
		c := x.w.g.conns[0]
		w.pool.unpark(c) // its last use ends
		w.pool.offer(c, c.idleAt, &drop)
		w.pool.mu.Unlock()
		drop.close()
		drop.emit(w.Context(), hooks{t: w.pool}, nil)
		if err := x.await(x.w); err != nil {
			w.Fatal(err)
		}
		if _, err := x.send(); err != nil {
			w.Fatal(err)
		}
		x.resp.Body.Close()
		closed := of[events.ConnClosed](w.log)
		if x.s.c == c || len(closed) != 1 || closed[0].Cause != events.ConnGoAway {
			w.Errorf("closed: %+v", closed)
		}
	})
}
