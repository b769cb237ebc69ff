package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// Two connections idle, the server has ended both: the request goes through,
// whether the client knew before it wrote or learns it after (HTTP.jl#1353;
// PUT and DELETE: golang/go#22158).
func TestARequestOnDeadConnectionsGoesThrough(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				for _, race := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%v/%v/race=%v", p, how, method, race), func(t *testing.T) {
						inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
							for range 5 {
								w.park(2)
								w.log.reset()
								body := ""
								if method == "PUT" {
									body = "payload"
								}
								if race {
									if n := w.srv.RaceIdle(how); n != 2 {
										t.Fatalf("%d connections armed", n)
									}
								} else if n := w.srv.KillIdle(how); n != 2 {
									t.Fatalf("%d connections killed", n)
								}
								w.mustDo(method, "/x", body)
								if race {
									stale, recovered := of[events.ConnStale](w.log), of[events.ConnRecovered](w.log)
									if len(stale) != 2 || len(recovered) != 1 || !recovered[0].Fresh || recovered[0].Recoveries != 2 {
										t.Errorf("stale %+v, recovered %+v", stale, recovered)
									}
								}
							}
							if twice := w.srv.ProcessedTwice(); len(twice) > 0 {
								t.Errorf("processed twice: %v", twice)
							}
						})
					})
				}
			}
		}
	}
}

func TestAPostThatWasWrittenIsNotSentAgain(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprintf("%v/%v", p, how), func(t *testing.T) {
				inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
					w.park(1)
					w.srv.Next(faultserver.KillAfterReading(how))
					_, err := w.do("POST", "/x", "payload")
					var stale *StaleConnError
					if !errors.As(err, &stale) || stale.NothingWritten || stale.Try != 1 {
						t.Fatalf("got %v, want a *StaleConnError after a write", err)
					}
					if !Recoverable(err) || Unprocessed(err) || ClassOf(err) != events.ClassStale {
						t.Errorf("recoverable %v, unprocessed %v, class %v", Recoverable(err), Unprocessed(err), ClassOf(err))
					}
					if n := w.srv.Stats().Requests; n != 2 {
						t.Errorf("%d requests arrived, want 2", n)
					}
				})
			})
		}
	}
}

// deadSocket makes the next write on every parked socket fail without a byte.
func TestAPostOfWhichNothingWasWrittenIsSentAgain(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprintf("%v/%v", p, how), func(t *testing.T) {
				inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
					w.park(1)
					// The connection is taken, and dies before the request is written.
					req := w.request(w.Context(), "POST", "/x", "payload")
					x := &exchange{t: w.pool, req: req, ctx: req.Context(), hooks: hooks{t: w.pool, of: w.log.hooks()}}
					if err := x.resolve(); err != nil {
						t.Fatal(err)
					}
					if err := x.acquire(); err != nil {
						t.Fatal(err)
					}
					w.srv.KillIdle(how)
					synctest.Wait()
					_, err := x.send()
					if err == nil {
						t.Fatal("the connection was not dead")
					}
					if err := x.recover(err); err != nil {
						t.Fatalf("not recovered: %v", err)
					}
					resp, err := x.run()
					if err != nil || resp.StatusCode != 200 {
						t.Fatalf("got %v", err)
					}
					resp.Body.Close()
				})
			})
		}
	}
}

// golang/go#20985
func TestAPostIsSentAgainWhenItsStreamWasRefused(t *testing.T) {
	for _, script := range map[string]faultserver.Script{"REFUSED_STREAM": faultserver.RefuseStream(), "GOAWAY": faultserver.RefuseByGoAway()} {
		for _, parked := range []int{0, 1} {
			inWorld(t, faultserver.Config{Protocol: faultserver.H2}, nil, func(w *world) {
				if parked > 0 {
					w.park(parked)
				}
				w.srv.Next(script)
				w.mustDo("POST", "/x", "payload")
				if n := len(of[events.ConnRecovered](w.log)); n != 1 {
					t.Errorf("%d recoveries, want 1", n)
				}
			})
		}
	}
}

