package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// fresh returns an exchange that asks for a connection of its own, as after
// dead ones, with what its acquisition comes to.
func (w *world) fresh(ctx context.Context, path string) (*exchange, chan error) {
	w.Helper()
	req := w.request(ctx, "GET", path, "")
	x := &exchange{t: w.pool, req: req, ctx: ctx, hooks: hooks{t: w.pool}, fresh: true}
	if err := x.resolve(); err != nil {
		w.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		err := x.acquire()
		if err != nil {
			x.unwind()
		}
		got <- err
	}()
	synctest.Wait()
	return x, got
}

func TestAForcedFreshDialTakesTheSlotOfAnIdleConnection(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
			w.mustDo("GET", "/x", "")
			synctest.Wait()
			w.log.reset()
			x, got := w.fresh(w.Context(), "/fresh")
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			if x.c.served != 1 {
				t.Errorf("%v: the connection has served %d requests", p, x.c.served)
			}
			x.unwind()
			if closed := of[events.ConnClosed](w.log); len(closed) != 1 || closed[0].Cause != events.ConnReplaced {
				t.Errorf("%v: closed %+v", p, closed)
			}
			if n := w.srv.Sockets().MaxOpen(); n != 1 {
				t.Errorf("%v: %d sockets at once", p, n)
			}
		})
	}
}

func TestAForcedFreshDialTakesTheSlotOfAConnectionThatBecomesFree(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
			held := w.open("/held")
			x, got := w.fresh(w.Context(), "/fresh")
			behind := w.async(w.request(w.Context(), "GET", "/behind", ""))
			if s := w.pool.Stats(); s.Waiting != 1 && s.Waiting != 2 {
				t.Errorf("%v: %+v", p, s)
			}
			io.Copy(io.Discard, held.Body)
			if p.Multiplexed() {
				w.wantOK(behind) // it shared the connection meanwhile
			}
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			x.unwind()
			w.wantOK(behind)
			synctest.Wait() // the server has taken what was dialled
			if n := w.srv.Sockets().MaxOpen(); n != 1 {
				t.Errorf("%v: %d sockets at once", p, n)
			}
			if n := w.srv.Stats().Opened; n != 2 {
				t.Errorf("%v: %d connections, want 2", p, n)
			}
		})
	}
}

// The slot that was promised to a request that gave up goes to the next, or
// comes free: found by such a test, and by no random one.
func TestTheSlotPromisedToACanceledForcedFreshRequestIsNotLost(t *testing.T) {
	for _, others := range []int{0, 1} {
		inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
			w.mustDo("GET", "/x", "")
			synctest.Wait()
			x := w.enqueue("/fresh")
			x.fresh, x.w.fresh = true, true
			var rs []*result
			// The idle connection is promised; before its socket has closed, the
			// request gives up.
			var drop closing
			w.pool.mu.Lock()
			w.pool.makeRoom(x.w, &drop)
			promised := x.w.promised
			w.pool.mu.Unlock()
			if !promised {
				t.Fatal("no slot was promised")
			}
			for range others {
				rs = append(rs, w.async(w.request(w.Context(), "GET", "/other", "")))
			}
			synctest.Wait()
			x.unwind()
			drop.close()
			w.wantOK(rs...)
			synctest.Wait()
			if s := w.pool.Stats(); s.Open != others || s.Waiting != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestACanceledForcedFreshRequestLeavesTheQueue(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		held := w.open("/held")
		ctx, cancel := context.WithCancel(w.Context())
		_, got := w.fresh(ctx, "/fresh")
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		io.Copy(io.Discard, held.Body)
		if s := w.pool.Stats(); s.Idle != 1 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseFailsThoseThatQueueAndThoseThatDial(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxConnsPerHost = 1; g = gateDials(b) }, func(w *world) {
		dials := w.async(w.request(w.Context(), "GET", "/1", ""))
		<-g.began
		queues := w.async(w.request(w.Context(), "GET", "/2", ""))
		_, fresh := w.fresh(w.Context(), "/3")
		if s := w.pool.Stats(); s.Waiting != 3 {
			t.Fatalf("%+v", s)
		}
		w.pool.Close()
		<-dials.done
		<-queues.done
		for _, err := range []error{dials.err, queues.err, <-fresh} {
			if !errors.Is(err, ErrClosed) || !Unprocessed(err) || Recoverable(err) {
				t.Errorf("got %v", err)
			}
		}
		if _, err := w.do("GET", "/4", ""); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnIdleConnectionThatDiesGivesItsSlotBack(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
				w.mustDo("GET", "/x", "")
				synctest.Wait()
				w.log.reset()
				w.srv.KillIdle(how)
				synctest.Wait()
				if s := w.pool.Stats(); s.Open != 0 || s.Idle != 0 {
					t.Errorf("%v, %v: %+v", p, how, s)
				}
				if closed := of[events.ConnClosed](w.log); len(closed) != 1 || closed[0].Cause != events.ConnPeer || closed[0].Call != 0 {
					t.Errorf("%v, %v: closed %+v", p, how, closed)
				}
			})
		}
	}
}

