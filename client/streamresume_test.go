package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// flaky serves its parts in turn, one a request: an event stream that is cut,
// or ended in order where the part begins with "end:", or a status. After the
// last one it answers 204.
func flaky(parts ...string) http.Handler {
	i := 0
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if i++; i > len(parts) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		part := parts[i-1]
		if status, err := strconv.Atoi(part); err == nil {
			w.WriteHeader(status)
			return
		}
		body, inOrder := strings.CutPrefix(part, "end:")
		feed(func(_ *http.Request, write func(string)) {
			write(body)
			if !inOrder {
				panic(http.ErrAbortHandler)
			}
		}).ServeHTTP(w, req)
	})
}

func TestAReconnectionIsARetryOfTheLostConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, flaky("id: a\ndata: 1\n\n", "503", "data: 2\n\n", "end:data: 3\n\n"))
		s := r.stream(context.Background())
		got, err := collect(t, s)
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/a=1", "message/a=2", "message/a=3")
		want := "CallStarted AttemptStarted AttemptDone StreamOpened CallDone " +
			"CallStarted BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled StreamOpened CallDone " +
			"CallStarted BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled StreamOpened CallDone " +
			"CallStarted BudgetReserved RetryArmed AttemptStarted AttemptDone BudgetSettled CallDone StreamClosed"
		if kinds := r.kinds(); kinds != want {
			t.Errorf("events\n%s\nwant\n%s", kinds, want)
		}
		var steps []string
		for _, e := range eventstest.All[events.RetryArmed](r.rec) {
			steps = append(steps, fmt.Sprintf("%d-%d %s %d", e.Attempt, e.Next, e.Cause, e.Cost))
		}
		if got := strings.Join(steps, ", "); got != "1-2 transport 10, 2-3 status 10, 1-2 transport 10, 1-2 transport 10" {
			t.Errorf("retries armed: %s", got)
		}
		steps = nil
		for _, e := range eventstest.All[events.CallDone](r.rec) {
			steps = append(steps, fmt.Sprintf("%s/%s/%d", e.Outcome, e.Class, e.Attempts))
		}
		if got := strings.Join(steps, ", "); got != "ok/eof/1, recovered/eof/2, recovered//1, recovered//1" {
			t.Errorf("calls done: %s", got)
		}
		steps = nil
		for _, e := range eventstest.All[events.AttemptStarted](r.rec) {
			steps = append(steps, fmt.Sprintf("%d/%d", e.Attempt, e.Resend))
		}
		if got := strings.Join(steps, ", "); got != "1/0, 2/1, 3/2, 2/1, 2/1" {
			t.Errorf("attempts started: %s", got)
		}
		for i, e := range eventstest.All[events.StreamOpened](r.rec) {
			if e.Reconnects != i {
				t.Errorf("StreamOpened %d: %+v", i, e)
			}
		}
		if closed := r.over(events.StreamEnded); closed.Reconnects != 2 || closed.Events != 3 {
			t.Errorf("StreamClosed %+v", closed)
		}
		if s.LastEventID() != "a" {
			t.Errorf("last event ID %q", s.LastEventID())
		}
		for i, hit := range r.requests() {
			want := ""
			if i > 0 {
				want = "a"
			}
			if got := hit.header.Get("Last-Event-ID"); got != want || hit.header.Get("Accept") != "text/event-stream" {
				t.Errorf("request %d asks for what follows %q, want %q", i, got, want)
			}
		}
		if level := r.level(); level != 495 {
			t.Errorf("level %d, want 5 kept for the 503", level)
		}
	})
}

