package pool

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func oneConn(b *http.Transport, _ *Config) { b.MaxConnsPerHost = 1 }

// gate lets a test hold up dials, one by one.
type gate struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	began chan struct{}
	allow chan error // nil: dial; else the dial's error
}

func gateDials(b *http.Transport) *gate {
	g := &gate{dial: b.DialContext, began: make(chan struct{}, 100), allow: make(chan error)}
	b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		g.began <- struct{}{}
		select {
		case err := <-g.allow:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return g.dial(ctx, network, addr)
	}
	return g
}

func TestARequestCanceledWhileItQueuesLeavesTheQueue(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		held := w.open("/held")
		ctx, cancel := context.WithCancel(w.Context())
		r := w.async(w.request(ctx, "GET", "/x", ""))
		if !r.pending() || w.pool.Stats().Waiting != 1 {
			t.Fatalf("it does not wait: %+v", w.pool.Stats())
		}
		cancel()
		<-r.done
		if !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v", r.err)
		}
		if s := w.pool.Stats(); s.Waiting != 0 || s.Open != 1 || s.Active != 1 {
			t.Errorf("%+v", s)
		}
		held.Body.Close()
	})
}

func TestADialOutlivesItsCanceledRequest(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { g = gateDials(b) }, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		r := w.async(w.request(ctx, "GET", "/x", ""))
		<-g.began
		cancel()
		<-r.done
		if !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v", r.err)
		}
		if s := w.pool.Stats(); s.Waiting != 0 || s.Dialing != 1 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		g.allow <- nil
		synctest.Wait()
		if s := w.pool.Stats(); s.Idle != 1 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		if opened := of[events.ConnOpened](w.log); len(opened) != 1 || opened[0].Call != 0 || opened[0].Origin != w.srv.URL("") {
			t.Errorf("opened %+v", opened)
		}
		w.mustDo("GET", "/x", "")
		if n := w.srv.Stats().Opened; n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestADialThatNobodyWaitsForMayFail(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { g = gateDials(b) }, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		r := w.async(w.request(ctx, "GET", "/x", ""))
		<-g.began
		cancel()
		<-r.done
		g.allow <- errors.New("no route")
	})
}

func TestCloseIdleConnectionsGivesUpDialsThatNobodyWaitsFor(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { g = gateDials(b) }, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		r := w.async(w.request(ctx, "GET", "/x", ""))
		<-g.began
		cancel()
		<-r.done
		w.pool.CloseIdleConnections() // else the gate holds the dial for ever
		synctest.Wait()
		if s := w.pool.Stats(); s.Open != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAConnectionThatIsHandedToACanceledRequestGoesOn(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		held := w.open("/held")
		x := w.enqueue("/x") // it is served before it looks, and gives up then
		next := w.async(w.request(w.Context(), "GET", "/next", ""))
		if !next.pending() {
			t.Fatal("it does not wait")
		}
		io.Copy(io.Discard, held.Body)
		synctest.Wait()
		if x.w.waiting() || x.w.conn.served != 2 {
			t.Fatal("the first in the queue was not handed the connection")
		}
		if !next.pending() {
			t.Fatal("two requests on one connection")
		}
		x.unwind()
		w.wantOK(next)
		if n := w.srv.Stats().Opened; n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestQueueingRequestsAreServedInOrder(t *testing.T) {
	inWorld(t, faultserver.Config{}, oneConn, func(w *world) {
		release := make(chan struct{})
		w.srv.Next(faultserver.Do(faultserver.Wait{Until: release}))
		rs := []*result{w.async(w.request(w.Context(), "GET", "/0", ""))}
		for _, path := range []string{"/1", "/2", "/3", "/4"} {
			synctest.Wait()
			rs = append(rs, w.async(w.request(w.Context(), "GET", path, "")))
		}
		synctest.Wait()
		if s := w.pool.Stats(); s.Waiting != 4 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		w.log.reset()
		close(release)
		w.wantOK(rs...)
		for i, r := range w.srv.Requests() {
			if want := "/" + string(rune('0'+i)); r.Path != want || r.Conn != 1 {
				t.Errorf("request %d is %s on connection %d", i, r.Path, r.Conn)
			}
		}
		handed := 0
		for _, e := range of[events.ConnReleased](w.log) {
			if e.HandedOn {
				handed++
			}
		}
		if handed != 4 {
			t.Errorf("handed on %d times, want 4", handed)
		}
	})
}

func TestARequestThatWaitsForItsDialTakesAConnectionThatBecomesFree(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { g = gateDials(b) }, func(w *world) {
		release := make(chan struct{})
		w.srv.Next(faultserver.Do(faultserver.Wait{Until: release}))
		first := w.async(w.request(w.Context(), "GET", "/1", ""))
		<-g.began
		g.allow <- nil
		synctest.Wait()
		second := w.async(w.request(w.Context(), "GET", "/2", ""))
		<-g.began
		close(release)
		w.wantOK(first, second)
		if s := w.pool.Stats(); s.Dialing != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
		g.allow <- nil
		synctest.Wait()
		if s := w.pool.Stats(); s.Idle != 2 {
			t.Errorf("the dialled connection is not parked: %+v", s)
		}
	})
}

func TestAWaiterServedADeadConnectionKeepsItsPlace(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxConnsPerHost = 1; g = gateDials(b) }, func(w *world) {
		release := make(chan struct{})
		w.srv.Next(faultserver.Do(faultserver.Wait{Until: release}))
		first := w.async(w.request(w.Context(), "GET", "/0", ""))
		<-g.began
		g.allow <- nil
		synctest.Wait()

		x := w.enqueue("/1")
		second := w.async(w.request(w.Context(), "GET", "/2", ""))
		synctest.Wait()
		close(release)
		w.wantOK(first)
		wt := x.w
		if wt.conn == nil {
			t.Fatal("the first in the queue was not handed the connection")
		}
		w.srv.KillIdle(faultserver.FIN)
		<-g.began // of the second, whose turn it seems to be
		done := make(chan error, 1)
		go func() {
			err := x.accept(wt)
			if err == nil {
				x.leaveDead()
				_, err = x.run()
			}
			if err == nil {
				x.resp.Body.Close()
			}
			done <- err
		}()
		synctest.Wait()
		g.allow <- nil
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		<-g.began
		g.allow <- nil
		w.wantOK(second)
		if rs := w.srv.Requests(); len(rs) != 3 || rs[1].Path != "/1" || rs[2].Path != "/2" {
			t.Errorf("%+v", rs)
		}
		if n := w.srv.Sockets().MaxOpen(); n != 1 {
			t.Errorf("%d sockets at once", n)
		}
	})
}

