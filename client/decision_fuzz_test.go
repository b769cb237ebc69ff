package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// script turns fuzzed bytes into decisions; past its end it says 0.
type script struct{ data []byte }

func (s *script) next(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// scripted is a Base whose every answer comes from a script, with a body that
// counts its closings.
type scripted struct {
	*script
	bodies []*closeCounter
	cancel context.CancelFunc

	wanted []int         // attempts of the call that were to be retried, whatever the gates said
	asked  time.Duration // time that RetryIf took
}

// slow is a body that takes its time for each Read, until it is closed.
type slow struct {
	r      io.Reader
	time   time.Duration
	closed chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.time):
		return s.r.Read(p[:min(len(p), 4096)])
	case <-s.closed:
		return 0, http.ErrBodyReadAfterClose
	}
}

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	<-time.After(time.Duration(s.next(4)) * 700 * time.Millisecond)
	if s.next(12) == 1 {
		s.cancel()
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	switch s.next(16) {
	case 0, 1:
		return nil, io.ErrUnexpectedEOF
	case 2:
		return nil, fmt.Errorf("read: %w", syscall.ECONNRESET)
	case 3:
		return nil, errors.New("no such thing")
	case 4:
		if s.next(3) == 1 {
			panic(errBoom)
		}
	}
	status := []int{200, 204, 302, 404, 408, 418, 429, 500, 502, 503, 504}[s.next(11)]
	body := &closeCounter{Reader: strings.NewReader(strings.Repeat("b", s.next(200)*700))}
	if s.next(4) == 1 {
		body.first = make(chan struct{})
		body.Reader = &slow{body.Reader, time.Duration(s.next(40)) * time.Millisecond, body.first}
	}
	s.bodies = append(s.bodies, body)
	header := http.Header{}
	if after := []string{"", "", "", "0", "1", "3", "90", "-1", "9223372036854775807", "junk"}[s.next(10)]; after != "" {
		header.Set("Retry-After", after)
	}
	return &http.Response{StatusCode: status, Header: header, Body: body, Request: req, ContentLength: -1, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// FuzzDecision drives calls through random outcomes, verdicts, deadlines,
// cancellations and panics, and checks what must always hold.
func FuzzDecision(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x00\x00\x00\x05\x09", "all zeros is a success", "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
		"\x03\x01\x00\x05\x09\x00\x05\x05\x09\x01\x04\x03\x02\x01", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", strings.Repeat("\x07\x00\x05\x08", 30),
		// A slow body before a wait that takes all of the total retry time.
		"\x01\x1e\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x05\x09\xc7\x01\x27\x04",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { decideAtRandom(t, &script{data}) })
	})
}