func TestWhatRefusesAReconnectionEndsTheStreamAndSaysWhy(t *testing.T) {
	const lost, ended = "data: 1\n\n", "end:data: 1\n\n"
	empty := capacity(t, 10)
	spend(t, empty, 10)
	post := func(body bool) func(*http.Request) {
		return func(req *http.Request) {
			req.Method = http.MethodPost
			if body {
				req.Header.Set("Idempotency-Key", "k")
				req.Body = &closeCounter{Reader: strings.NewReader("body")}
			}
		}
	}
	for _, row := range []struct {
		name    string
		cfg     Config
		parts   []string
		request func(*http.Request)
		before  func(r *rig) // the loss
		timeout time.Duration
		reason  events.StreamReason
		skip    events.SkipReason
		hits    int
	}{
		{name: "bucket, lost", cfg: Config{Budget: empty}, parts: []string{lost}, reason: events.StreamTransport, skip: events.SkipBucket, hits: 1},
		{name: "bucket, ended in order", cfg: Config{Budget: empty}, parts: []string{ended}, reason: events.StreamEnded, skip: events.SkipBucket, hits: 1},
		{name: "disabled", cfg: Config{Retry: RetryPolicy{MaxRetries: -1}}, parts: []string{lost}, reason: events.StreamTransport, skip: events.SkipDisabled, hits: 1},
		{name: "kill switch", parts: []string{lost}, before: func(r *rig) { r.client.SetRetries(false) }, reason: events.StreamTransport, skip: events.SkipDisabled, hits: 1},
		{name: "method", parts: []string{lost}, request: post(false), reason: events.StreamTransport, skip: events.SkipMethod, hits: 1},
		{name: "body", parts: []string{lost}, request: post(true), reason: events.StreamTransport, skip: events.SkipBody, hits: 1},
		{name: "deadline", parts: []string{"retry: 10000\n" + lost}, timeout: 5 * time.Second, reason: events.StreamTransport, skip: events.SkipDeadline, hits: 1},
		{name: "total retry time", cfg: Config{MaxTotalRetryDuration: 5 * time.Second}, parts: []string{"retry: 10000\n" + lost}, reason: events.StreamTransport, skip: events.SkipDeadline, hits: 1},
		{name: "breaker", cfg: Config{Breaker: breakers(t, 1)}, parts: []string{lost}, before: func(r *rig) {
			p, err := r.client.transport.cfg.Breaker.Admit(context.Background(), partition)
			if err != nil {
				t.Error(err)
				return
			}
			p.Failure()
		}, reason: events.StreamRejected, skip: events.SkipBreaker, hits: 1},
		{name: "attempts, statuses", cfg: Config{Retry: RetryPolicy{MaxRetries: 2}}, parts: []string{lost, "503", "503"}, reason: events.StreamStatus, skip: events.SkipAttempts, hits: 3},
		{name: "attempts, nothing comes", cfg: Config{Retry: RetryPolicy{MaxRetries: 3}}, parts: []string{lost, ":\n", "503", ":\n", "x"}, reason: events.StreamTransport, skip: events.SkipAttempts, hits: 4},
		{name: "attempts, nothing came from the begin", cfg: Config{Retry: RetryPolicy{MaxRetries: 2}}, parts: []string{"503", ":\n", "end:", "x"}, reason: events.StreamEnded, skip: events.SkipAttempts, hits: 3},
		{name: "RetryIf", cfg: Config{Retry: RetryPolicy{RetryIf: func(_ context.Context, try Try) Verdict {
			if try.Response != nil || try.Err == nil || try.Class != events.ClassEOF || try.Attempt != 1 || try.BuiltIn != Retry {
				t.Errorf("Try %+v", try)
			}
			return Stop
		}}}, parts: []string{lost}, reason: events.StreamTransport, hits: 1},
		{name: "a status that is not retried", parts: []string{lost, "404"}, reason: events.StreamStatus, hits: 2},
		{name: "no stream any more", parts: []string{lost, "200"}, reason: events.StreamContentType, hits: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				row.cfg.Stream.Resume = true
				retryIf := row.cfg.Retry.RetryIf
				if retryIf != nil {
					row.cfg.Retry.RetryIf = func(ctx context.Context, try Try) Verdict {
						if try.Response != nil {
							return Default // of the opening
						}
						return retryIf(ctx, try)
					}
				}
				r := newRig(t, row.cfg, flaky(row.parts...))
				ctx := context.Background()
				if row.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.timeout)
					defer cancel()
				}
				req := r.request(ctx)
				if row.request != nil {
					row.request(req)
				}
				s, err := r.client.Stream(req)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if row.before != nil {
					row.before(r)
				}
				_, err = collect(t, s)
				if reasonOf(err) != row.reason {
					t.Fatalf("error %v, want reason %q", err, row.reason)
				}
				var mine *Error
				if errors.As(err, &mine) != (row.skip != "") || mine != nil && mine.Skipped != row.skip {
					t.Errorf("error %v, want it skipped because of %q", err, row.skip)
				}
				skips := eventstest.All[events.RetrySkipped](r.rec)
				if len(skips) > 1 || (len(skips) == 1) != (row.skip != "") || len(skips) == 1 && skips[0].Reason != row.skip {
					t.Errorf("RetrySkipped %+v", skips)
				}
				if len(r.requests()) != row.hits {
					t.Errorf("%d requests, want %d", len(r.requests()), row.hits)
				}
				if took := time.Since(start); took > 200*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				r.over(row.reason)
				escapes := 0
				for _, e := range eventstest.All[events.CallDone](r.rec) {
					if e.Outcome == events.OutcomeEscaped {
						escapes++
					}
				}
				if want := 1; escapes != want && row.reason != events.StreamContentType && row.parts[len(row.parts)-1] != "404" {
					t.Errorf("%d calls escaped, want %d:\n%v", escapes, want, r.rec)
				}
			})
		})
	}
}

func TestAReconnectionSendsTheRequestAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}, Retry: RetryPolicy{RetryNonIdempotent: true}}, flaky("id: 1\ndata: 1\n\n", "id\ndata: 2\n\n"))
		req := r.request(context.Background())
		req.Method = http.MethodPost
		made := 0
		body := &closeCounter{Reader: strings.NewReader("body")}
		req.Body, req.ContentLength = body, 4
		req.GetBody = func() (io.ReadCloser, error) {
			made++
			return &closeCounter{Reader: strings.NewReader("body")}, nil
		}
		req.Header.Set("Last-Event-ID", "0")
		s, err := r.client.Stream(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := collect(t, s); err != nil {
			t.Fatal(err)
		}
		var asked []string
		for _, hit := range r.requests() {
			if hit.method != http.MethodPost || hit.body != "body" {
				t.Errorf("request %+v", hit)
			}
			_, has := hit.header["Last-Event-Id"]
			asked = append(asked, fmt.Sprint(hit.header.Get("Last-Event-ID"), has))
		}
		if got := strings.Join(asked, " "); got != "0true 1true false" {
			t.Errorf("asked for what follows %s; an empty ID is none", got)
		}
		if made != 2 || body.closed.Load() != 1 {
			t.Errorf("GetBody %d times, the first body closed %d times", made, body.closed.Load())
		}
		r.over(events.StreamEnded)
	})
}

