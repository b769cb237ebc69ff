package pool_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// hostile picks a fault for about half of the requests.
func hostile(p faultserver.Protocol) func(faultserver.Request) faultserver.Script {
	return func(faultserver.Request) faultserver.Script {
		hows := faultserver.Hows(p)
		how := hows[rand.IntN(len(hows))]
		if p.Multiplexed() {
			switch rand.IntN(12) {
			case 0:
				return faultserver.RefuseStream()
			case 1:
				return faultserver.RefuseByGoAway()
			case 2:
				return faultserver.Do(faultserver.GoAway{Code: http2.ErrCodeNo}, faultserver.Echo{})
			}
		}
		switch rand.IntN(12) {
		case 0:
			return faultserver.KillUnread(how)
		case 1:
			return faultserver.KillAfterReading(how)
		case 2:
			return faultserver.KillInBody(1000, how)
		case 3:
			return faultserver.Early(200, how)
		case 4:
			return faultserver.RespondWith(200, http.Header{"Connection": {"close"}}, "bye")
		}
		return faultserver.Script{}
	}
}

// Real sockets, a hostile server, callers that give up: MaxConnsPerHost is
// exceeded at no instant, counted at both ends, and nothing is left behind.
func TestALimitHoldsUnderLoadAndFaults(t *testing.T) {
	const limit, workers, each = 3, 12, 40
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			var opened, closed atomic.Int64
			r := newRig(t, faultserver.Config{Protocol: p, Choose: hostile(p), Settings: faultserver.Settings{MaxConcurrentStreams: 2}}, func(b *http.Transport, c *pool.Config) {
				b.MaxConnsPerHost, b.MaxIdleConnsPerHost = limit, limit
				c.Hooks = &events.Hooks{
					ConnOpened: func(context.Context, events.ConnOpened) { opened.Add(1) },
					ConnClosed: func(context.Context, events.ConnClosed) { closed.Add(1) },
				}
			})
			var wg sync.WaitGroup
			var answered atomic.Int64
			for range workers {
				wg.Go(func() {
					for range each {
						if r.disturb(p) {
							answered.Add(1)
						}
					}
				})
			}
			wg.Wait()
			if n := r.srv.Sockets().MaxOpen(); n > limit {
				t.Errorf("%d sockets at the client's end, the limit is %d", n, limit)
			}
			if n := r.srv.Stats().MaxOpen; n > limit {
				t.Errorf("%d connections at the server's end, the limit is %d", n, limit)
			}
			if answered.Load() == 0 {
				t.Error("no request was answered")
			}
			r.pool.CloseIdleConnections()
			// Dials that nobody waits for, and the last reports, end by themselves.
			eventually(t, func() bool { return r.pool.Stats().Open == 0 && opened.Load() == closed.Load() })
			if o, c := opened.Load(), closed.Load(); o != c {
				t.Errorf("%d connections reported open, %d closed", o, c)
			}
			r.wantNothingHeld()
			t.Logf("%d of %d answered on %d connections", answered.Load(), workers*each, r.srv.Stats().Opened)
		})
	}
}

// eventually waits until the condition holds, for at most 10 s.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// disturb sends a request, perhaps gives it up, perhaps disturbs others. It
// reports whether there was a whole answer.
func (r *rig) disturb(p faultserver.Protocol) bool {
	hows := faultserver.Hows(p)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch rand.IntN(20) {
	case 0:
		r.srv.KillIdle(hows[rand.IntN(len(hows))])
	case 1:
		r.srv.RaceIdle(hows[rand.IntN(len(hows))])
	case 2:
		r.srv.KillAll(hows[rand.IntN(len(hows))])
	case 3:
		r.pool.CloseIdleConnections()
	case 4, 5:
		timer := time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, cancel)
		defer timer.Stop()
	}
	method := []string{"GET", "PUT", "POST", "HEAD"}[rand.IntN(4)]
	var body io.Reader
	if method[0] == 'P' {
		body = strings.NewReader("payload")
	}
	req, err := http.NewRequestWithContext(ctx, method, r.srv.URL("/"), body)
	if err != nil {
		r.Error(err)
		return false
	}
	resp, err := r.pool.RoundTrip(req)
	if err != nil {
		return false
	}
	if rand.IntN(5) == 0 {
		resp.Body.Close()
		return false
	}
	return drain(resp) == nil
}