func TestAFailureOnAFreshConnectionIsNotRecovered(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			w.srv.Next(faultserver.KillAfterReading(faultserver.RST))
			_, err := w.do("GET", "/x", "")
			var stale *StaleConnError
			if err == nil || errors.As(err, &stale) || !Recoverable(err) {
				t.Errorf("%v: got %v", p, err)
			}
			if n := w.srv.Stats().Requests; n != 1 {
				t.Errorf("%v: %d requests, want 1", p, n)
			}
		})
	}
}

func TestRecoveryEndsWithOneFreshDial(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, c *Config) { b.MaxIdleConnsPerHost = 5; c.Recoveries = 2 }, func(w *world) {
		w.park(5)
		w.srv.RaceIdle(faultserver.FIN)
		w.log.reset()
		w.mustDo("GET", "/x", "")
		if stale := of[events.ConnStale](w.log); len(stale) != 2 || stale[1].Try != 2 {
			t.Errorf("stale %+v, want tries 1 and 2", stale)
		}
		if r := of[events.ConnRecovered](w.log); len(r) != 1 || !r[0].Fresh || r[0].Recoveries != 2 {
			t.Errorf("recovered %+v", r)
		}
	})
}

func TestWithoutRecoveriesTheFirstDeadConnectionIsTheError(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(_ *http.Transport, c *Config) { c.Recoveries = -1 }, func(w *world) {
		w.park(1)
		w.srv.RaceIdle(faultserver.RST)
		_, err := w.do("GET", "/x", "")
		if _, ok := errors.AsType[*StaleConnError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

func TestAResponseThatBeganIsNotRecovered(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		w.park(1)
		w.srv.Next(faultserver.KillInHeader(faultserver.FIN))
		_, err := w.do("GET", "/x", "")
		var stale *StaleConnError
		if err == nil || errors.As(err, &stale) || ClassOf(err) != events.ClassProtocol && ClassOf(err) != events.ClassEOF {
			t.Errorf("got %v of class %v", err, ClassOf(err))
		}
		if n := w.srv.Stats().Requests; n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestAnHTTP2ConnectionThatWasAskedToGoAwayIsReplaced(t *testing.T) {
	inWorld(t, faultserver.Config{Protocol: faultserver.H2}, nil, func(w *world) {
		w.park(1)
		w.srv.GoAway(http2.ErrCodeNo)
		synctest.Wait()
		w.log.reset()
		w.mustDo("POST", "/x", "payload")
		closed := of[events.ConnClosed](w.log)
		if len(closed) != 1 || closed[0].Cause != events.ConnGoAway || closed[0].Call != 0 {
			t.Errorf("closed %+v", closed)
		}
	})
}

// timedOut is a connection that the kernel gives up where it would have ended.
type timedOut struct{ net.Conn }

func (c timedOut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	}
	return n, err
}

// A connection that nobody answers on ends with ETIMEDOUT, which is a timeout
// and yet no deadline: the connection is dead.
func TestARequestOnAConnectionThatTheKernelGaveUpGoesThrough(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			inWorld(t, faultserver.Config{Protocol: p}, func(base *http.Transport, _ *Config) {
				dial := base.DialContext
				base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := dial(ctx, network, addr)
					return timedOut{c}, err
				}
			}, func(w *world) {
				w.park(2)
				w.log.reset()
				if n := w.srv.RaceIdle(faultserver.FIN); n != 2 {
					t.Fatalf("%d connections armed", n)
				}
				w.mustDo("PUT", "/x", "payload")
				if stale := of[events.ConnStale](w.log); len(stale) != 2 || stale[0].Class != events.ClassTimeout {
					t.Errorf("stale %+v", stale)
				}
			})
		})
	}
}
