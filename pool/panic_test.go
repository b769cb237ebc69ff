package pool

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// outcome is how a function ended.
type outcome struct {
	value  any
	goexit bool
}

// ends runs f on a goroutine of its own.
func ends(f func()) outcome {
	got := make(chan outcome, 1)
	go func() {
		returned := false
		defer func() {
			v := recover()
			got <- outcome{v, !returned && v == nil}
		}()
		f()
		returned = true
	}()
	return <-got
}

type boom struct{}

// Each function of the user that runs on the caller's goroutine may panic, or
// end the goroutine, at any time: what the request held goes back exactly once.
func TestAPanicOnTheCallersGoroutineGoesThroughAndLeavesNothing(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.H2} {
		for name, arm := range map[string]func(w *world, req *http.Request, fail func()) *http.Request{
			"Proxy": func(w *world, req *http.Request, fail func()) *http.Request {
				w.base.Proxy = func(*http.Request) (*url.URL, error) { fail(); return nil, nil }
				return req
			},
			"ConnOpened": func(_ *world, req *http.Request, fail func()) *http.Request {
				return hooked(req, &events.Hooks{ConnOpened: func(context.Context, events.ConnOpened) { fail() }})
			},
			"ConnAcquired": func(_ *world, req *http.Request, fail func()) *http.Request {
				return hooked(req, &events.Hooks{ConnAcquired: func(context.Context, events.ConnAcquired) { fail() }})
			},
			"ConnReleased": func(_ *world, req *http.Request, fail func()) *http.Request {
				return hooked(req, &events.Hooks{ConnReleased: func(context.Context, events.ConnReleased) { fail() }})
			},
			"ConnStale": func(w *world, req *http.Request, fail func()) *http.Request {
				w.park(1)
				w.srv.RaceIdle(faultserver.FIN)
				return hooked(req, &events.Hooks{ConnStale: func(context.Context, events.ConnStale) { fail() }})
			},
			"ConnRecovered": func(w *world, req *http.Request, fail func()) *http.Request {
				w.park(1)
				w.srv.RaceIdle(faultserver.FIN)
				return hooked(req, &events.Hooks{ConnRecovered: func(context.Context, events.ConnRecovered) { fail() }})
			},
			"GetBody": func(w *world, req *http.Request, fail func()) *http.Request {
				w.park(1)
				w.srv.RaceIdle(faultserver.FIN)
				req.GetBody = func() (io.ReadCloser, error) { fail(); return nil, nil }
				return req
			},
			"GetConn": func(_ *world, req *http.Request, fail func()) *http.Request {
				return traced(req, &httptrace.ClientTrace{GetConn: func(string) { fail() }})
			},
			"GotConn": func(_ *world, req *http.Request, fail func()) *http.Request {
				return traced(req, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { fail() }})
			},
			"DialContext": func(w *world, req *http.Request, fail func()) *http.Request {
				w.base.DialContext = func(context.Context, string, string) (net.Conn, error) { fail(); return nil, nil }
				return req
			},
		} {
			for _, goexit := range []bool{false, true} {
				t.Run(name+"/"+p.String(), func(t *testing.T) {
					inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
						dial, proxy := w.base.DialContext, w.base.Proxy
						body := &countedBody{Reader: http.NoBody}
						req := w.request(w.Context(), "PUT", "/x", "")
						req.Body, req.ContentLength = body, -1
						req.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
						fired := false
						req = arm(w, req, func() {
							if fired {
								return
							}
							fired = true
							if goexit {
								runtime.Goexit()
							}
							panic(boom{})
						})
						got := ends(func() { w.send(req) })
						if goexit != got.goexit || !goexit && got.value != (boom{}) {
							t.Errorf("it ended with %+v", got)
						}
						synctest.Wait()
						if body.closed != 1 {
							t.Errorf("the body was closed %d times", body.closed)
						}
						if s := w.pool.Stats(); s.Active != 0 || s.Requests != 0 || s.Waiting != 0 || s.Dialing != 0 {
							t.Errorf("%+v", s)
						}
						w.base.DialContext, w.base.Proxy = dial, proxy
						w.mustDo("GET", "/after", "")
					})
				})
			}
		}
	}
}

func hooked(req *http.Request, h *events.Hooks) *http.Request {
	return req.WithContext(events.With(req.Context(), h))
}

