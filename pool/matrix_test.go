package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// The recovery matrix: protocol × how the server ended the connections ×
// request × whether the client knew. One cell is rounds of "park, kill, send",
// with 1 to matrixIdle connections parked in turn.
const (
	matrixIdle   = 3 // MaxIdleConnsPerHost
	matrixRounds = 30
)

// rounds is how often a cell is tried.
func rounds() int {
	if testing.Short() {
		return 1
	}
	return matrixRounds
}

// inRounds runs round for each number of parked connections in turn.
func inRounds(n *tally, round func(parked int)) {
	for i := range rounds() * matrixIdle {
		n.rounds.Add(1)
		round(1 + i%matrixIdle)
	}
}

// shot is a kind of request.
type shot struct {
	name, method, body string
	key                bool // carries an Idempotency-Key
	due                bool // may be sent twice
}

var shots = []shot{
	{"GET", "GET", "", false, true},
	{"HEAD", "HEAD", "", false, true},
	{"PUT", "PUT", "payload", false, true},
	{"DELETE", "DELETE", "", false, true},
	{"POST", "POST", "payload", false, false},
	{"POST with Idempotency-Key", "POST", "payload", true, true},
}

func (s shot) request(r *rig) *http.Request {
	var body io.Reader
	if s.body != "" {
		body = strings.NewReader(s.body)
	}
	req := r.request(s.method, "/shot", body)
	if s.key {
		req.Header.Set("Idempotency-Key", "k")
	}
	return req
}

func (s shot) answer() string {
	switch {
	case s.method == "HEAD":
		return ""
	case s.body == "":
		return "ok"
	}
	return s.body
}

// tally counts what the cells of a test came to.
type tally struct{ rounds, escapes, staleErrors, recoveries atomic.Int64 }

func (n *tally) log(t *testing.T) {
	t.Cleanup(func() {
		t.Logf("%d rounds, %d escapes, %d due *StaleConnErrors, %d recoveries",
			n.rounds.Load(), n.escapes.Load(), n.staleErrors.Load(), n.recoveries.Load())
	})
}

// inMatrix runs cell for every protocol and every way to die.
func inMatrix(t *testing.T, cell func(*testing.T, faultserver.Protocol, faultserver.How)) {
	for _, p := range faultserver.Protocols() {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprintf("%v/%v", p, how), func(t *testing.T) {
				t.Parallel()
				cell(t, p, how)
			})
		}
	}
}

func matrixRig(t testing.TB, p faultserver.Protocol, memory bool) *rig {
	return newRig(t, faultserver.Config{Protocol: p, Memory: memory, Settings: multiplexedOnce},
		func(b *http.Transport, _ *pool.Config) { b.MaxIdleConnsPerHost = matrixIdle })
}

// The server closes all parked connections at the moment at which the request
// reaches it: the client has always written before it learns (golang/go#22158).
func TestARequestThatRacesWithTheEndOfItsConnection(t *testing.T) {
	t.Parallel()
	var n tally
	n.log(t)
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		for _, s := range shots {
			inRounds(&n, func(parked int) { n.race(t, r, s, how, parked) })
		}
		wantNoneTwice(t, r)
		r.wantNothingHeld()
	})
}

func (n *tally) race(t *testing.T, r *rig, s shot, how faultserver.How, parked int) {
	r.park(parked)
	if got := r.srv.RaceIdle(how); got != parked {
		t.Fatalf("%d connections armed, want %d", got, parked)
	}
	raced, dials := r.srv.Stats().Raced, r.srv.Sockets().Opened()
	req := s.request(r)
	status, body, err := exchange(r.pool, req)
	raced, dials = r.srv.Stats().Raced-raced, r.srv.Sockets().Opened()-dials
	switch {
	case !s.due:
		n.staleErrors.Add(1)
		wantStale(t, err, 1)
		if arrived, _ := r.timesArrived(req); raced != 1 || dials != 0 || arrived != 0 {
			t.Errorf("%s met %d closing connections, dialled %d, arrived %d times: want it sent once", s.name, raced, dials, arrived)
		}
		r.pool.CloseIdleConnections() // armed ones
	case err != nil || status != 200 || body != s.answer():
		n.escapes.Add(1)
		t.Errorf("%s with %d parked: %d, %q, %v", s.name, parked, status, body, err)
	default:
		n.recoveries.Add(1)
		if raced != parked || dials != 1 {
			t.Errorf("%s with %d parked met %d closing connections and dialled %d", s.name, parked, raced, dials)
		}
	}
}

