package pool

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func TestRequestsShareOneHTTP2Dial(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H2, faultserver.H2C} {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			var rs []*result
			for range 50 {
				rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
			}
			w.wantOK(rs...)
			if n := w.srv.Stats().Opened; n != 1 {
				t.Errorf("%v: %d connections for 50 requests", p, n)
			}
			opened, acquired := of[events.ConnOpened](w.log), of[events.ConnAcquired](w.log)
			reused := 0
			for _, e := range acquired {
				if e.Reused {
					reused++
				}
			}
			if len(opened) != 1 || len(acquired) != 50 || reused != 49 {
				t.Errorf("%v: opened %d, acquired %d, reused %d", p, len(opened), len(acquired), reused)
			}
		})
	}
}

// A server that turns out to speak HTTP/1.1 gets its connections as soon as
// that is known.
func TestRequestsThatSharedADialGoTheirOwnWayOnHTTP1(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.TLS}, func(b *http.Transport, _ *Config) {
		b.Protocols = nil
		b.ForceAttemptHTTP2 = true
	}, func(w *world) {
		release := make(chan struct{})
		w.srv.NextN(4, faultserver.Do(faultserver.Wait{Until: release}))
		var rs []*result
		for range 4 {
			rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
		}
		synctest.Wait()
		if s := w.pool.Stats(); s.Active != 4 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		close(release)
		w.wantOK(rs...)
	})
}

func TestAFailedSharedDialFailsAllItsRequests(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, func(b *http.Transport, _ *Config) { g = gateDials(b) }, func(w *world) {
		var rs []*result
		for range 5 {
			rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
		}
		<-g.began
		synctest.Wait()
		if s := w.pool.Stats(); s.Dialing != 1 || s.Waiting != 5 {
			t.Errorf("%+v", s)
		}
		g.allow <- io.ErrUnexpectedEOF
		for _, r := range rs {
			<-r.done
			if ClassOf(r.err) != events.ClassDial {
				t.Errorf("got %v", r.err)
			}
		}
	})
}

func TestStreamsBeyondTheServersLimitGetAnotherConnection(t *testing.T) {
	for _, limited := range []bool{false, true} {
		inWorld(t, faultserver.Config{Protocol: faultserver.H2, Settings: faultserver.Settings{MaxConcurrentStreams: 2}}, func(b *http.Transport, _ *Config) {
			if limited {
				b.MaxConnsPerHost = 1
			}
		}, func(w *world) {
			w.mustDo("GET", "/settings", "") // SETTINGS have arrived
			release := make(chan struct{})
			w.srv.NextN(5, faultserver.Do(faultserver.Wait{Until: release}))
			var rs []*result
			for range 5 {
				rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
				synctest.Wait()
			}
			s := w.pool.Stats()
			if limited && (s.Open != 1 || s.Requests != 2 || s.Waiting != 3) {
				t.Errorf("%+v", s)
			}
			if !limited && s.Waiting != 0 {
				t.Errorf("%+v", s)
			}
			close(release)
			w.wantOK(rs...)
		})
	}
}

func TestStrictMaxConcurrentRequestsQueueForTheOneConnection(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2, Settings: faultserver.Settings{MaxConcurrentStreams: 1}}, func(b *http.Transport, _ *Config) {
		b.HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	}, func(w *world) {
		w.mustDo("GET", "/settings", "")
		release := make(chan struct{})
		w.srv.NextN(3, faultserver.Do(faultserver.Wait{Until: release}))
		var rs []*result
		for range 3 {
			rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
		}
		synctest.Wait()
		if s := w.pool.Stats(); s.Open != 1 || s.Waiting != 2 {
			t.Errorf("%+v", s)
		}
		close(release)
		w.wantOK(rs...)
		if n := w.srv.Stats().Opened; n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestASilentHTTP2ConnectionIsFoundByPings(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, func(_ *http.Transport, c *Config) { c.PingInterval = 10 * time.Second }, func(w *world) {
		w.mustDo("GET", "/x", "")
		synctest.Wait()
		w.log.reset()
		<-time.After(time.Minute)
		if s := w.pool.Stats(); s.Idle != 1 {
			t.Errorf("a healthy connection did not live: %+v", s)
		}
		if n := w.srv.Conns()[0].Pings; n < 4 {
			t.Errorf("%d pings in a minute", n)
		}
		w.srv.BlackHole()
		start := time.Now()
		_, err := w.do("POST", "/x", "payload")
		if err == nil || time.Since(start) > 25*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if closed := of[events.ConnClosed](w.log); len(closed) != 1 || closed[0].Cause != events.ConnPing {
			t.Errorf("closed %+v", closed)
		}
	})
}

func TestACanceledStreamLeavesItsConnectionToTheOthers(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, nil, func(w *world) {
		held := w.open("/held")
		w.srv.Next(faultserver.Do(faultserver.Hang{}))
		r := w.async(w.request(w.Context(), "GET", "/hang", ""))
		synctest.Wait()
		ctxed, cancel := context.WithCancel(w.Context())
		w.srv.Next(faultserver.Do(faultserver.Hang{}))
		c := w.async(w.request(ctxed, "GET", "/canceled", ""))
		if !c.pending() {
			t.Fatal("it did not hang")
		}
		cancel()
		<-c.done
		if ClassOf(c.err) != events.ClassCanceled {
			t.Errorf("got %v", c.err)
		}
		if !r.pending() {
			t.Errorf("a sibling ended: %v", r.err)
		}
		io.Copy(io.Discard, held.Body)
		w.mustDo("GET", "/x", "")
		if n := w.srv.Stats().Opened; n != 1 {
			t.Errorf("%d connections", n)
		}
		w.srv.KillAll(faultserver.RST)
		<-r.done
	})
}
