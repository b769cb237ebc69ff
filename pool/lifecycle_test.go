package pool

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func TestShutdownWaitsForWhatRunsAndRefusesWhatComes(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, oneConn, func(w *world) {
			release := make(chan struct{})
			w.srv.NextN(2, faultserver.Do(faultserver.Wait{Until: release}))
			runs := w.async(w.request(w.Context(), "GET", "/1", ""))
			synctest.Wait()
			queues := w.async(w.request(w.Context(), "GET", "/2", "")) // on HTTP/2 it runs
			synctest.Wait()
			down := make(chan error, 1)
			go func() { down <- w.pool.Shutdown(w.Context()) }()
			synctest.Wait()
			if _, err := w.do("GET", "/3", ""); !errors.Is(err, ErrClosed) {
				t.Errorf("%v: got %v", p, err)
			}
			select {
			case err := <-down:
				t.Fatalf("%v: it did not wait: %v", p, err)
			default:
			}
			close(release)
			w.wantOK(runs, queues)
			if err := <-down; err != nil {
				t.Errorf("%v: %v", p, err)
			}
			if s := w.pool.Stats(); s.Open != 0 {
				t.Errorf("%v: %+v", p, s)
			}
		})
	}
}

func TestShutdownWaitsForTheEndOfBodies(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		resp := w.open("/held")
		down := make(chan error, 1)
		go func() { down <- w.pool.Shutdown(w.Context()) }()
		synctest.Wait()
		select {
		case <-down:
			t.Fatal("it did not wait")
		default:
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownGivesUpWithItsContext(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		resp := w.open("/held")
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := w.pool.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("what ran was interrupted: %v", err)
		}
	})
}

func TestCloseInterruptsWhatRuns(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			w.srv.Next(faultserver.Do(faultserver.Hang{}))
			hangs := w.async(w.request(w.Context(), "GET", "/hang", ""))
			synctest.Wait()
			w.pool.Close()
			<-hangs.done
			if hangs.err == nil {
				t.Errorf("%v: no error", p)
			}
			synctest.Wait()
			if closed := of[events.ConnClosed](w.log); len(closed) != 1 || closed[0].Cause != events.ConnShutdown {
				t.Errorf("%v: closed %+v", p, closed)
			}
			if err := w.pool.Close(); err != nil {
				t.Errorf("%v: a second Close: %v", p, err)
			}
			if err := w.pool.Shutdown(w.Context()); err != nil {
				t.Errorf("%v: Shutdown after Close: %v", p, err)
			}
		})
	}
}

func TestEventsOfARequestCarryItsMeta(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		var own eventLog
		meta := &events.Meta{Client: "c", Origin: "", Partition: "p", Call: 7}
		ctx := events.With(context.WithValue(w.Context(), events.MetaKey{}, meta), own.hooks())
		if _, err := w.send(w.request(ctx, "GET", "/x", "")); err != nil {
			t.Fatal(err)
		}
		want := events.Meta{Client: "c", Origin: "http://mem.test:80", Partition: "p", Call: 7}
		for _, log := range []*eventLog{w.log, &own} {
			if o, a, r := of[events.ConnOpened](log), of[events.ConnAcquired](log), of[events.ConnReleased](log); len(o) != 1 || len(a) != 1 || len(r) != 1 ||
				o[0].Meta != want || a[0].Meta != want || r[0].Meta != want {
				t.Errorf("opened %+v, acquired %+v, released %+v", o, a, r)
			}
		}
		w.srv.KillIdle(faultserver.FIN)
		synctest.Wait()
		want.Call = 0
		if c := of[events.ConnClosed](w.log); len(c) != 1 || c[0].Meta != want {
			t.Errorf("closed %+v", c)
		}
		if c := of[events.ConnClosed](&own); len(c) != 0 {
			t.Errorf("the request's hooks heard of a close outside it: %+v", c)
		}
	})
}
