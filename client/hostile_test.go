package client

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// Transport.MaxResponseHeaderBytes bounds what a server can make a client hold
// before the body.
func TestAResponseHeaderIsBounded(t *testing.T) {
	const limit = 64 << 10
	fields := http.Header{}
	for i := range 4000 {
		fields.Set(fmt.Sprintf("X-Field-%d", i), strings.Repeat("v", 30))
	}
	hints := []faultserver.Step{faultserver.ReadBody{}}
	for range 200 {
		hints = append(hints, faultserver.Interim{Status: 103, Header: http.Header{"Link": {strings.Repeat("l", 1000)}}})
	}
	for _, row := range []struct {
		name   string
		script faultserver.Script
		ok     bool
	}{
		{"half of the limit", faultserver.HugeHeader(limit / 2), true},
		{"one large field", faultserver.HugeHeader(2 * limit), false},
		{"many fields", faultserver.RespondWith(200, fields, ""), false},
		{"1xx responses without an end", faultserver.Do(hints...), false},
	} {
		for _, p := range faultserver.Protocols() {
			t.Run(fmt.Sprint(row.name, "/", p), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					srv := faultserver.Start(t, faultserver.Config{Memory: true, Protocol: p})
					tr := srv.ClientTransport()
					tr.MaxResponseHeaderBytes = limit
					rec := eventstest.NewRecorder()
					c := newClient(t, Config{Transport: tr, NoTelemetry: true, Hooks: rec.Hooks()})
					srv.Next(row.script)
					resp, err := c.Post(srv.URL(), "text/plain", strings.NewReader("x")) // sent once
					if err == nil {
						resp.Body.Close()
					}
					if (err == nil) != row.ok {
						t.Fatalf("error %v", err)
					}
					if done := eventstest.One[events.CallDone](t, rec); (done.Outcome == events.OutcomeOK) != row.ok {
						t.Errorf("CallDone %+v, error %v", done, err)
					}
				})
			})
		}
	}
}

// zeros writes a gzip of zeros for as long as the client takes it, and tells
// when it takes no more.
func zeros(over chan<- int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		block := make([]byte, 1<<20)
		var n int64
		for n < 1<<30 {
			k, err := z.Write(block)
			n += int64(k)
			if err != nil {
				break
			}
		}
		over <- n
	})
}

func TestMaxResponseBytesEndsAGzipBomb(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const limit = 1 << 20
		over := make(chan int64, 1)
		r := newRig(t, Config{MaxResponseBytes: limit}, zeros(over))
		r.server.ErrorLog = quiet
		resp, err := r.client.Get(r.url)
		if err != nil {
			t.Fatal(err)
		}
		if !resp.Uncompressed {
			t.Error("the body is not decoded")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := io.Copy(io.Discard, resp.Body)
		runtime.ReadMemStats(&after)
		var large *BodyTooLargeError
		if !errors.As(err, &large) || large.Limit != limit || n != limit {
			t.Errorf("%d bytes, error %v, want %d", n, err, limit)
		}
		if _, again := resp.Body.Read(make([]byte, 1)); !errors.As(again, &large) {
			t.Errorf("the next Read gives %v", again)
		}
		resp.Body.Close()
		// The server is cut off long before its gigabyte.
		if sent := <-over; sent > 256<<20 {
			t.Errorf("the server got rid of %d bytes", sent)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("%d bytes were allocated", took)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped {
			t.Errorf("CallDone %+v", done)
		}
	})
}

func TestARejectedBombIsNotReadToItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		over := make(chan int64, 1)
		bomb := zeros(over)
		first := true
		r := newRig(t, Config{Retry: RetryPolicy{RetryIf: func(_ context.Context, try Try) Verdict {
			if _, err := try.PeekBody(1000); err != nil {
				t.Errorf("PeekBody: %v", err)
			}
			return Default
		}}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if first {
				first = false
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(http.StatusServiceUnavailable)
				bomb.ServeHTTP(w, req)
			}
		}))
		r.server.ErrorLog = quiet
		if resp, _, err := r.get(); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got %v, %v", resp, err)
		}
		if sent := <-over; sent > 512<<20 {
			t.Errorf("the server got rid of %d bytes", sent)
		}
	})
}