func decideAtRandom(t *testing.T, s *script) {
	base := &scripted{script: s}
	total := []time.Duration{0, time.Second, 5 * time.Second, -1}[s.next(4)]
	bucket := capacity(t, 10+s.next(40))
	gates, err := breaker.New(breaker.Config{ConsecutiveFailures: 1 + s.next(6), Cooldown: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	policy := RetryPolicy{MaxRetries: s.next(5) - 1, BaseDelay: 100 * time.Millisecond, MaxDelay: 2 * time.Second, Overrun: Overrun(s.next(2))}
	opinionated := s.next(2) == 1
	policy.RetryIf = func(ctx context.Context, try Try) Verdict {
		verdict := Default
		if opinionated {
			start := time.Now()
			if s.next(4) == 1 {
				_, _ = try.PeekBody(s.next(100))
			}
			base.asked += time.Since(start)
			if s.next(9) == 1 {
				panic(errBoom)
			}
			verdict = Verdict(s.next(3))
		}
		if verdict == Retry || verdict == Default && try.BuiltIn == Retry {
			base.wanted = append(base.wanted, try.Attempt)
		}
		return verdict
	}
	rec := eventstest.NewRecorder()
	cfg := Config{Base: base, NoTelemetry: true, Hooks: rec.Hooks(), Budget: bucket, Retry: policy, MaxTotalRetryDuration: total}
	if s.next(2) == 1 {
		cfg.Breaker = gates
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 1 + s.next(4) {
		oneRandomCall(t, s, base, c, rec, total)
		for key, l := range bucket.Levels() {
			if l.Tokens < 0 || l.Tokens > l.Capacity || l.Reserved != 0 {
				t.Fatalf("%s: %+v", key, l)
			}
		}
	}
	synctest.Wait()
	for i, b := range base.bodies {
		if n := b.closed.Load(); n != 1 {
			t.Errorf("response body %d was closed %d times\n%v", i, n, rec)
		}
	}
	var reserved, kept int
	for _, e := range eventstest.All[events.BudgetSettled](rec) {
		reserved += e.Reserved
		kept += e.Kept
	}
	var taken int
	for _, e := range eventstest.All[events.BudgetReserved](rec) {
		taken += e.Reserved
	}
	if taken != reserved || kept > taken {
		t.Errorf("%d tokens reserved, %d settled, %d kept", taken, reserved, kept)
	}
}

func oneRandomCall(t *testing.T, s *script, base *scripted, c *Client, rec *eventstest.Recorder, total time.Duration) {
	rec.Reset()
	base.wanted, base.asked = nil, 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	base.cancel = cancel
	if d := s.next(4); d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(d)*1300*time.Millisecond)
		defer stop()
	}
	method := []string{"GET", "PUT", "POST"}[s.next(3)]
	req, _ := http.NewRequestWithContext(ctx, method, "http://origin.test/", nil)
	source := &closeCounter{Reader: strings.NewReader("body")}
	sources := []*closeCounter{source}
	if method != "GET" {
		req.Body, req.ContentLength = source, 4
		if s.next(3) != 1 {
			req.GetBody = func() (io.ReadCloser, error) {
				if s.next(6) == 1 {
					return nil, errBoom
				}
				sources = append(sources, &closeCounter{Reader: strings.NewReader("body")})
				return sources[len(sources)-1], nil
			}
		}
	}
	var resp *http.Response
	var err error
	var took time.Duration
	value, ended := caught(func() {
		start := time.Now()
		resp, err = c.Transport.RoundTrip(req)
		took = time.Since(start) - base.asked
		if err == nil && s.next(2) == 1 {
			io.Copy(io.Discard, resp.Body)
		}
		if err == nil {
			resp.Body.Close()
		}
	})
	switch {
	case value != nil && value != any(errBoom):
		t.Fatalf("panic %v\n%v", value, rec)
	case !ended && value == nil:
		t.Fatal("the call did not come back")
	case ended && (resp == nil) == (err == nil):
		t.Fatalf("response %v and error %v", resp, err)
	}
	synctest.Wait()
	if method != "GET" {
		for i, b := range sources {
			if n := b.closed.Load(); n != 1 {
				t.Errorf("request body %d was closed %d times\n%v", i, n, rec)
			}
		}
	}
	checkTimeline(t, rec, total, ended)
	if !ended {
		return
	}
	for _, e := range eventstest.All[events.AttemptDone](rec) {
		took -= e.Duration
	}
	if total == 0 {
		total = defaultTotal
	}
	if total > 0 && took > total {
		t.Errorf("all waits together took %v of %v\n%v", took, total, rec)
	}
	if ctx.Err() == context.Canceled {
		return // a wait that the caller cuts is neither
	}
	for _, attempt := range base.wanted {
		n := 0
		for _, e := range eventstest.All[events.RetryArmed](rec) {
			if e.Attempt == attempt {
				n++
			}
		}
		for _, e := range eventstest.All[events.RetrySkipped](rec) {
			if e.Attempt == attempt {
				n++
			}
		}
		if n != 1 {
			t.Errorf("attempt %d: a retry was wanted, and armed or skipped %d times\n%v", attempt, n, rec)
		}
	}
}

// checkTimeline checks the events of one call.
func checkTimeline(t *testing.T, rec *eventstest.Recorder, total time.Duration, ended bool) {
	attempts := eventstest.Count[events.AttemptStarted](rec)
	armed, skipped := eventstest.All[events.RetryArmed](rec), eventstest.All[events.RetrySkipped](rec)
	if started, done := eventstest.Count[events.CallStarted](rec), eventstest.Count[events.CallDone](rec); started != 1 || done != 1 {
		t.Errorf("%d calls started, %d done\n%v", started, done, rec)
	}
	if done := eventstest.Count[events.AttemptDone](rec); done != attempts {
		t.Errorf("%d attempts started, %d done\n%v", attempts, done, rec)
	}
	if ended && attempts > 0 && len(armed) != attempts-1 {
		t.Errorf("%d attempts, %d armed\n%v", attempts, len(armed), rec)
	}
	if len(skipped) > 1 {
		t.Errorf("%d skips\n%v", len(skipped), rec)
	}
	var waited time.Duration
	for _, e := range armed {
		waited += e.Waited
		if len(skipped) == 1 && skipped[0].Attempt == e.Attempt {
			t.Errorf("attempt %d: both armed and skipped\n%v", e.Attempt, rec)
		}
	}
	for _, e := range eventstest.All[events.ThrottleWaited](rec) {
		waited += e.Wait
	}
	if total == 0 {
		total = defaultTotal
	}
	if total > 0 && waited > total {
		t.Errorf("waited %v of %v\n%v", waited, total, rec)
	}
}
