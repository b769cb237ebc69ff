package pool_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// onReused sends a request on a connection that has served before and answers
// it with script.
func (r *rig) onReused(req *http.Request, script faultserver.Script) (status int, body string, err error) {
	r.Helper()
	r.park(1)
	r.srv.Next(script)
	return exchange(r.pool, req)
}

// wantOnce checks that the request arrived once, was processed once, and cost
// no dial but that of the connection it failed on.
func (r *rig) wantOnce(req *http.Request, recoveries uint64) {
	r.Helper()
	if arrived, processed := r.timesArrived(req); arrived != 1 || processed != 1 {
		r.Errorf("%s arrived %d times and was processed %d times, want 1 and 1", req.Method, arrived, processed)
	}
	if got := r.pool.Stats().Recoveries; got != recoveries {
		r.Errorf("%d recoveries, want %d", got, recoveries)
	}
}

func TestAPostThatTheServerHasReadIsNeverRepeated(t *testing.T) {
	t.Parallel()
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		for range rounds() {
			req := r.request("POST", "/x", strings.NewReader("payload"))
			_, _, err := r.onReused(req, faultserver.KillAfterReading(how))
			wantStale(t, err, 1)
			r.wantOnce(req, 0)
		}
		r.wantNothingHeld()
	})
}

func TestAOneShotBodyIsNeverRepeated(t *testing.T) {
	t.Parallel()
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		for range rounds() {
			req := r.request("PUT", "/x", newOneShot("payload"))
			_, _, err := r.onReused(req, faultserver.KillAfterReading(how))
			wantStale(t, err, 1)
			r.wantOnce(req, 0)

			r.park(1)
			r.srv.RaceIdle(how)
			req = r.request("PUT", "/x", newOneShot("payload"))
			_, _, err = exchange(r.pool, req)
			wantStale(t, err, 1)
			if arrived, _ := r.timesArrived(req); arrived != 0 {
				t.Errorf("it arrived %d times", arrived)
			}
		}
		r.wantNothingHeld()
	})
}

// A GET is idempotent and its connection was reused: only the first byte of
// the response forbids another try.
func TestAGetWhoseResponseBeganIsNeverRepeated(t *testing.T) {
	t.Parallel()
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		scripts := map[string]faultserver.Script{
			"early hints": faultserver.Do(faultserver.Interim{Status: 103}, faultserver.Flush{}, faultserver.Kill{How: how}),
		}
		if !p.Multiplexed() {
			scripts["one byte"] = faultserver.Do(faultserver.HalfHeader{Bytes: 1}, faultserver.Kill{How: how})
			scripts["half a header"] = faultserver.KillInHeader(how)
		}
		for name, script := range scripts {
			if how == faultserver.RST {
				continue // it overtakes the bytes before it
			}
			for range rounds() {
				req := r.request("GET", "/x", nil)
				status, _, err := r.onReused(req, script)
				var stale *pool.StaleConnError
				if status != 0 || err == nil || errors.As(err, &stale) || !pool.Recoverable(err) {
					t.Fatalf("%s: %d, %#v, recoverable %v", name, status, err, pool.Recoverable(err))
				}
				r.wantOnce(req, 0)
			}
		}
		r.wantNothingHeld()
	})
}

func TestAGetWhoseBodyBreaksOffIsNeverRepeated(t *testing.T) {
	t.Parallel()
	inMatrix(t, func(t *testing.T, p faultserver.Protocol, how faultserver.How) {
		r := matrixRig(t, p, false)
		script := faultserver.KillInBody(1000, how)
		if how == faultserver.RST {
			// The client has the half before the reset.
			half := make(chan struct{})
			defer close(half)
			script = faultserver.Do(faultserver.Header{Header: http.Header{"Content-Length": {"1000"}}},
				faultserver.Body{Size: 500}, faultserver.Flush{}, faultserver.Wait{Until: half}, faultserver.Kill{How: how})
			for range rounds() {
				req := r.request("GET", "/x", nil)
				r.park(1)
				r.srv.Next(script)
				resp, err := r.pool.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				half <- struct{}{}
				wantBodyBroken(t, p, how, drain(resp))
				r.wantOnce(req, 0)
			}
			r.wantNothingHeld()
			return
		}
		for range rounds() {
			req := r.request("GET", "/x", nil)
			status, body, err := r.onReused(req, script)
			if status != 200 || len(body) != 500 {
				t.Fatalf("%d, %d bytes, %v", status, len(body), err)
			}
			wantBodyBroken(t, p, how, err)
			r.wantOnce(req, 0)
		}
		r.wantNothingHeld()
	})
}

func wantBodyBroken(t *testing.T, p faultserver.Protocol, how faultserver.How, err error) {
	t.Helper()
	want := events.ClassEOF
	switch {
	case p.Encrypted() && how != faultserver.CloseNotify:
		want = events.ClassTLSTransport
	case how == faultserver.RST:
		want = events.ClassReset
	}
	if !pool.Recoverable(err) || pool.Unprocessed(err) || pool.ClassOf(err) != want {
		t.Errorf("got %v of class %q, want class %q; recoverable %v", err, pool.ClassOf(err), want, pool.Recoverable(err))
	}
}

// On HTTP/2 the first bytes of a HEADERS frame are not yet the response's: half
// a frame is no answer, and what is idempotent goes out again.
func TestHalfAnHTTP2FrameIsNoResponse(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.H2, faultserver.H2C} {
		r := matrixRig(t, p, false)
		req := r.request("GET", "/x", nil)
		status, _, err := r.onReused(req, faultserver.KillInHeader(faultserver.FIN))
		if arrived, _ := r.timesArrived(req); err != nil || status != 200 || arrived != 2 {
			t.Errorf("%v: GET %d, %v, arrived %d times", p, status, err, arrived)
		}
		req = r.request("POST", "/x", strings.NewReader("payload"))
		_, _, err = r.onReused(req, faultserver.KillInHeader(faultserver.FIN))
		wantStale(t, err, 1)
		r.wantOnce(req, 1)
	}
}
