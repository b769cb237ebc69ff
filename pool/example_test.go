package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// A pool is an http.RoundTripper over the settings of an http.Transport.
func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{
		Base:         &http.Transport{MaxConnsPerHost: 4, IdleConnTimeout: time.Minute},
		MaxConnWait:  time.Second,
		PingInterval: 30 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	client := &http.Client{Transport: p}
	for range 3 {
		resp, err := client.Get(srv.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	s := p.Stats()
	fmt.Println("dials:", s.Dials, "reuses:", s.Reuses, "idle:", s.Idle)
	// Output: dials: 1 reuses: 2 idle: 1
}

// The server closes idle connections; a PUT goes through all the same.
func Example_recovery() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()

	ended := make(chan events.ConnCause, 1)
	p, err := pool.New(pool.Config{Hooks: &events.Hooks{
		ConnClosed: func(_ context.Context, e events.ConnClosed) { ended <- e.Cause },
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	put := func() {
		req, err := http.NewRequest("PUT", srv.URL, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := p.RoundTrip(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	put()
	srv.CloseClientConnections()
	fmt.Println("closed by:", <-ended)
	put()
	// Output:
	// 200 OK
	// closed by: peer
	// 200 OK
}

// Every error has one class of a closed set, and says what can be done about
// it.
func ExampleClassOf() {
	p, err := pool.New(pool.Config{Base: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "plimsoll.invalid", IsNotFound: true}
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	req, err := http.NewRequest("GET", "http://plimsoll.invalid/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = p.RoundTrip(req)
	fmt.Println(err)
	dial, ok := errors.AsType[*pool.DialError](err)
	fmt.Println("dial error:", ok, "phase:", dial.Phase)
	fmt.Println("class:", pool.ClassOf(err), "recoverable:", pool.Recoverable(err), "unprocessed:", pool.Unprocessed(err))
	// Output:
	// pool: dial http://plimsoll.invalid:80 (dns): lookup plimsoll.invalid: no such host
	// dial error: true phase: dns
	// class: dns recoverable: false unprocessed: true
}
