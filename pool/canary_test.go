package pool_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// The tests of this file hold net/http to its faults: the pool works around
// each, and the day on which one is mended its test fails and says what can
// go. None of them uses the pool.

// mended says that net/http has lost a fault.
func mended(t *testing.T, what, remove string) {
	t.Helper()
	t.Errorf("net/http is mended: %s. In pool: %s", what, remove)
}

// What a canary says can go must be there: the names follow the code.
func TestCanariesNameWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("canary_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(\w+) \((\w+\.go)\)`).FindAllStringSubmatch(string(text), -1)
	for _, n := range names {
		code, err := os.ReadFile(n[2])
		if err != nil || !regexp.MustCompile(`\b`+n[1]+`\b`).Match(code) {
			t.Errorf("%s is not in %s (%v)", n[1], n[2], err)
		}
	}
	if len(names) < 7 {
		t.Errorf("only %d names", len(names))
	}
}

// connOf dials a client connection of net/http, without the pool.
func connOf(t *testing.T, fc faultserver.Config, tune func(*http.Transport)) (*faultserver.Server, *http.ClientConn) {
	t.Helper()
	srv := faultserver.Start(t, fc)
	b := srv.ClientTransport()
	if tune != nil {
		tune(b)
	}
	cc, err := b.NewClientConn(t.Context(), schemeOf(srv), srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return srv, cc
}

func schemeOf(srv *faultserver.Server) string {
	scheme, _, _ := strings.Cut(srv.URL(), ":")
	return scheme
}

// ask sends a request that must succeed.
func ask(t *testing.T, srv *faultserver.Server, cc *http.ClientConn) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/"), nil)
	if status, _, err := exchange(cc, req); err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
}

func TestNetHTTPStillPanicsWhenAClientConnOfALimitedTransportCloses(t *testing.T) {
	var socket net.Conn
	_, cc := connOf(t, faultserver.Config{}, func(b *http.Transport) {
		b.MaxConnsPerHost = 1
		dial := b.DialContext
		b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			var err error
			socket, err = dial(ctx, network, addr)
			return socket, err
		}
	})
	defer func() { socket.Close() }()
	panicked := func() (v any) {
		defer func() { v = recover() }()
		cc.Close()
		return nil
	}()
	if panicked == nil {
		mended(t, "ClientConn.Close works where Transport.MaxConnsPerHost is set", "newPrivate (base.go) need not leave the limits out, and may clone the base")
	} else if s, ok := panicked.(string); !ok || !strings.Contains(s, "connCount underflow") {
		t.Errorf("another panic: %v", panicked)
	}
}

// The first use of a Transport writes "h2" into its TLSClientConfig, which a
// clone takes for the caller's own and does not set HTTP/2 up.
func TestNetHTTPStillCannotCloneATransportThatSpeaksHTTP2(t *testing.T) {
	srv := faultserver.Start(t, faultserver.Config{Protocol: faultserver.H2})
	b := &http.Transport{}
	b.CloseIdleConnections() // a use
	if b.TLSClientConfig == nil {
		mended(t, "the use of a Transport leaves its TLSClientConfig alone", "the copying in newPrivate (base.go), which may clone the base")
		return
	}
	b.TLSClientConfig.RootCAs = srv.ClientPool()
	cc, err := b.Clone().NewClientConn(t.Context(), "https", srv.Addr())
	if err == nil {
		cc.Close()
		mended(t, "a clone of a Transport on which HTTP/2 was set up makes client connections", "newPrivate (base.go) may clone the base")
	} else if !strings.Contains(err.Error(), "does not support NewClientConn") {
		t.Errorf("another error: %v", err)
	}
}

// The hook is documented to run when InFlight decreases. It does not where a
// request has ended before RoundTrip looks.
func TestNetHTTPStillLosesCallsOfTheStateHook(t *testing.T) {
	srv, cc := connOf(t, faultserver.Config{Protocol: faultserver.H2C}, nil)
	defer cc.Close()
	var calls atomic.Int64
	cc.SetStateHook(func(*http.ClientConn) { calls.Add(1) })
	const n = 300
	for range n {
		req, _ := http.NewRequestWithContext(t.Context(), "HEAD", srv.URL("/"), nil)
		if _, _, err := exchange(cc, req); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls.Load(); got >= n {
		mended(t, "each request that ends runs ClientConn's state hook", "watch (conn.go) may do more than tell a death, and release need not ask the connection")
	}
}

func TestNetHTTPStillTellsNobodyAboutGoAwayOnAnIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, cc := connOf(t, faultserver.Config{Protocol: faultserver.H2, Memory: true}, nil)
		defer cc.Close()
		ask(t, srv, cc)
		synctest.Wait()
		var calls atomic.Int64
		cc.SetStateHook(func(*http.ClientConn) { calls.Add(1) })
		synctest.Wait()
		before := calls.Load()
		srv.GoAway(http2.ErrCodeNo)
		synctest.Wait()
		if calls.Load() != before || cc.Err() != nil || srv.Stats().Open == 0 {
			mended(t, "GOAWAY on an idle HTTP/2 connection closes it or runs the state hook", "leaving in vitality (conn.go) and its uses")
		}
		if n := cc.Available(); n != 0 {
			t.Errorf("Available is %d after GOAWAY", n)
		}
	})
}

