package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func (w *world) wantClosed(causes ...events.ConnCause) {
	w.Helper()
	synctest.Wait()
	closed := of[events.ConnClosed](w.log)
	if len(closed) != len(causes) {
		w.Fatalf("closed %+v, want %v", closed, causes)
	}
	for i, e := range closed {
		if e.Cause != causes[i] {
			w.Errorf("close %d for %q, want %q", i, e.Cause, causes[i])
		}
	}
}

func TestIdleConnectionsAreTakenLastInFirstOut(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxIdleConnsPerHost = 3 }, func(w *world) {
		w.park(3)
		for range 3 {
			w.mustDo("GET", "/x", "")
		}
		rs := w.srv.Requests()[3:]
		if rs[0].Conn != rs[1].Conn || rs[1].Conn != rs[2].Conn {
			t.Errorf("connections %d, %d, %d: want one", rs[0].Conn, rs[1].Conn, rs[2].Conn)
		}
	})
}

func TestADeadIdleConnectionDoesNotCostTheLiveOneBelowIt(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		w.park(2)
		w.pool.mu.Lock()
		for _, g := range w.pool.groups {
			err := io.ErrUnexpectedEOF
			g.idle[1].raw.fail(err) // known to be dead, not yet evicted
		}
		w.pool.mu.Unlock()
		w.mustDo("GET", "/x", "")
		if n := w.srv.Stats().Opened; n != 2 {
			t.Errorf("%d connections: the live one was not used", n)
		}
		if s := w.pool.Stats(); s.Open != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestIdleConnTimeoutHoldsOnEveryProtocol(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, _ *Config) { b.IdleConnTimeout = 30 * time.Second }, func(w *world) {
			w.mustDo("GET", "/1", "")
			<-time.After(20 * time.Second)
			w.mustDo("GET", "/2", "") // starts the time anew
			<-time.After(29 * time.Second)
			synctest.Wait()
			if s := w.pool.Stats(); s.Idle != 1 {
				t.Errorf("%v: closed too early: %+v", p, s)
			}
			<-time.After(2 * time.Second)
			w.wantClosed(events.ConnIdleTimeout)
			if s := w.pool.Stats(); s.Open != 0 {
				t.Errorf("%v: %+v", p, s)
			}
		})
	}
}

func TestAConnectionTakesNoRequestAfterItsLifetime(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, func(_ *http.Transport, c *Config) { c.MaxConnLifetime = time.Minute }, func(w *world) {
			for range 7 {
				w.mustDo("GET", "/x", "")
				<-time.After(9 * time.Second)
			}
			synctest.Wait()
			w.wantClosed(events.ConnLifetime) // by the janitor, at one minute
			w.mustDo("GET", "/x", "")
			if n := w.srv.Stats().Opened; n != 2 {
				t.Errorf("%v: %d connections", p, n)
			}
		})
	}
}

func TestARequestOutlivesTheLifetimeOfItsConnection(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(_ *http.Transport, c *Config) { c.MaxConnLifetime = time.Minute }, func(w *world) {
		resp := w.open("/held")
		<-time.After(2 * time.Minute)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		w.wantClosed(events.ConnLifetime)
	})
}

func TestOnlySoManyConnectionsIdlePerHost(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		release := make(chan struct{})
		w.srv.NextN(5, faultserver.Do(faultserver.Wait{Until: release}))
		var rs []*result
		for range 5 {
			rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
		}
		synctest.Wait()
		close(release)
		w.wantOK(rs...)
		if s := w.pool.Stats(); s.Idle != http.DefaultMaxIdleConnsPerHost || s.Open != 2 {
			t.Errorf("%+v", s)
		}
		w.wantClosed(events.ConnLimit, events.ConnLimit, events.ConnLimit)
	})
}

func TestTheConnectionThatIdledLongestMakesRoomForAnother(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxIdleConns = 3 }, func(w *world) {
		for i := range 5 {
			req := w.request(w.Context(), "GET", "/x", "")
			req.URL.Host = fmt.Sprintf("host-%d.test", i)
			if status, err := w.send(req); err != nil || status != 200 {
				t.Fatal(status, err)
			}
			<-time.After(time.Second)
		}
		synctest.Wait()
		s := w.pool.Stats()
		if s.Idle != 3 || len(s.Origins) != 3 {
			t.Errorf("%+v", s)
		}
		for i := range 5 {
			if _, ok := s.Origins[fmt.Sprintf("http://host-%d.test:80", i)]; ok != (i >= 2) {
				t.Errorf("host-%d is there: %v", i, ok)
			}
		}
		if s.Dials != 5 {
			t.Errorf("the counters of deleted origins are lost: %+v", s)
		}
	})
}

