package pool_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// The tests of this file hold net/http to what makes a healthy exchange cheap.
// None of them uses the pool.

// exchange.send reserves an HTTP/1 connection and does not look at the error.
func TestAReservationOfHTTP1IsUsedUpByItsRequest(t *testing.T) {
	for _, p := range http1s {
		synctest.Test(t, func(t *testing.T) {
			srv, cc := connOf(t, faultserver.Config{Protocol: p, Memory: true}, nil)
			defer cc.Close()
			for range 3 {
				if err := cc.Reserve(); err != nil {
					t.Fatalf("%v: %v", p, err)
				}
				ask(t, srv, cc)
				if a, n := cc.Available(), cc.InFlight(); a != 1 || n != 0 {
					t.Fatalf("%v: available %d, in flight %d", p, a, n)
				}
			}
		})
	}
}

func TestARequestOnADeadHTTP1ConnectionSaysWhatItsReservationWouldHaveSaid(t *testing.T) {
	for _, p := range http1s {
		for _, how := range faultserver.Hows(p) {
			synctest.Test(t, func(t *testing.T) {
				srv, cc := connOf(t, faultserver.Config{Protocol: p, Memory: true}, nil)
				defer cc.Close()
				ask(t, srv, cc)
				srv.KillIdle(how)
				synctest.Wait()
				reserved := cc.Reserve()
				req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/"), nil)
				_, err := cc.RoundTrip(req)
				if reserved == nil || !errors.Is(err, reserved) {
					t.Errorf("%v, %v: Reserve: %v, RoundTrip: %v", p, how, reserved, err)
				}
			})
		}
	}
}

// sending.reuse spares release the question whether such a connection lives.
func TestAnAvailableHTTP1ConnectionIsNotClosed(t *testing.T) {
	for _, p := range http1s {
		for _, how := range faultserver.Hows(p) {
			synctest.Test(t, func(t *testing.T) {
				srv, cc := connOf(t, faultserver.Config{Protocol: p, Memory: true}, nil)
				ask(t, srv, cc)
				if cc.Available() != 1 || cc.Err() != nil {
					t.Fatalf("%v: available %d, %v", p, cc.Available(), cc.Err())
				}
				srv.KillIdle(how)
				synctest.Wait()
				if cc.Available() != 0 || cc.Err() == nil {
					t.Errorf("%v, %v: available %d, %v", p, how, cc.Available(), cc.Err())
				}
				cc.Close()
				if cc.Available() != 0 {
					t.Errorf("%v: available after Close", p)
				}
			})
		}
	}
}

// sending.release closes the body that net/http was given: it must still be the
// request's.
func TestNetHTTPLeavesARequestItsBody(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		synctest.Test(t, func(t *testing.T) {
			srv, cc := connOf(t, faultserver.Config{Protocol: p, Memory: true}, nil)
			defer cc.Close()
			body := struct{ io.ReadCloser }{io.NopCloser(strings.NewReader("payload"))}
			req, _ := http.NewRequestWithContext(t.Context(), "PUT", srv.URL("/"), nil)
			req.Body, req.ContentLength = body, 7
			resp, err := cc.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if req.Body != io.ReadCloser(body) {
				t.Errorf("%v: it is %v now", p, req.Body)
			}
		})
	}
}
