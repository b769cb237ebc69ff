package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
)

// everySecondFails is an upstream whose first, third, fifth … answer is 503.
func everySecondFails() *httptest.Server {
	var asked atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	}))
}

// A service that has an *http.Client takes plimsoll where that client is made:
// its transport, timeout and jar go into the Config, its redirect policy onto the
// new client, and the field Client is an *http.Client again, so that nothing else
// changes.
func ExampleNew() {
	upstream := everySecondFails()
	defer upstream.Close()

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 20
	own := &http.Client{Transport: transport, Timeout: 10 * time.Second, CheckRedirect: atMostThree} // as it was

	c, err := client.New(client.Config{Name: "prices", Transport: own.Transport.(*http.Transport), Timeout: own.Timeout, Jar: own.Jar})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if own.CheckRedirect != nil { // else client.CheckRedirect remains, which keeps credentials to their origin
		c.CheckRedirect = own.CheckRedirect // replaces it, so call it from there
	}
	own = c.Client

	resp, err := own.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// atMostThree is a redirect policy of the user's own. The call at its end is new:
// so the client's rule for credentials goes on to hold.
func atMostThree(req *http.Request, via []*http.Request) error {
	if len(via) >= 3 {
		return http.ErrUseLastResponse
	}
	return client.CheckRedirect(req, via)
}

// A configuration that makes no sense is an error that names the field.
func ExampleNew_invalid() {
	_, err := client.New(client.Config{RetryAfterCeiling: -time.Second})
	fmt.Println(err)
	// Output: client: Config.RetryAfterCeiling is -1s: use 0 for 60s, or a positive duration
}

// Where an http.RoundTripper is wanted, a Transport is the client without
// http.Client around it. Wrappers that add headers go outside, so that each
// attempt has them.
func ExampleNewTransport() {
	upstream := everySecondFails()
	defer upstream.Close()

	t, err := client.NewTransport(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()

	hc := &http.Client{Transport: withToken{t}}
	resp, err := hc.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	report, _ := client.ReportOf(resp)
	fmt.Println(resp.Status, "after", report.Attempts, "attempts")
	// Output: 200 OK after 2 attempts
}

// withToken is a RoundTripper of the user's own.
type withToken struct{ next http.RoundTripper }

func (w withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context()) // a RoundTripper must not change its request
	req.Header.Set("Authorization", "Bearer …")
	return w.next.RoundTrip(req)
}

// Base puts another RoundTripper in the place of the pool: the retries, the
// budget, the breaker and the telemetry are there, the recovery of dead
// connections is not.
func ExampleConfig_base() {
	upstream := everySecondFails()
	defer upstream.Close()

	c, err := client.New(client.Config{Base: withToken{http.DefaultTransport}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	resp, err := c.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	for _, level := range c.Stats().Budget {
		fmt.Println(level.Tokens, "of", level.Capacity, "tokens")
	}
	// Output:
	// 200 OK
	// 500 of 500 tokens
}

// A body that comes from any reader can be sent once only. Buffered makes it
// replayable, up to a limit.
func ExampleBuffered() {
	upstream := everySecondFails()
	defer upstream.Close()
	c, err := client.New(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	put := func(buffer bool) {
		body := io.LimitReader(endless('x'), 3) // stands for a file or a pipe
		req, err := http.NewRequest(http.MethodPut, upstream.URL, body)
		if err != nil {
			fmt.Println(err)
			return
		}
		if buffer {
			if req, err = client.Buffered(req, 1<<20); err != nil {
				fmt.Println(err)
				return
			}
		}
		resp, err := c.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		report, _ := client.ReportOf(resp)
		fmt.Printf("%s %q, not retried: %q\n", resp.Status, text, report.Skipped)
	}
	put(false)
	put(false) // the upstream is well by now
	put(true)
	// Output:
	// 503 Service Unavailable "", not retried: "body"
	// 200 OK "PUT xxx", not retried: ""
	// 200 OK "PUT xxx", not retried: ""
}

// endless reads as one letter for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