// Ten thousand hosts, each once: nothing of them stays.
func TestHostsWithoutConnectionsTakeNoMemory(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) { b.MaxIdleConns = 10 }, func(w *world) {
		for i := range 10_000 {
			req := w.request(w.Context(), "GET", "/x", "")
			req.URL.Host = fmt.Sprintf("host-%d.test", i)
			if _, err := w.send(req); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.pool.mu.Lock()
		defer w.pool.mu.Unlock()
		if len(w.pool.groups) != 10 || w.pool.idles != 10 {
			t.Errorf("%d groups, %d idle connections", len(w.pool.groups), w.pool.idles)
		}
	})
}

func TestWithoutKeepAlivesEachRequestGetsItsConnection(t *testing.T) {
	for _, off := range []func(*http.Transport){
		func(b *http.Transport) { b.DisableKeepAlives = true },
		func(b *http.Transport) { b.MaxIdleConnsPerHost = -1 },
	} {
		for _, p := range faultserver.Protocols() {
			inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, _ *Config) { off(b) }, func(w *world) {
				var rs []*result
				for range 3 {
					rs = append(rs, w.async(w.request(w.Context(), "GET", "/x", "")))
				}
				w.wantOK(rs...)
				synctest.Wait()
				if s := w.pool.Stats(); s.Open != 0 || s.Dials != 3 {
					t.Errorf("%v: %+v", p, s)
				}
			})
		}
	}
}

func TestAConnectionThatOneSideWantsClosedIsClosed(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			req := w.request(w.Context(), "GET", "/x", "")
			req.Close = true
			if _, err := w.send(req); err != nil {
				t.Fatal(err)
			}
			w.wantClosed(events.ConnNoReuse)
			if p.Multiplexed() {
				return
			}
			w.srv.Next(faultserver.RespondWith(200, http.Header{"Connection": {"close"}}, "bye"))
			w.mustDo("GET", "/x", "")
			w.wantClosed(events.ConnNoReuse, events.ConnNoReuse)
		})
	}
}

func TestCloseIdleConnectionsClosesWhatIsInUseOnceItIsFree(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			resp := w.open("/held")
			w.pool.CloseIdleConnections()
			if s := w.pool.Stats(); s.Open != 1 || s.Active != 1 {
				t.Errorf("%v: %+v", p, s)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if s := w.pool.Stats(); s.Open != 0 {
				t.Errorf("%v: %+v", p, s)
			}
			w.mustDo("GET", "/x", "")
			if s := w.pool.Stats(); s.Idle != 1 {
				t.Errorf("%v: %+v", p, s)
			}
		})
	}
}

func TestConfigErrorsNameFieldAndValue(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{MaxConnLifetime: 5}, "pool: Config.MaxConnLifetime is 5ns, below 1ms: give a unit, or 0 for the default"},
		{Config{MaxConnWait: 5}, "pool: Config.MaxConnWait is 5ns, below 1ms: give a unit, or 0 for the default"},
		{Config{PingInterval: time.Microsecond}, "pool: Config.PingInterval is 1µs, below 1ms: give a unit, or 0 for the default"},
		{Config{Base: &http.Transport{Protocols: new(http.Protocols)}}, "pool: Config.Base.Protocols is {}, which allows none: set one, or nil for the default"},
	} {
		if _, err := New(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	for _, cfg := range []Config{{}, {Recoveries: -1, MaxConnLifetime: -1, MaxConnWait: -1, PingInterval: -1}} {
		p, err := New(cfg)
		if err != nil {
			t.Errorf("%+v: %v", cfg, err)
			continue
		}
		p.Close()
	}
}

func TestInvalidRequestsTakeNoConnection(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		for name, spoil := range map[string]func(*http.Request){
			"scheme":  func(r *http.Request) { r.URL.Scheme = "ftp" },
			"host":    func(r *http.Request) { r.URL.Host = "" },
			"URL":     func(r *http.Request) { r.URL = nil },
			"header":  func(r *http.Request) { r.Header = nil },
			"method":  func(r *http.Request) { r.Method = "G T" },
			"field":   func(r *http.Request) { r.Header["a b"] = []string{"x"} },
			"value":   func(r *http.Request) { r.Header["A"] = []string{"secret\n"} },
			"trailer": func(r *http.Request) { r.Trailer = http.Header{"A": {"\x00"}} },
		} {
			req := w.request(w.Context(), "POST", "/x", "payload")
			body := &countedBody{Reader: req.Body}
			req.Body, req.GetBody = body, nil
			spoil(req)
			_, err := w.pool.RoundTrip(req)
			if err == nil || body.closed != 1 {
				t.Errorf("%s: %v, body closed %d times", name, err, body.closed)
			}
			if err != nil && errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := w.srv.Stats().Opened; n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// countedBody counts how often it is closed.
type countedBody struct {
	io.Reader
	closed int
}

func (b *countedBody) Close() error { b.closed++; return nil }