func TestAnEarlyClosedBodyCostsItsConnectionOnHTTP1Alone(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
			w.srv.Next(faultserver.Do(faultserver.Header{Header: http.Header{"Content-Length": {"1000000"}}}, faultserver.Body{Size: 1000000}))
			resp := w.open("/big")
			resp.Body.Close()
			synctest.Wait()
			idle := 0
			if p.Multiplexed() {
				idle = 1
			}
			if s := w.pool.Stats(); s.Idle != idle || s.Open != idle || s.Requests != 0 {
				t.Errorf("%v: %+v", p, s)
			}
		})
	}
}

// The limit counts at every instant what the server could count: measured at
// the sockets, with requests that are canceled, cut and killed at random.
func TestMaxConnsPerHostIsNeverExceeded(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			const limit, workers, each = 3, 16, 25
			inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, _ *Config) { b.MaxConnsPerHost = limit }, func(w *world) {
				var wg sync.WaitGroup
				for i := range workers {
					wg.Go(func() {
						r := rand.New(rand.NewPCG(uint64(i), 1))
						for range each {
							ctx, cancel := context.WithCancel(w.Context())
							req := w.request(ctx, "GET", "/x", "")
							switch r.IntN(6) {
							case 0:
								time.AfterFunc(time.Duration(r.IntN(1000)), cancel)
							case 1:
								w.srv.KillIdle(faultserver.RST)
							case 2:
								w.pool.CloseIdleConnections()
							}
							if resp, err := w.pool.RoundTrip(req); err == nil {
								if r.IntN(4) > 0 {
									io.Copy(io.Discard, resp.Body)
								}
								resp.Body.Close()
							}
							cancel()
						}
					})
				}
				wg.Wait()
				if n := w.srv.Sockets().MaxOpen(); n > limit {
					t.Errorf("%d sockets at the client, limit %d", n, limit)
				}
				if n := w.srv.Stats().MaxOpen; n > limit {
					t.Errorf("%d sockets at the server, limit %d", n, limit)
				}
			})
		})
	}
}

func TestAnUpgradeAndOtherRequestsShareTheLimit(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, func(b *http.Transport, _ *Config) {
		b.MaxConnsPerHost = 1
		b.Protocols = nil // both
	}, func(w *world) {
		for i := range 3 {
			w.mustDo("GET", "/x", "") // HTTP/2
			req := w.request(w.Context(), "GET", "/upgrade", "")
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "test")
			if status, err := w.send(req); err != nil || status != 200 { // HTTP/1.1, not switched
				t.Fatalf("%d: %d, %v", i, status, err)
			}
		}
		protos := ""
		for _, r := range w.srv.Requests() {
			protos += fmt.Sprint(r.Proto, " ")
		}
		if want := "HTTP/2.0 HTTP/1.1 HTTP/2.0 HTTP/1.1 HTTP/2.0 HTTP/1.1 "; protos != want {
			t.Errorf("got %s", protos)
		}
		if n := w.srv.Sockets().MaxOpen(); n != 1 {
			t.Errorf("%d sockets at once", n)
		}
	})
}

// A server that takes connections and drops them is dialled once per request.
func TestAConnectionThatDiesAtBirthIsTheRequestsError(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			x := w.enqueue("/x")
			w.pool.mu.Lock()
			w.pool.pump(x.w.g)
			w.pool.mu.Unlock()
			synctest.Wait()
			w.srv.KillIdle(faultserver.RST)
			synctest.Wait()
			if err := x.accept(x.w); err != nil {
				t.Fatal(err)
			}
			if !x.c.dead() || x.diedOnItsWay() {
				t.Errorf("%v: dead %v, to be replaced %v", p, x.c.dead(), x.diedOnItsWay())
			}
			if _, err := x.send(); err == nil || x.recover(err) == nil {
				t.Errorf("%v: %v was recovered", p, err)
			}
			x.unwind()
			if n := w.srv.Stats().Opened; n != 1 {
				t.Errorf("%v: %d connections", p, n)
			}
		})
	}
}