func traced(req *http.Request, trace *httptrace.ClientTrace) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
}

func TestAPanicInTheBackgroundIsCountedAndHandedOn(t *testing.T) {
	var seen []any
	inWorld(t, faultserver.Config{}, func(_ *http.Transport, c *Config) {
		c.OnPanic = func(v any) { seen = append(seen, v) }
		c.Hooks = &events.Hooks{ConnClosed: func(context.Context, events.ConnClosed) { panic(boom{}) }}
	}, func(w *world) {
		w.mustDo("GET", "/x", "")
		w.srv.KillIdle(faultserver.FIN)
		synctest.Wait()
		if s := w.pool.Stats(); s.HookPanics != 1 || s.Open != 0 {
			t.Errorf("%+v", s)
		}
		if len(seen) != 1 || seen[0] != (boom{}) {
			t.Errorf("handed on: %v", seen)
		}
	})
}

func TestAPanicOfADialThatNobodyWaitsForIsCounted(t *testing.T) {
	began, fail := make(chan struct{}), make(chan struct{})
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) {
		began, fail = make(chan struct{}), make(chan struct{})
		b.DialContext = func(context.Context, string, string) (net.Conn, error) {
			close(began)
			<-fail
			panic(boom{})
		}
	}, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		r := w.async(w.request(ctx, "GET", "/x", ""))
		<-began
		cancel()
		<-r.done
		close(fail)
		synctest.Wait()
		if s := w.pool.Stats(); s.HookPanics != 1 || s.Open != 0 || s.Dialing != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A hook may use the pool: none runs under a lock.
func TestHooksMayUseThePool(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		var w *world
		look := func() { w.pool.Stats(); w.pool.CloseIdleConnections() }
		h := &events.Hooks{
			ConnOpened:    func(context.Context, events.ConnOpened) { look() },
			ConnAcquired:  func(context.Context, events.ConnAcquired) { look() },
			ConnReleased:  func(context.Context, events.ConnReleased) { look() },
			ConnClosed:    func(context.Context, events.ConnClosed) { look() },
			ConnStale:     func(context.Context, events.ConnStale) { look() },
			ConnRecovered: func(context.Context, events.ConnRecovered) { look() },
		}
		inWorld(t, faultserver.Config{Protocol: p}, func(_ *http.Transport, c *Config) { c.Hooks = h }, func(inner *world) {
			w = inner
			for range 3 {
				w.mustDo("PUT", "/x", "payload")
			}
			w.srv.KillAll(faultserver.RST)
			w.mustDo("PUT", "/x", "payload")
			w.open("/early").Body.Close()
		})
	}
}

// The watch on the context may be closing the connection when a hook panics.
func TestAConnectionThatItsRequestIsAboutToCloseIsNotKept(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H1}, nil, func(w *world) {
		w.park(1)
		w.srv.RaceIdle(faultserver.FIN)
		ctx, cancel := context.WithCancel(w.Context())
		req := hooked(w.request(ctx, "HEAD", "/x", ""), &events.Hooks{
			ConnRecovered: func(context.Context, events.ConnRecovered) { w.log.reset(); cancel(); panic(boom{}) },
		})
		if got := ends(func() { w.send(req) }); got.value != (boom{}) {
			t.Fatalf("it ended with %+v", got)
		}
		synctest.Wait()
		if closed := of[events.ConnClosed](w.log); len(closed) != 1 || closed[0].Cause != events.ConnCanceled {
			t.Errorf("closed %+v", closed)
		}
		w.mustDo("GET", "/after", "")
	})
}

func TestAConnectionWhoseHookPanickedAfterItsAnswerHasServed(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			w.park(1)
			w.srv.RaceIdle(faultserver.FIN)
			req := hooked(w.request(w.Context(), "HEAD", "/x", ""), &events.Hooks{
				ConnRecovered: func(context.Context, events.ConnRecovered) { panic(boom{}) },
			})
			if got := ends(func() { w.send(req) }); got.value != (boom{}) {
				t.Fatalf("it ended with %+v", got)
			}
			w.log.reset()
			w.mustDo("GET", "/after", "")
			if got := of[events.ConnAcquired](w.log); len(got) != 1 || !got[0].Reused {
				t.Errorf("%v: acquired %+v", p, got)
			}
		})
	}
}
