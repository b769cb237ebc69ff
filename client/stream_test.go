package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestAStreamThatTheServerEndsIsRangedToItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, feed(func(req *http.Request, write func(string)) {
			write(": hello\n\nid: 1\ndata: one\n\n")
			pass(req, 5*time.Second)
			write("event: add\ndata: t")
			pass(req, 5*time.Second)
			write("wo\n\ndata: cut off")
		}))
		s := r.stream(context.Background())
		if s.Reason() != "" || s.LastEventID() != "" {
			t.Errorf("at the begin: reason %q, last event ID %q", s.Reason(), s.LastEventID())
		}
		got, err := collect(t, s)
		if err != nil {
			t.Error(err)
		}
		equal(t, got, "message/1=one", "add/1=two")
		if s.Reason() != events.StreamEnded || s.LastEventID() != "1" {
			t.Errorf("at the end: reason %q, last event ID %q", s.Reason(), s.LastEventID())
		}
		closed := r.over(events.StreamEnded)
		if closed.Bytes != 61 || closed.Events != 2 || closed.Reconnects != 0 || closed.Duration != 10*time.Second {
			t.Errorf("StreamClosed %+v", closed)
		}
		opened := eventstest.One[events.StreamOpened](t, r.rec)
		if opened.Reconnects != 0 || opened.Meta != closed.Meta {
			t.Errorf("StreamOpened %+v", opened)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeOK || done.Duration != 10*time.Second {
			t.Errorf("CallDone %+v", done)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		r.over(events.StreamEnded)
	})
}

func TestAStreamAsksForEventsAndLeavesTheRequestAsItIs(t *testing.T) {
	for _, row := range []struct{ given, want http.Header }{
		{nil, http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}},
		{
			http.Header{"Accept": {"application/json, text/event-stream"}, "Cache-Control": {"no-cache"}, "X-Mine": {"1"}, "Last-Event-Id": {"7"}},
			http.Header{"Accept": {"application/json, text/event-stream"}, "Cache-Control": {"no-cache"}, "X-Mine": {"1"}, "Last-Event-Id": {"7"}},
		},
	} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{}, stay("data: x\n\n"))
			req := r.request(context.Background())
			req.Header = row.given.Clone()
			s, err := r.client.Stream(req)
			if err != nil {
				t.Fatal(err)
			}
			for range s.Events() {
				break
			}
			if want := row.given.Get("Last-Event-ID"); s.LastEventID() != want {
				t.Errorf("last event ID %q, want the request's, %q", s.LastEventID(), want)
			}
			if fmt.Sprint(req.Header) != fmt.Sprint(row.given) {
				t.Errorf("the caller's header became %v", req.Header)
			}
			sent := r.requests()[0].header
			for name := range row.want {
				if fmt.Sprint(sent[name]) != fmt.Sprint(row.want[name]) {
					t.Errorf("%s: %v, want %v", name, sent[name], row.want[name])
				}
			}
			r.over(events.StreamClosedByCaller)
		})
	}
}

func TestBreakingOutOfTheLoopClosesTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, stay("id: 1\ndata: one\n\nid: 2\ndata: two\n\n", ": more\n"))
		s := r.stream(context.Background())
		for ev, err := range s.Events() {
			if err != nil || ev.Data != "one" {
				t.Fatal(ev, err)
			}
			break
		}
		if s.LastEventID() != "1" {
			t.Errorf("last event ID %q, want that of the event that was yielded", s.LastEventID())
		}
		got, err := collect(t, s)
		if err != nil {
			t.Error(err)
		}
		equal(t, got)
		if closed := r.over(events.StreamClosedByCaller); closed.Events != 1 || closed.Bytes != 17 {
			t.Errorf("StreamClosed %+v", closed)
		}
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeOK {
			t.Errorf("CallDone %+v", done)
		}
	})
}

func TestCloseEndsTheLoopWithoutAnError(t *testing.T) {
	for _, row := range []struct {
		name  string
		run   func(t *testing.T, s *Stream)
		count int64
	}{
		{"before it", func(t *testing.T, s *Stream) { s.Close() }, 0},
		{"inside of it", func(t *testing.T, s *Stream) {
			for _, err := range s.Events() {
				if err != nil {
					t.Error(err)
				}
				s.Close()
			}
		}, 1},
		{"while it waits", func(t *testing.T, s *Stream) {
			start := time.Now()
			time.AfterFunc(7*time.Second, func() { s.Close(); s.Close() })
			got, err := collect(t, s)
			if err != nil {
				t.Error(err)
			}
			equal(t, got, "message/=one", "message/=two")
			if took := time.Since(start); took != 7*time.Second {
				t.Errorf("it took %v", took)
			}
		}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, stay("data: one\n\ndata: two\n\n"))
				s := r.stream(context.Background())
				row.run(t, s)
				if closed := r.over(events.StreamClosedByCaller); closed.Events != row.count {
					t.Errorf("StreamClosed %+v, want %d events", closed, row.count)
				}
				if s.Reason() != events.StreamClosedByCaller {
					t.Errorf("reason %q", s.Reason())
				}
			})
		})
	}
}