func TestAStreamStaysOnItsGenerationAndResumesOnTheNewest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		next := make(chan string)
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, feed(func(req *http.Request, write func(string)) {
			for {
				select {
				case s := <-next:
					if s == "" {
						panic(http.ErrAbortHandler)
					}
					write(s)
				case <-req.Context().Done():
					return
				}
			}
		}))
		s := r.stream(context.Background())
		var got []string
		done := make(chan error, 1)
		go func() {
			var err error
			got, err = collect(t, s)
			done <- err
		}()
		if err := r.client.Reload(TLSMaterial{RootCAs: issue(t, "ca", nil).cert}); err != nil {
			t.Fatal(err)
		}
		next <- "data: old\n\n"
		synctest.Wait()
		if report, _ := ReportOf(s.Response()); report.Generation != 1 {
			t.Errorf("report %+v", report)
		}
		next <- ""
		next <- "data: new\n\n"
		synctest.Wait()
		if report, _ := ReportOf(s.Response()); report.Generation != 2 || report.Attempts != 1 {
			t.Errorf("report %+v", report)
		}
		// A client that is closed ends it: there is nothing to resume on.
		r.client.Close()
		if err := <-done; reasonOf(err) != events.StreamTransport || !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
		equal(t, got, "message/=old", "message/=new")
		r.rec.Expect(t, eventstest.Type[events.StreamClosed]())
	})
}

func TestTheBreakerHearsOfStreamsAsOfCalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Breaker: breakers(t, 3), Stream: StreamConfig{Resume: true}}, flaky("data: 1\n\n", "503", "503", "503"))
		_, err := collect(t, r.stream(context.Background()))
		if reasonOf(err) != events.StreamStatus {
			t.Errorf("error %v", err)
		}
		if s := r.client.Stats().Breaker[partition]; s.State != breaker.Open {
			t.Errorf("breaker %+v", s)
		}
		r.over(events.StreamStatus)
		skip := eventstest.One[events.RetrySkipped](t, r.rec)
		if skip.Reason != events.SkipBreaker || skip.Attempt != 4 {
			t.Errorf("skip %+v", skip)
		}
	})
}

func TestAnIDThatNoHeaderCanCarryEndsTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, flaky("id: a\x01b\ndata: 1\n\n"))
		_, err := collect(t, r.stream(context.Background()))
		if reasonOf(err) != events.StreamTransport || !strings.Contains(err.Error(), "Last-Event-ID") && !strings.Contains(err.Error(), "Last-Event-Id") {
			t.Errorf("error %v", err)
		}
		r.over(events.StreamTransport)
	})
}

func TestARefusedReconnectionTouchesNoBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bucket := capacity(t, 10)
		spend(t, bucket, 10)
		r := newRig(t, Config{Budget: bucket, Stream: StreamConfig{Resume: true}, Retry: RetryPolicy{RetryNonIdempotent: true}}, flaky("data: 1\n\n"))
		req := r.request(context.Background())
		body := &closeCounter{Reader: strings.NewReader("body")}
		req.Method, req.Body, req.ContentLength = http.MethodPost, body, 4
		req.GetBody = func() (io.ReadCloser, error) {
			t.Error("GetBody is called for a reconnection that is not made")
			return nil, errors.New("not now")
		}
		s, err := r.client.Stream(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := collect(t, s); reasonOf(err) != events.StreamTransport {
			t.Errorf("error %v", err)
		}
		if n := body.closed.Load(); n != 1 {
			t.Errorf("the body was closed %d times", n)
		}
	})
}

func TestARedirectedReconnectionIsPaidOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		there := flaky("id: 1\ndata: 1\n\n", "503", "id: 2\ndata: 2\n\n")
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}, Retry: RetryPolicy{MaxRetries: 2}}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/events" {
				http.Redirect(w, req, "/there", http.StatusFound)
				return
			}
			there.ServeHTTP(w, req)
		}))
		got, err := collect(t, r.stream(context.Background()))
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/1=1", "message/2=2")
		var paths []string
		for _, hit := range r.requests() {
			paths = append(paths, hit.path+hit.header.Get("Last-Event-ID"))
		}
		equal(t, paths, "/events", "/there", "/events1", "/there1", "/there1", "/events2", "/there2")
		if n := eventstest.Count[events.RetryArmed](r.rec); n != 3 {
			t.Errorf("%d retries armed, want two for the losses and one for the 503", n)
		}
		r.over(events.StreamEnded)
	})
}