func TestTheNextWaiterDialsWhenADialHasFailed(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxConnsPerHost = 1; g = gateDials(b) }, func(w *world) {
		first := w.async(w.request(w.Context(), "GET", "/1", ""))
		<-g.began
		second := w.async(w.request(w.Context(), "GET", "/2", ""))
		third := w.async(w.request(w.Context(), "GET", "/3", ""))
		synctest.Wait()
		cause := errors.New("no route")
		g.allow <- cause
		<-first.done
		var dial *DialError
		if !errors.As(first.err, &dial) || dial.Phase != PhaseConnect || !errors.Is(first.err, cause) {
			t.Errorf("got %v", first.err)
		}
		<-g.began
		g.allow <- nil
		w.wantOK(second, third)
		if n := w.srv.Sockets().MaxOpen(); n != 1 {
			t.Errorf("%d sockets at once", n)
		}
	})
}

type watching func(begin bool)

func (f watching) Queueing(begin bool) { f(begin) }

func TestAWaiterGivesUpAfterMaxConnWait(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, c *Config) { b.MaxConnsPerHost = 1; c.MaxConnWait = 3 * time.Second }, func(w *world) {
		held := w.open("/held")
		var begun, ended int
		a := &Attempt{Watch: watching(func(begin bool) {
			if begin {
				begun++
			} else {
				ended++
			}
		})}
		start := time.Now()
		r := w.async(w.request(context.WithValue(w.Context(), AttemptKey{}, a), "GET", "/x", ""))
		<-r.done
		var wait *WaitError
		if !errors.As(r.err, &wait) || wait.Limit != 1 || wait.Waited != 3*time.Second || wait.Waiting != 0 || !wait.Timeout() {
			t.Errorf("got %#v", r.err)
		}
		if d := time.Since(start); d != 3*time.Second || a.Wait != d || begun != 1 || ended != 1 || !a.NothingWritten {
			t.Errorf("after %v, attempt %+v, begun %d, ended %d", d, a, begun, ended)
		}
		if ClassOf(r.err) != events.ClassTimeout || Recoverable(r.err) || !Unprocessed(r.err) {
			t.Errorf("class %v, recoverable %v, unprocessed %v", ClassOf(r.err), Recoverable(r.err), Unprocessed(r.err))
		}
		held.Body.Close()
	})
}

func TestADialDoesNotCountAsQueueing(t *testing.T) {
	var g *gate
	inWorld(t, faultserver.Config{}, func(b *http.Transport, c *Config) { g = gateDials(b); c.MaxConnWait = time.Second }, func(w *world) {
		a := &Attempt{Watch: watching(func(bool) { t.Error("it queued") })}
		r := w.async(w.request(context.WithValue(w.Context(), AttemptKey{}, a), "GET", "/x", ""))
		<-g.began
		<-time.After(time.Minute)
		g.allow <- nil
		w.wantOK(r)
		if a.Wait != 0 || a.Conn == 0 || a.Reused || a.Protocol != "1.1" || !a.FirstByte {
			t.Errorf("attempt %+v", a)
		}
	})
}