// Whatever a server writes into Retry-After, and however often, the waits of one
// call stay within its budget; those of the calls that were told of it too.
func TestRetryAfterParksNoCallBeyondItsBudget(t *testing.T) {
	const total = 10 * time.Second
	for _, value := range []string{
		"1", "3", "7", "10", "11", "59", "60", "61", "3600", "2147483647", "9223372036", "9223372036854775807", "18446744073709551616",
		"-1", "1e9", "0x10", "1.5", "59, 59", " 59", "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 2000 00:00:30 GMT", "Saturday, 01-Jan-00 00:00:59 GMT",
	} {
		for _, status := range []string{"429", "503"} {
			for _, overrun := range []Overrun{Return, Send} {
				t.Run(fmt.Sprintf("%s %s %v", status, value, overrun), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						r := newRig(t, Config{MaxTotalRetryDuration: total, Retry: RetryPolicy{Overrun: overrun, MaxRetries: 100}}, statuses(status+" Retry-After: "+value))
						for range 3 {
							start := time.Now()
							resp, _, err := r.get()
							if took := time.Since(start); took > total {
								t.Errorf("the call took %v: %v, %v", took, resp, err)
							}
							var throttled *ThrottledError
							if err != nil && !errors.As(err, &throttled) {
								t.Errorf("error %v", err)
							}
							if r, ok := ReportOf(resp); ok && r.Backoff+r.Throttled > total {
								t.Errorf("report %+v", r)
							}
						}
						// An hour later nothing of it is left.
						<-time.After(time.Hour)
						if _, ok := r.client.transport.throttles.Until(partition); ok {
							t.Error("the throttle lives for ever")
						}
						balanced(t, r)
					})
				})
			}
		}
	}
}

func TestRetryAfterParksNoCallBeyondItsDeadline(t *testing.T) {
	for _, value := range []string{"5", "59", "3600", "9223372036854775807"} {
		for _, overrun := range []Overrun{Return, Send} {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{MaxTotalRetryDuration: -1, Retry: RetryPolicy{Overrun: overrun, MaxRetries: 100}}, statuses("429 Retry-After: "+value))
				for range 3 {
					ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
					start := time.Now()
					_, _, err := r.do(ctx, http.MethodGet, nil)
					if took := time.Since(start); took > 12*time.Second {
						t.Errorf("Retry-After %s, %v: the call took %v: %v", value, overrun, took, err)
					}
					cancel()
				}
			})
		}
	}
}

// A server that never stops a body byte by byte is held by MaxResponseBytes, one
// that stops in the middle by BodyIdleTimeout, one that never ends its header by
// AttemptTimeout.
func TestASlowServerIsBounded(t *testing.T) {
	endless := func(piece time.Duration) faultserver.Script {
		return faultserver.Do(faultserver.ReadBody{}, faultserver.Header{Framing: faultserver.Chunked}, faultserver.Trickle{Size: 1 << 20, Every: piece})
	}
	for _, row := range []struct {
		name   string
		script faultserver.Script
		took   time.Duration
		want   func(error) bool
	}{
		{"a byte a second", endless(time.Second), 1000 * time.Second, func(err error) bool { _, ok := errors.AsType[*BodyTooLargeError](err); return ok }},
		{"a byte an hour", endless(time.Hour), 5 * time.Second, func(err error) bool { _, ok := errors.AsType[*BodyIdleError](err); return ok }},
		{"half a header", faultserver.Do(faultserver.HalfHeader{}, faultserver.Hang{}), 5 * time.Second, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		for _, p := range faultserver.Protocols() {
			t.Run(fmt.Sprint(row.name, "/", p), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					srv := faultserver.Start(t, faultserver.Config{Memory: true, Protocol: p})
					c := newClient(t, Config{
						Transport: srv.ClientTransport(), NoTelemetry: true, Retry: RetryPolicy{MaxRetries: -1},
						MaxResponseBytes: 1000, BodyIdleTimeout: 5 * time.Second, AttemptTimeout: 5 * time.Second,
					})
					srv.Next(row.script)
					start := time.Now()
					resp, err := c.Get(srv.URL())
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					if took := time.Since(start); !row.want(err) || took != row.took {
						t.Errorf("error %v after %v, want it after %v", err, took, row.took)
					}
					synctest.Wait()
				})
			})
		}
	}
}

// A URL that was put together by hand may have credentials or a query in its
// Host. The host of a request is in events, metrics, Stats and error texts.
func TestAHostThatIsNoneIsRefusedUnseen(t *testing.T) {
	for _, host := range []string{"user:s3cret@api.example.com", "s3cret@api.example.com:80", "api.example.com?key=s3cret", "api.example.com#s3cret"} {
		rec := eventstest.NewRecorder()
		sent := 0
		c := newClient(t, Config{NoTelemetry: true, Hooks: rec.Hooks(), Base: roundTripper(func(*http.Request) (*http.Response, error) {
			sent++
			return nil, errors.New("sent")
		})})
		body := &closeCounter{Reader: strings.NewReader("x")}
		req := &http.Request{Method: http.MethodPut, URL: &url.URL{Scheme: "http", Host: host, Path: "/a"}, Header: http.Header{}, Body: body}
		for range 2 {
			resp, err := c.transport.RoundTrip(req) //nolint:bodyclose // there is none
			if resp != nil || err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "client: Request.URL.Host") {
				t.Errorf("%q: %v, error %v", host, resp, err)
			}
		}
		if body.closed.Load() != 2 || sent != 0 || len(rec.Timeline()) != 0 || len(c.Stats().Budget) != 0 {
			t.Errorf("%q: body closed %d times of 2, %d sent, events %v, %+v", host, body.closed.Load(), sent, rec.Timeline(), c.Stats())
		}
	}
}
