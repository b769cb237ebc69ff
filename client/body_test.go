package client

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestMaxResponseBytesDeliversUpToTheCap(t *testing.T) {
	for _, row := range []struct {
		size int
		ok   bool
	}{{99, true}, {100, true}, {101, false}, {100_000, false}} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{MaxResponseBytes: 100}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, strings.Repeat("x", row.size))
			}))
			resp, err := r.client.Get(r.url)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			var large *BodyTooLargeError
			if row.ok != (err == nil) || !row.ok && (!errors.As(err, &large) || large.Limit != 100) {
				t.Errorf("%d bytes: error %v", row.size, err)
			}
			if want := min(row.size, 100); len(data) != want {
				t.Errorf("%d bytes: %d delivered, want %d", row.size, len(data), want)
			}
			done := eventstest.One[events.CallDone](t, r.rec)
			if escaped := done.Outcome == events.OutcomeEscaped; escaped == row.ok {
				t.Errorf("%d bytes: CallDone %+v", row.size, done)
			}
		})
	}
}

func TestABodyPastItsCapIsClosedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		source := &closeCounter{Reader: strings.NewReader("too large")}
		r := newRig(t, Config{MaxResponseBytes: 3, Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: source}, nil
		})}, statuses("200"))
		resp, err := r.client.Get(r.url)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if _, again := resp.Body.Read(make([]byte, 1)); err == nil || again != err {
			t.Errorf("read %q, %v, and then %v", data, err, again)
		}
		if source.closed.Load() == 0 {
			t.Error("the body is open, and nobody will read it")
		}
		resp.Body.Close()
	})
}

func TestTheLargestCapIsNoCap(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{MaxResponseBytes: math.MaxInt64}, statuses("200"))
		if _, body, err := r.get(); err != nil || body != "body of 200" {
			t.Errorf("%q, %v", body, err)
		}
	})
}

func TestTheDrainIsPartOfTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		calls := 0
		r := newRig(t, Config{MaxTotalRetryDuration: 2*time.Second + drainTime/2}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if calls++; calls == 1 {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(503)
				w.(http.Flusher).Flush()
				<-req.Context().Done() // its body takes longer than is waited for
			}
		}))
		start := time.Now()
		resp, _, err := r.get()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
		if report, _ := ReportOf(resp); report.Backoff != 2*time.Second {
			t.Errorf("report %+v", report)
		}
	})
}

func TestTheDrainDoesNotOutlastTheTotalRetryTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{MaxTotalRetryDuration: drainTime / 5, Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(503)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}))
		start := time.Now()
		_, _, err := r.get()
		if report, _ := ReportOfError(err); report.Skipped != events.SkipDeadline {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took != drainTime/5 {
			t.Errorf("took %v, want %v", took, drainTime/5)
		}
		balanced(t, r)
	})
}

func TestBodyIdleTimeoutEndsASilentBodyAndNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{BodyIdleTimeout: 5 * time.Second}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			for range 10 {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				<-time.After(4 * time.Second)
			}
			<-req.Context().Done()
		}))
		start := time.Now()
		resp, err := r.client.Get(r.url)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var idle *BodyIdleError
		if !errors.As(err, &idle) || idle.Idle != 5*time.Second || string(data) != "xxxxxxxxxx" {
			t.Errorf("%q, %v", data, err)
		}
		if took := time.Since(start); took != 41*time.Second {
			t.Errorf("took %v, want 41s", took)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeEscaped || done.Class != events.ClassTimeout {
			t.Errorf("CallDone %+v", done)
		}
		synctest.Wait()
	})
}

func TestTheDrainIsBoundedInTimeAndSize(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, req *http.Request){
		"slow": func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(503)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		},
		"large": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			io.WriteString(w, strings.Repeat("x", 10<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				calls := 0
				r := newRig(t, Config{Retry: RetryPolicy{BaseDelay: 1, MaxDelay: 1}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if calls++; calls == 1 {
						answer(w, req)
					}
				}))
				start := time.Now()
				resp, _, err := r.get()
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("got %v, %v", resp, err)
				}
				if took := time.Since(start); took > 50*time.Millisecond+1 {
					t.Errorf("took %v, want at most 50ms", took)
				}
			})
		})
	}
}