// The server closes all parked connections and the request follows at once:
// whether the client has noticed is left to the machine.
func TestARequestRightAfterTheEndOfItsConnection(t *testing.T) {
	t.Parallel()
	var n tally
	n.log(t)
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		answered := 0
		for _, s := range shots {
			inRounds(&n, func(parked int) {
				r.park(parked)
				if got := r.srv.KillIdle(how); got != parked {
					t.Fatalf("%d connections killed, want %d", got, parked)
				}
				status, body, err := exchange(r.pool, s.request(r))
				switch {
				case err == nil && status == 200 && body == s.answer():
					answered++
				case !s.due && err != nil:
					// It may have been written; then it must not be repeated.
					n.staleErrors.Add(1)
					wantStale(t, err, 0)
				default:
					n.escapes.Add(1)
					t.Errorf("%s with %d parked: %d, %q, %v", s.name, parked, status, body, err)
				}
			})
		}
		sent := r.parks + answered
		if st := r.srv.Stats(); st.Requests != sent || st.Processed != sent {
			t.Errorf("the server got %d requests and processed %d, want %d", st.Requests, st.Processed, sent)
		}
		n.recoveries.Add(int64(r.pool.Stats().Recoveries))
		wantNoneTwice(t, r)
		r.wantNothingHeld()
	})
}

// The connections die, and the client learns it, after one of them was taken
// for the request and before a byte of it is written: any method goes out
// again, a POST too.
func TestARequestOfWhichNothingWasWritten(t *testing.T) {
	t.Parallel()
	var n tally
	n.log(t)
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		synctest.Test(t, func(t *testing.T) {
			r := matrixRig(t, p, true)
			for _, s := range []shot{{"GET", "GET", "", false, true}, {"POST", "POST", "payload", false, true}} {
				inRounds(&n, func(parked int) { n.unwritten(t, r, s, how, parked) })
			}
			wantNoneTwice(t, r)
			r.wantNothingHeld()
		})
	})
}

func (n *tally) unwritten(t *testing.T, r *rig, s shot, how faultserver.How, parked int) {
	r.park(parked)
	killed := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if i.Reused {
			killed = r.srv.KillIdle(how)
			synctest.Wait()
		}
	}})
	var a pool.Attempt
	req := s.request(r).WithContext(context.WithValue(ctx, pool.AttemptKey{}, &a))
	status, body, err := exchange(r.pool, req)
	if err != nil || status != 200 || body != s.answer() || killed != parked {
		n.escapes.Add(1)
		t.Errorf("%s with %d of %d killed: %d, %q, %v", s.name, killed, parked, status, body, err)
		return
	}
	n.recoveries.Add(1)
	if a.Recoveries != 1 {
		t.Errorf("%d recoveries, want 1: the siblings were known to be dead", a.Recoveries)
	}
}

// wantStale checks the error of a request that was written to a dead
// connection, the try-th it met (0: any), and was not sent again.
func wantStale(t *testing.T, err error, try int) {
	t.Helper()
	var stale *pool.StaleConnError
	if !errors.As(err, &stale) || stale.NothingWritten || try > 0 && stale.Try != try {
		t.Fatalf("got %#v, want a *StaleConnError of try %d after a write", err, try)
	}
	if !pool.Recoverable(err) || pool.Unprocessed(err) || pool.ClassOf(err) != events.ClassStale {
		t.Fatalf("recoverable %v, unprocessed %v, class %q of %v", pool.Recoverable(err), pool.Unprocessed(err), pool.ClassOf(err), err)
	}
}

// wantNoneTwice checks that no request of the matrix had its effect twice: in
// these rounds not even an idempotent one, for the dead connections process
// nothing.
func wantNoneTwice(t *testing.T, r *rig) {
	t.Helper()
	if twice := r.srv.ProcessedTwice(); len(twice) > 0 {
		t.Errorf("processed twice: %v", twice)
	}
}