func TestNetHTTPStillLeavesRequestBodiesOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, cc := connOf(t, faultserver.Config{Memory: true}, nil)
		defer cc.Close()
		ask(t, srv, cc)
		invalid := &closeCounter{Reader: strings.NewReader("x")}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL("/"), invalid)
		req.Header["bad name"] = []string{"x"}
		if _, err := cc.RoundTrip(req); err == nil {
			t.Fatal("the request was valid")
		}
		synctest.Wait()
		srv.KillIdle(faultserver.FIN)
		synctest.Wait()
		dead := &closeCounter{Reader: strings.NewReader("x")}
		req, _ = http.NewRequestWithContext(t.Context(), "POST", srv.URL("/"), dead)
		if _, err := cc.RoundTrip(req); err == nil {
			t.Fatal("the connection was alive")
		}
		synctest.Wait()
		if invalid.n.Load() > 0 && dead.n.Load() > 0 {
			mended(t, "ClientConn.RoundTrip closes the request's body on every path", "the closing of bodies in close (requestbody.go)")
		}
	})
}

// closeCounter is a body that counts Close.
type closeCounter struct {
	io.Reader
	n atomic.Int64
}

func (c *closeCounter) Close() error { c.n.Add(1); return nil }

func TestNetHTTPStillLeavesAContextBehindWhenAnHTTP1RoundTripFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, cc := connOf(t, faultserver.Config{Memory: true}, nil)
		defer cc.Close()
		parent := &parentContext{Context: context.Background(), done: make(chan struct{})}
		send := func() error {
			req, _ := http.NewRequestWithContext(parent, "GET", srv.URL("/"), nil)
			_, _, err := exchange(cc, req)
			synctest.Wait()
			return err
		}
		if err := send(); err != nil || parent.children() != 0 {
			t.Fatalf("after a response %d children are left, %v", parent.children(), err)
		}
		srv.KillIdle(faultserver.FIN)
		synctest.Wait()
		if err := send(); err == nil {
			t.Fatal("the connection was alive")
		}
		if parent.children() == 0 {
			mended(t, "a failed ClientConn.RoundTrip of HTTP/1 frees its context", "abort (sending.go) and the watch that calls it: the request's context may be passed down on HTTP/1 too")
		}
	})
}

// parentContext counts the contexts that have been made of it and have not
// ended.
type parentContext struct {
	context.Context
	done chan struct{}
	mu   sync.Mutex
	n    int // guarded by mu
}

func (p *parentContext) Done() <-chan struct{} { return p.done }

// AfterFunc is what package context calls for a child, and stop when that ends.
func (p *parentContext) AfterFunc(func()) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	return sync.OnceValue(func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.n--
		return true
	})
}

func (p *parentContext) children() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func TestNetHTTPStillGivesAReservationToWhoeverComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, cc := connOf(t, faultserver.Config{Protocol: faultserver.H2, Memory: true}, nil)
		defer cc.Close()
		ask(t, srv, cc)
		synctest.Wait()
		if err := cc.Reserve(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		srv.Next(faultserver.Do(faultserver.Hang{}))
		done := make(chan error, 1)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL("/"), nil)
			_, err := cc.RoundTrip(req) // of somebody who has reserved nothing
			done <- err
		}()
		synctest.Wait()
		if n := cc.InFlight(); n != 1 {
			mended(t, "an HTTP/2 RoundTrip without a reservation leaves the reservations of others alone", "vitality (conn.go) may reserve instead of counting")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestNetHTTPStillOffersAClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cc := connOf(t, faultserver.Config{Protocol: faultserver.H2, Memory: true}, nil)
		cc.Close()
		<-time.After(time.Second)
		if cc.Err() == nil {
			t.Fatal("the connection is not closed")
		}
		if cc.Available() == 0 {
			mended(t, "a closed HTTP/2 connection that was never used says that it is not available", "the case of a connection that never served in vitality (conn.go)")
		}
	})
}
