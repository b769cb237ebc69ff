package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// rig is a scripted server and a pool that dials it, as a user of the package
// has them.
type rig struct {
	testing.TB
	srv  *faultserver.Server
	base *http.Transport
	pool *pool.Transport

	ids   int // requests made
	parks int // those that park has sent
}

// newRig starts a server and a pool on its transport, which tune may change.
func newRig(t testing.TB, fc faultserver.Config, tune func(*http.Transport, *pool.Config)) *rig {
	t.Helper()
	r := &rig{TB: t, srv: faultserver.Start(t, fc)}
	r.base = r.srv.ClientTransport()
	if r.base.TLSClientConfig != nil {
		// In assembler, unlike the default: cheap under the race detector.
		r.base.TLSClientConfig.CurvePreferences = []tls.CurveID{tls.CurveP256}
	}
	cfg := pool.Config{Base: r.base}
	if tune != nil {
		tune(r.base, &cfg)
	}
	var err error
	if r.pool, err = pool.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.pool.Close() })
	return r
}

// multiplexedOnce makes every HTTP/2 connection take one request at a time, so
// that a test can park several.
var multiplexedOnce = faultserver.Settings{MaxConcurrentStreams: 1}

// park leaves exactly n connections idle: n requests that overlap. Of those
// that idle already it uses one at most, since the server may have armed more.
func (r *rig) park(n int) {
	r.Helper()
	if r.pool.Stats().Idle > 1 {
		r.pool.CloseIdleConnections()
	}
	for range 10 {
		r.overlap(n)
		if r.pool.Stats().Idle == n {
			return
		}
		// On a busy machine net/http gives up a connection whose request it
		// has not seen written 50 ms after its response.
		r.pool.CloseIdleConnections()
	}
	r.Fatalf("%d connections idle, want %d", r.pool.Stats().Idle, n)
}

// overlap sends n requests that overlap.
func (r *rig) overlap(n int) {
	r.Helper()
	release := make(chan struct{})
	hold := faultserver.Do(faultserver.ReadBody{}, faultserver.Header{}, faultserver.Flush{}, faultserver.Wait{Until: release})
	var held []*http.Response
	for range n {
		r.srv.Next(hold)
		r.parks++
		resp, err := r.pool.RoundTrip(r.request("GET", "/park", nil))
		if err != nil {
			r.Fatalf("park: %v", err)
		}
		held = append(held, resp)
	}
	close(release)
	for _, resp := range held {
		if err := drain(resp); err != nil {
			r.Fatalf("park: %v", err)
		}
	}
}

// request makes a request with an ID that no other of the rig has.
func (r *rig) request(method, path string, body io.Reader) *http.Request {
	r.Helper()
	return r.requestIn(context.Background(), method, path, body)
}

func (r *rig) requestIn(ctx context.Context, method, path string, body io.Reader) *http.Request {
	r.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.srv.URL(path), body)
	if err != nil {
		r.Fatal(err)
	}
	r.ids++
	req.Header.Set("X-Request-Id", fmt.Sprint("id-", r.ids))
	return req
}

// exchange sends req and reads its response to the end.
func exchange(rt http.RoundTripper, req *http.Request) (status int, body string, err error) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		if resp != nil {
			return 0, "", fmt.Errorf("both a response and an error: %w", err)
		}
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), errors.Join(err, resp.Body.Close())
}

func drain(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// wantOK sends req and checks the echo.
func (r *rig) wantOK(req *http.Request) {
	r.Helper()
	status, _, err := exchange(r.pool, req)
	if err != nil || status != http.StatusOK {
		r.Fatalf("%s %s: %d, %v", req.Method, req.URL.Path, status, err)
	}
}

// timesArrived returns how often the request was recorded by the server, and
// how often processed.
func (r *rig) timesArrived(req *http.Request) (arrived, processed int) {
	id := req.Header.Get("X-Request-Id")
	for _, rec := range r.srv.Requests() {
		if rec.ID == id {
			arrived++
			if rec.Processed {
				processed++
			}
		}
	}
	return arrived, processed
}

// wantNothingHeld checks that the pool holds nothing once its idle connections
// are closed.
func (r *rig) wantNothingHeld() {
	r.Helper()
	r.pool.CloseIdleConnections()
	if s := r.pool.Stats(); s.Open+s.Idle+s.Active+s.Dialing+s.Waiting+s.Requests != 0 || len(s.Origins) != 0 {
		r.Errorf("the pool still holds %+v", s)
	}
	if n := r.srv.Sockets().Open(); n != 0 {
		r.Errorf("%d sockets are still open", n)
	}
}

// oneShot is a body that can be read once and not be got again.
type oneShot struct{ io.Reader }

func newOneShot(s string) io.Reader { return oneShot{strings.NewReader(s)} }

func typeName(v any) string { return fmt.Sprintf("%T", v) }

func urlUser() *url.Userinfo { return url.UserPassword(secretUser, secretPass) }