func TestAResponseTooLargeToKeepIsAnErrorWhenItsRetryIsRefusedAfterTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := breakers(t, 5)
		r := newRig(t, Config{Breaker: b}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(503)
			io.WriteString(w, strings.Repeat("x", 1<<20))
		}))
		time.AfterFunc(time.Second, func() {
			for range 5 {
				if p, err := b.Admit(context.Background(), partition); err == nil {
					p.Failure()
				}
			}
		})
		_, _, err := r.get()
		var e *Error
		if !errors.As(err, &e) || e.Skipped != events.SkipBreaker || !strings.Contains(err.Error(), "status 503") {
			t.Errorf("error %v", err)
		}
		balanced(t, r)
	})
}

func TestCookiesOfRejectedAttemptsAreKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		jar, _ := cookiejar.New(nil)
		calls := 0
		r := newRig(t, Config{Jar: jar}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls++; calls == 1 {
				http.SetCookie(w, &http.Cookie{Name: "sticky", Value: "node2"})
				w.WriteHeader(503)
			}
		}))
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(r.url + "/path")
		if got := jar.Cookies(u); len(got) != 1 || got[0].Value != "node2" {
			t.Errorf("cookies %v", got)
		}
	})
}

func TestPeekBodyLeavesTheBodyIntact(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var peeked []string
		r := newRig(t, Config{Retry: RetryPolicy{RetryIf: func(_ context.Context, try Try) Verdict {
			for _, n := range []int{0, 4, 100, 4} {
				b, err := try.PeekBody(n)
				if err != nil {
					t.Error(err)
				}
				peeked = append(peeked, string(b))
			}
			return Stop
		}}}, statuses("503"))
		_, body, err := r.get()
		if err != nil || body != "body of 503" {
			t.Fatalf("got %q, %v", body, err)
		}
		if got := strings.Join(peeked, "|"); got != "|body|body of 503|body" {
			t.Errorf("peeked %q", got)
		}
		if b, err := (Try{Err: errBoom}).PeekBody(10); b != nil || err != nil {
			t.Errorf("without a response: %q, %v", b, err)
		}
	})
}

func TestBuffered(t *testing.T) {
	for _, row := range []struct {
		body  string
		limit int64
		err   string
	}{
		{"12345", 5, ""},
		{"12345", 6, ""},
		{"", 5, ""},
		{"123456", 5, "larger than the limit of 5 bytes"},
		{"12345", 0, "limit is 0"},
		{"12345", -1, "limit is -1"},
	} {
		source := &closeCounter{Reader: strings.NewReader(row.body)}
		req, _ := http.NewRequest(http.MethodPut, "http://origin.test", source)
		out, err := Buffered(req, row.limit)
		if n := source.closed.Load(); n != 1 {
			t.Errorf("%+v: the source was closed %d times", row, n)
		}
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%+v: error %v", row, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", row, err)
			continue
		}
		if out.ContentLength != int64(len(row.body)) || req.GetBody != nil || out == req {
			t.Errorf("%+v: length %d", row, out.ContentLength)
		}
		for range 2 {
			b, _ := out.GetBody()
			if data, _ := io.ReadAll(b); string(data) != row.body {
				t.Errorf("%+v: replays as %q", row, data)
			}
		}
		if data, _ := io.ReadAll(out.Body); string(data) != row.body {
			t.Errorf("%+v: body %q", row, data)
		}
	}
	req, _ := http.NewRequest(http.MethodPut, "http://origin.test", strings.NewReader("x"))
	if out, err := Buffered(req, 1); err != nil || out != req {
		t.Errorf("a replayable request: %v %v", out, err)
	}
	req, _ = http.NewRequest(http.MethodPut, "http://origin.test", io.MultiReader(strings.NewReader("x"), iotestErr{}))
	if _, err := Buffered(req, 10); !errors.Is(err, errBoom) {
		t.Errorf("a broken source: %v", err)
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errBoom }

func TestABodyThatIsClosedUnreadAfterACancellationEndsTheCallAsCanceled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, statuses("200"))
		ctx, cancel := context.WithCancel(context.Background())
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		resp.Body.Close()
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeCanceled || done.Class != events.ClassCanceled {
			t.Errorf("CallDone %+v", done)
		}
	})
}
