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

// Behind a load balancer that decides per connection, a connection that lives
// for ever stays with one backend for ever: new backends get nothing, and one
// that is drained keeps its share. MaxConnLifetime bounds that.
func ExampleConfig_maxConnLifetime() {
	var backends []net.Addr
	for _, name := range []string{"old", "new"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
		defer s.Close()
		backends = append(backends, s.Listener.Addr())
	}
	dials := 0
	closed := make(chan events.ConnCause, 1)
	p, err := pool.New(pool.Config{
		Base: &http.Transport{
			MaxIdleConnsPerHost: 16,
			// The balancer: each new connection goes to the next backend.
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				backend := backends[dials%len(backends)]
				dials++
				return new(net.Dialer).DialContext(ctx, network, backend.String())
			},
		},
		MaxConnLifetime: 50 * time.Millisecond, // minutes, in earnest
		Hooks:           &events.Hooks{ConnClosed: func(_ context.Context, e events.ConnClosed) { closed <- e.Cause }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	ask := func() {
		resp, err := (&http.Client{Transport: p}).Get("http://prices.internal/")
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s\n", body)
	}
	ask()
	fmt.Println("closed:", <-closed)
	ask()
	// Output:
	// old
	// closed: lifetime
	// new
}

// MaxConnsPerHost protects the backends, and MaxConnWait the callers: a request
// that finds no connection in time fails with the numbers that say why, before
// its own deadline does.
func ExampleConfig_maxConnWait() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer s.Close()
	p, err := pool.New(pool.Config{
		Base:        &http.Transport{MaxConnsPerHost: 1},
		MaxConnWait: 20 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	hc := &http.Client{Transport: p}
	holder, err := hc.Get(s.URL) // holds the connection until its body is read or closed
	if err != nil {
		fmt.Println(err)
		return
	}
	defer holder.Body.Close()
	_, err = hc.Get(s.URL)
	if wait, ok := errors.AsType[*pool.WaitError](err); ok {
		fmt.Println("limit", wait.Limit, "waited long enough:", wait.Waited >= 20*time.Millisecond, "timeout:", wait.Timeout())
	}
	// Output:
	// limit 1 waited long enough: true timeout: true
}