func TestCancellationClosesAStreamAtOnce(t *testing.T) {
	mine := errors.New("my reason")
	for _, resume := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{Stream: StreamConfig{Resume: resume}}, stay("data: one\n\n"))
			ctx, cancel := context.WithCancelCause(context.Background())
			s := r.stream(ctx)
			start := time.Now()
			time.AfterFunc(3*time.Second, func() { cancel(mine) })
			got, err := collect(t, s)
			synctest.Wait()
			if n := r.listener.Counts().Open; n != 0 {
				t.Errorf("%d connections are open after the cancellation", n)
			}
			equal(t, got, "message/=one")
			if reasonOf(err) != events.StreamCanceled || !errors.Is(err, context.Canceled) || !errors.Is(err, mine) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("it took %v", took)
			}
			r.over(events.StreamCanceled)
			if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeCanceled || done.Class != events.ClassCanceled {
				t.Errorf("CallDone %+v", done)
			}
		})
	}
}

func TestNoEventComesAfterTheCancellation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Stream: StreamConfig{Resume: true}}, stay("id: 1\ndata: one\n\nid: 2\ndata: two\n\n"))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := r.stream(ctx)
		n := 0
		for _, err := range s.Events() {
			if n++; n == 2 {
				if reasonOf(err) != events.StreamCanceled || !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			}
			cancel()
		}
		if n != 2 || s.LastEventID() != "1" {
			t.Errorf("%d pairs, last event ID %q", n, s.LastEventID())
		}
		r.over(events.StreamCanceled)
		if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeCanceled || done.Class != events.ClassCanceled {
			t.Errorf("CallDone %+v", done)
		}
	})
}

func TestACanceledStreamThatNobodyRangesOverEndsWithClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, stay("data: one\n\n"))
		ctx, cancel := context.WithCancel(context.Background())
		s := r.stream(ctx)
		cancel()
		synctest.Wait()
		if n := r.listener.Counts().Open; n != 0 {
			t.Errorf("%d connections are open after the cancellation", n)
		}
		s.Close()
		r.over(events.StreamClosedByCaller)
	})
}

func TestTwoLoopsAtOnceAreAMistake(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, stay("data: one\n\n", "data: two\n\n"))
		s := r.stream(context.Background())
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, _ = collect(t, s)
		}()
		synctest.Wait()
		value, _ := caught(func() {
			for range s.Events() {
				t.Error("an event came in the second loop")
			}
		})
		if text, _ := value.(string); !strings.Contains(text, "ranged over twice") {
			t.Errorf("panic %v", value)
		}
		s.Close()
		<-done
		equal(t, got, "message/=one", "message/=two")
		r.over(events.StreamClosedByCaller)
	})
}

func TestAStreamFollowsRedirectsWithTheEmbeddedClientsCookies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		there := stay("data: here\n\n")
		r := newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/events" {
				http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", Path: "/"})
				http.Redirect(w, req, "/there", http.StatusTemporaryRedirect)
				return
			}
			there.ServeHTTP(w, req)
		}))
		r.client.Jar, _ = cookiejar.New(nil) // set on the embedded client, not by Config
		r.client.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
			t.Error("a stream went through the wrapped Transport")
			return nil, errors.New("wrapped")
		})
		s := r.stream(context.Background())
		for ev := range s.Events() {
			if ev.Data != "here" {
				t.Errorf("event %+v", ev)
			}
			break
		}
		hits := r.requests()
		if len(hits) != 2 || hits[1].path != "/there" || hits[1].header.Get("Cookie") != "session=s1" || hits[1].header.Get("Accept") != "text/event-stream" {
			t.Errorf("requests %+v", hits)
		}
		if got := s.Response(); got.Request.URL.Path != "/there" || got.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("response %+v", got)
		}
		if report, ok := ReportOf(s.Response()); !ok || report.Attempts != 1 {
			t.Errorf("report %+v", report)
		}
		r.over(events.StreamClosedByCaller)
	})
}

func TestARequestThatCannotBeUsedIsNoStream(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{}, stay())
		body := &closeCounter{Reader: strings.NewReader("x")}
		req, _ := http.NewRequest(http.MethodPost, "ftp://origin.test/", body)
		var e *StreamError
		if s, err := r.client.Stream(req); s != nil || err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "scheme") {
			t.Errorf("%v, %v", s, err)
		}
		if n := body.closed.Load(); n != 1 {
			t.Errorf("the body was closed %d times", n)
		}
		r.client.Close()
		if s, err := r.client.Stream(r.request(context.Background())); s != nil || !errors.Is(err, ErrClosed) {
			t.Errorf("%v, %v", s, err)
		}
		r.rec.ExpectNothing(t)
	})
}
