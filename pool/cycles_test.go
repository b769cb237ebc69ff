package pool_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// killCycles is the number of cycles of a row, one each 10 s.
const killCycles = 60

// cycleHows are the ways in which the two parked connections of a cycle end.
func cycleHows(p faultserver.Protocol) []faultserver.How {
	if p.Encrypted() {
		return []faultserver.How{faultserver.FIN, faultserver.RST, faultserver.CloseNotify, faultserver.TruncatedRecord}
	}
	return []faultserver.How{faultserver.FIN, faultserver.RST}
}

// HTTP.jl#1353: a server that closes idle connections sooner than its client
// spends the client's retry budget on nothing, until real failures find it
// empty. Every 10 s two parked connections are killed and a request follows.
// In every second cycle the client has not noticed.
func TestAServerThatClosesIdleConnectionsCostsNothing(t *testing.T) {
	t.Parallel()
	for _, p := range faultserver.Protocols() {
		for _, how := range cycleHows(p) {
			t.Run(p.String()+"/"+how.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, faultserver.Config{Protocol: p, Memory: true, Settings: multiplexedOnce}, nil)
					recoveries := 0
					for i := range 3 * killCycles {
						r.park(2)
						dialled := r.srv.Sockets().Opened()
						unnoticed := i%2 == 1
						if unnoticed {
							r.srv.RaceIdle(how)
							recoveries++
						} else if n := r.srv.KillIdle(how); n != 2 {
							t.Fatalf("%d connections killed", n)
						}
						<-time.After(10 * time.Second)
						method := []string{"GET", "PUT", "DELETE"}[i%3]
						var body io.Reader
						if method == "PUT" {
							body = strings.NewReader("payload")
						}
						r.wantOK(r.request(method, "/", body))
						if n := r.srv.Sockets().Opened() - dialled; n != 1 {
							t.Errorf("cycle %d cost %d dials, want 1", i, n)
						}
					}
					if s := r.pool.Stats(); int(s.Recoveries) != recoveries || int(s.Stale) != 2*recoveries {
						t.Errorf("%d recoveries of %d dead connections, want %d of %d", s.Recoveries, s.Stale, recoveries, 2*recoveries)
					}
					wantNoneTwice(t, r)
					r.wantNothingHeld()
				})
			})
		}
	}
}

// golang/go#22158: a PUT or DELETE on a connection that the server closed while
// it idled fails with "server closed idle connection", although nothing was
// written, or EOF.
func TestPutAndDeleteSurviveAConnectionClosedWhileIdle(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for _, how := range cycleHows(p) {
			for _, method := range []string{"PUT", "DELETE"} {
				for _, race := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, nil)
						r.park(1)
						if race {
							r.srv.RaceIdle(how)
						} else {
							r.srv.KillIdle(how)
						}
						req := r.request(method, "/", strings.NewReader("payload"))
						r.wantOK(req)
						if arrived, processed := r.timesArrived(req); arrived != 1 || processed != 1 {
							t.Errorf("%v, %v, %s: arrived %d times, processed %d times", p, how, method, arrived, processed)
						}
					})
				}
			}
		}
	}
}

// golang/go#20985: a POST whose stream the server has refused was not
// processed; with GetBody it goes out again, on a fresh connection too.
func TestAPostWithGetBodySurvivesARefusedStream(t *testing.T) {
	for _, p := range http2s {
		for _, parked := range []int{0, 1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, nil)
				r.park(parked)
				r.srv.Next(faultserver.RefuseStream(), faultserver.RefuseStream())
				req := r.request("POST", "/", strings.NewReader("payload"))
				r.wantOK(req)
				if arrived, processed := r.timesArrived(req); arrived != 3 || processed != 1 {
					t.Errorf("%v: arrived %d times, processed %d times, want 3 and 1", p, arrived, processed)
				}

				r.srv.Next(faultserver.RefuseStream())
				req = r.request("POST", "/", newOneShot("payload"))
				_, _, err := exchange(r.pool, req)
				if !pool.Unprocessed(err) || !pool.Recoverable(err) {
					t.Errorf("%v: without GetBody: %v, unprocessed %v, recoverable %v", p, err, pool.Unprocessed(err), pool.Recoverable(err))
				}
				var stale *pool.StaleConnError
				if class := pool.ClassOf(err); class != events.ClassRefusedStream || errors.As(err, &stale) {
					t.Errorf("%v: %v of class %q: the connection lives", p, err, class)
				}
			})
		}
	}
}

// A server that refuses every stream is not asked for ever.
func TestAServerThatRefusesEveryStreamIsAskedABoundedNumberOfTimes(t *testing.T) {
	for _, p := range http2s {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, faultserver.Config{Protocol: p, Memory: true, Choose: func(faultserver.Request) faultserver.Script { return faultserver.RefuseStream() }}, nil)
			_, _, err := exchange(r.pool, r.request("POST", "/", strings.NewReader("payload")))
			if !pool.Unprocessed(err) || r.srv.Stats().Requests > 3 {
				t.Errorf("%v: %v after %d requests, want at most 3: two recoveries", p, err, r.srv.Stats().Requests)
			}
		})
	}
}
