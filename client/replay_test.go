package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// rewound is a reader that GetBody rewinds, as one does with a file. The race
// detector sees a Read that runs meanwhile.
type rewound struct{ s *strings.Reader }

func (r rewound) Read(p []byte) (int, error) { return r.s.Read(p[:min(len(p), 64)]) }

func TestNobodyReadsABodyThatGetBodyRewinds(t *testing.T) {
	const size = 1 << 20
	var writers sync.WaitGroup
	calls := 0
	c := newClient(t, Config{NoTelemetry: true, Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1}, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		// An early answer, while the body is still being written.
		calls++
		early, started := calls < 4, make(chan struct{})
		done := make(chan int64, 1)
		writers.Go(func() {
			defer req.Body.Close()
			_, _ = io.CopyN(io.Discard, req.Body, 1000)
			close(started)
			n, _ := io.Copy(io.Discard, req.Body)
			done <- 1000 + n
		})
		<-started
		if early {
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		}
		if n := <-done; n != size {
			t.Errorf("the last attempt read %d bytes of %d", n, size)
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})})
	src := rewound{strings.NewReader(strings.Repeat("x", size))}
	req, _ := http.NewRequest(http.MethodPut, "http://origin.test", io.NopCloser(src))
	req.ContentLength = size
	req.GetBody = func() (io.ReadCloser, error) {
		_, err := src.s.Seek(0, io.SeekStart)
		return io.NopCloser(src), err
	}
	resp, err := c.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("got %v, %v", resp, err)
	}
	writers.Wait()
}

func TestABodyThatIsStillReadIsWaitedForWithinTheTotalRetryTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		let := make(chan struct{})
		r := newRig(t, Config{
			MaxTotalRetryDuration: 5 * time.Second, Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1},
			Base: roundTripper(func(req *http.Request) (*http.Response, error) {
				go io.Copy(io.Discard, req.Body)
				synctest.Wait() // until it reads
				return &http.Response{StatusCode: 503, Body: io.NopCloser(strings.NewReader("why"))}, nil
			}),
		}, statuses("200"))
		req, _ := http.NewRequest(http.MethodPut, r.url, &blocked{let: let})
		req.ContentLength = 4
		req.GetBody = func() (io.ReadCloser, error) {
			t.Error("GetBody was asked while a Read runs")
			return http.NoBody, nil
		}
		start := time.Now()
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "why" {
			t.Errorf("body %q", body)
		}
		resp.Body.Close()
		if report, _ := ReportOf(resp); report.Skipped != events.SkipBody || time.Since(start) != 5*time.Second {
			t.Errorf("report %+v after %v", report, time.Since(start))
		}
		close(let)
		synctest.Wait()
		balanced(t, r)
	})
}

func TestWhatMayBeSentAgain(t *testing.T) {
	for _, row := range []struct {
		name   string
		method string
		set    func(*http.Request)
		policy RetryPolicy
		skip   events.SkipReason // "": it is sent again
	}{
		{name: "GET", method: "GET"},
		{name: "HEAD", method: "HEAD"},
		{name: "OPTIONS", method: "OPTIONS"},
		{name: "TRACE", method: "TRACE"},
		{name: "PUT", method: "PUT"},
		{name: "DELETE", method: "DELETE"},
		{name: "QUERY", method: "QUERY"},
		{name: "POST", method: "POST", skip: events.SkipMethod},
		{name: "PATCH", method: "PATCH", skip: events.SkipMethod},
		{name: "another method", method: "LOCK", skip: events.SkipMethod},
		{name: "Idempotency-Key", method: "POST", set: func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }},
		{name: "X-Idempotency-Key", method: "POST", set: func(r *http.Request) { r.Header.Set("X-Idempotency-Key", "k") }},
		{name: "an empty Idempotency-Key", method: "POST", set: func(r *http.Request) { r.Header.Set("Idempotency-Key", "") }, skip: events.SkipMethod},
		{name: "RetryNonIdempotent", method: "POST", policy: RetryPolicy{RetryNonIdempotent: true}},
		{name: "RetryNonIdempotent and a one-shot body", method: "POST", policy: RetryPolicy{RetryNonIdempotent: true}, set: func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(oneShot("x")), 1
		}, skip: events.SkipBody},
		{name: "an Idempotency-Key and a one-shot body", method: "POST", set: func(r *http.Request) {
			r.Header.Set("Idempotency-Key", "k")
			r.Body, r.ContentLength = io.NopCloser(oneShot("x")), 1
		}, skip: events.SkipBody},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				row.policy.MaxDelay = 1
				r := newRig(t, Config{Retry: row.policy}, statuses("502", "200"))
				req, _ := http.NewRequestWithContext(context.Background(), row.method, r.url, nil)
				if row.set != nil {
					row.set(req)
				}
				resp, err := r.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				want := 200
				if row.skip != "" {
					want = 502
				}
				if report, _ := ReportOf(resp); report.Skipped != row.skip || resp.StatusCode != want {
					t.Errorf("status %d, report %+v; want %d and %q", resp.StatusCode, report, want, row.skip)
				}
			})
		})
	}
}

func TestEveryAttemptSendsTheWholeBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for name, body := range map[string]io.Reader{
			"bytes": bytes.NewReader([]byte("payload")), "buffer": bytes.NewBufferString("payload"), "string": strings.NewReader("payload"), "buffered": oneShot("payload"),
		} {
			r := newRig(t, Config{Retry: RetryPolicy{MaxDelay: 1}}, statuses("503", "500", "200"))
			req, _ := http.NewRequest(http.MethodPut, r.url, body)
			req, err := Buffered(req, 100)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			hits := r.requests()
			if len(hits) != 3 {
				t.Errorf("%s: %d hits", name, len(hits))
			}
			for i, h := range hits {
				if h.body != "payload" {
					t.Errorf("%s: attempt %d sent %q", name, i+1, h.body)
				}
			}
			r.close()
		}
	})
}

func TestABodyThatIsMadeAgainAndNotSentIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 5)
		r := newRig(t, Config{Breaker: b}, statuses("503 Retry-After: 2"))
		time.AfterFunc(time.Second, func() { open(t, b) })
		req, _ := http.NewRequest(http.MethodPut, r.url, &closeCounter{Reader: strings.NewReader("x")})
		req.ContentLength = 1
		again := &closeCounter{Reader: strings.NewReader("x")}
		req.GetBody = func() (io.ReadCloser, error) { return again, nil }
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if report, _ := ReportOf(resp); report.Skipped != events.SkipBreaker || again.closed.Load() != 1 {
			t.Errorf("report %+v, the body was closed %d times", report, again.closed.Load())
		}
	})
}

func TestAGetBodyThatFailsIsNamedInTheError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Retry: RetryPolicy{MaxDelay: 1}}, answersInTurn("abort"))
		req, _ := http.NewRequest(http.MethodPut, r.url, strings.NewReader("x"))
		req.GetBody = func() (io.ReadCloser, error) { return nil, errBoom }
		_, err := r.client.Do(req)
		if report, _ := ReportOfError(err); report.Skipped != events.SkipBody || !errors.Is(err, io.EOF) || !errors.Is(err, errBoom) {
			t.Errorf("error %v", err)
		}
		if got := r.level(); got != 500 {
			t.Errorf("level %d", got)
		}
	})
}
