package pool_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// closings records the causes for which connections were closed.
type closings struct {
	mu     sync.Mutex
	causes []events.ConnCause // guarded by mu
}

func (c *closings) hooks() *events.Hooks {
	return &events.Hooks{ConnClosed: func(_ context.Context, e events.ConnClosed) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.causes = append(c.causes, e.Cause)
	}}
}

func (c *closings) take() []events.ConnCause {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.causes
	c.causes = nil
	return out
}

// An idle HTTP/2 connection whose path drops everything without a word is found
// within PingInterval and the timeout, to the second, and no earlier.
func TestASilentPathIsFoundWithinThePingIntervalAndTheTimeout(t *testing.T) {
	for _, row := range []struct {
		name              string
		interval, timeout time.Duration // of the pool, of the base
		base              time.Duration // the base's SendPingTimeout
		found             time.Duration // 0: never
	}{
		{name: "the timeout is the interval", interval: 10 * time.Second, found: 20 * time.Second},
		{name: "the timeout is at most 15 s", interval: time.Minute, found: 75 * time.Second},
		{name: "the base's timeout", interval: 10 * time.Second, timeout: 3 * time.Second, found: 13 * time.Second},
		{name: "the base's interval", base: 5 * time.Second, timeout: 2 * time.Second, found: 7 * time.Second},
		{name: "the pool's interval counts", interval: 10 * time.Second, base: time.Second, timeout: 2 * time.Second, found: 12 * time.Second},
		{name: "off", base: 0},
		{name: "switched off", interval: -1, base: time.Second, timeout: time.Second},
	} {
		for _, p := range http2s {
			t.Run(row.name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var closed closings
					r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, func(b *http.Transport, c *pool.Config) {
						c.PingInterval, c.Hooks = row.interval, closed.hooks()
						b.HTTP2 = &http.HTTP2Config{SendPingTimeout: row.base, PingTimeout: row.timeout}
					})
					r.park(1)
					synctest.Wait()
					began := time.Now()
					if n := r.srv.BlackHole(); n != 1 {
						t.Fatalf("%d connections", n)
					}
					if row.found == 0 {
						<-time.After(time.Hour)
						if s := r.pool.Stats(); s.Idle != 1 {
							t.Errorf("it was found without pings: %+v", s)
						}
						return
					}
					<-time.After(row.found - time.Millisecond)
					if s := r.pool.Stats(); s.Idle != 1 {
						t.Errorf("it was given up %v after the last answer, before the time", time.Since(began))
					}
					<-time.After(2 * time.Millisecond)
					synctest.Wait()
					if s := r.pool.Stats(); s.Open != 0 {
						t.Errorf("it is still there %v after the last answer: %+v", time.Since(began), s)
					}
					if got := closed.take(); len(got) != 1 || got[0] != events.ConnPing {
						t.Errorf("closed for %q, want %q", got, events.ConnPing)
					}
					r.wantOK(r.request("POST", "/", strings.NewReader("x")))
				})
			})
		}
	}
}

// A request on such a connection is in the air: it goes out again if it may,
// and fails in time if it may not.
func TestARequestOnASilentPathIsRecoveredInTime(t *testing.T) {
	for _, p := range http2s {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, func(b *http.Transport, c *pool.Config) {
				c.PingInterval = 10 * time.Second
				b.HTTP2 = &http.HTTP2Config{PingTimeout: 5 * time.Second}
			})
			for _, s := range shots {
				r.park(1)
				synctest.Wait()
				r.srv.BlackHole()
				began := time.Now()
				req := s.request(r)
				status, body, err := exchange(r.pool, req)
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("%v, %s: it took %v", p, s.name, took)
				}
				if !s.due {
					wantStale(t, err, 1)
					continue
				}
				if err != nil || status != 200 || body != s.answer() {
					t.Errorf("%v, %s: %d, %q, %v", p, s.name, status, body, err)
				}
			}
			wantNoneTwice(t, r)
		})
	}
}

// A path that is silent because nothing happens is not given up.
func TestAQuietPathIsKeptByItsPings(t *testing.T) {
	for _, p := range http2s {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, func(_ *http.Transport, c *pool.Config) { c.PingInterval = 10 * time.Second })
			r.park(1)
			<-time.After(time.Hour)
			r.wantOK(r.request("GET", "/", nil))
			if n := r.srv.Sockets().Opened(); n != 1 {
				t.Errorf("%v: %d connections, want 1", p, n)
			}
			if pings := r.srv.Conns()[0].Pings; pings < 300 || pings > 361 {
				t.Errorf("%v: %d pings in an hour, want one each 10 s", p, pings)
			}
		})
	}
}
