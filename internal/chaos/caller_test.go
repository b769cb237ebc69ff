package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// run makes the call as planned and notes what the caller saw.
func (s *state) run(p *party) {
	s.began, s.ran = time.Now(), true
	defer func() { s.ended = time.Now() }()
	ctx, stop := s.context()
	defer stop(nil)
	req, err := s.request(ctx)
	if err != nil {
		s.w.breach("call %d: %v", s.n, err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.panicked = true
			if v != any(errPlanned) || s.policy != panics && s.body != explosive {
				s.w.breach("call %d panicked: %v", s.n, v)
				panic(v)
			}
		}
	}()
	switch s.stop {
	case before:
		s.stopAt = s.began
		stop(nil)
	case cancels, withCause, deadline:
		var cause error
		switch s.stop {
		case withCause:
			cause = errGaveUp
		case deadline:
			cause = context.DeadlineExceeded
		}
		s.stopAt = s.began.Add(s.after)
		if s.stop != deadline {
			timer := time.AfterFunc(s.after, func() { stop(cause) })
			defer timer.Stop()
		}
	case requestCancel:
		s.stopAt = s.began.Add(s.after)
		c := make(chan struct{})
		req.Cancel = c //nolint:staticcheck // it is what is tested
		timer := time.AfterFunc(s.after, func() { close(c) })
		defer timer.Stop()
	}
	if s.via == viaStream {
		s.subscribe(p.of(s.host), req)
		return
	}
	var resp *http.Response
	if s.via == viaRoundTrip {
		resp, s.err = p.of(s.host).Transport.RoundTrip(req)
		if (resp == nil) == (s.err == nil) {
			s.w.breach("call %d: RoundTrip returned %v and %v", s.n, resp, s.err)
		}
	} else if resp, s.err = p.of(s.host).Do(req); s.err != nil {
		resp = nil
	}
	if resp != nil {
		s.status = resp.StatusCode
		s.consume(resp, stop)
	}
}

// refused returns how long the caller waits because the breaker or a throttle
// refused its call; 0 if neither did.
func (s *state) refused() time.Duration {
	var rejected *breaker.RejectedError
	var throttled *client.ThrottledError
	least, most := 3*s.w.unit, 10*s.w.unit
	switch {
	case errors.As(s.err, &rejected):
		return min(max(rejected.RetryAfter, least), most)
	case errors.As(s.err, &throttled) || s.fallback || errors.Is(s.err, errFallback):
		return least
	}
	return 0
}

// context is the call's context; stop ends it.
func (s *state) context() (context.Context, context.CancelCauseFunc) {
	ctx := context.WithValue(context.Background(), stateKey{}, s)
	cancel := func() {}
	switch {
	case s.stop == deadline:
		ctx, cancel = context.WithTimeout(ctx, s.after)
	case !s.w.timeout || s.via != viaDo:
		ctx, cancel = context.WithTimeout(ctx, s.w.patience)
	}
	if s.short {
		ctx = client.WithTotalRetryDuration(ctx, 2*s.w.unit)
	}
	switch s.policy {
	case noRetries:
		ctx = client.WithRetry(ctx, client.RetryPolicy{MaxRetries: -1})
	case sends:
		ctx = client.WithRetry(ctx, client.RetryPolicy{Overrun: client.Send})
	case retryAll, stopAll, peeks, panics:
		ctx = client.WithRetry(ctx, client.RetryPolicy{MaxRetries: 3, RetryIf: s.judge})
	}
	ctx, stop := context.WithCancelCause(ctx)
	return ctx, func(cause error) { stop(cause); cancel() }
}

// judge is the call's RetryIf.
func (s *state) judge(_ context.Context, t client.Try) client.Verdict {
	switch s.policy {
	case retryAll:
		if t.Err != nil || t.Response.StatusCode >= 400 {
			return client.Retry
		}
	case stopAll:
		return client.Stop
	case peeks:
		if t.Response != nil {
			_, _ = t.PeekBody(50) // an error is the attempt's, and comes again
		}
	case panics:
		s.explode()
	}
	return client.Default
}

// explode is a planned panic, which the caller must see.
func (s *state) explode() {
	s.panicking.Store(true)
	panic(errPlanned)
}

// request makes the call's request.
func (s *state) request(ctx context.Context) (*http.Request, error) {
	url := hosts[s.host].url + pathOf(s.n, 0) + "?token=" + secret
	var r io.Reader
	data := content("request "+s.id, s.size)
	if s.body == inMemory {
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, s.method, url, r)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"X-Call": {s.id}, "Authorization": {"Bearer " + secret}, "Cookie": {"session=" + secret}}
	if s.keyed {
		req.Header.Set("Idempotency-Key", s.id)
	}
	if s.expect {
		req.Header.Set("Expect", "100-continue")
	}
	again := func() (io.ReadCloser, error) { return s.track(bytes.NewReader(data)), nil }
	if s.body >= replayable {
		req.Body, _ = again()
		req.ContentLength = int64(len(data))
	}
	switch s.body {
	case replayable:
		req.GetBody = again
	case endless:
		req.ContentLength = -1
	case failing:
		req.Body.(*body).Reader = io.MultiReader(bytes.NewReader(data[:len(data)/2]), failingReader{})
	case broken:
		req.GetBody = func() (io.ReadCloser, error) { return nil, errBroken }
	case explosive:
		req.GetBody = func() (io.ReadCloser, error) { s.explode(); return nil, errPlanned }
	}
	return req, nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }

// consume reads the response as planned and compares it with what was promised.
func (s *state) consume(resp *http.Response, stop context.CancelCauseFunc) {
	defer resp.Body.Close()
	if resp.Header.Get("X-Fallback") != "" {
		s.fallback = true
		return
	}
	id := resp.Header.Get("X-Id")
	if s.w.unasked && resp.ProtoMajor == 1 {
		_, s.bodyErr = io.Copy(io.Discard, resp.Body)
		return
	}
	if owner, _, _ := strings.Cut(id, "/"); owner != s.id {
		s.w.breach("call %d got the answer to %q, status %d: %s; %s", s.n, id, resp.StatusCode, s.story(), s.w.storyOf(owner))
	}
	var got []byte
	switch s.read {
	case readNothing:
		return
	case readHalf:
		_, s.bodyErr = io.CopyN(io.Discard, resp.Body, int64(1+s.answer/2))
		if s.bodyErr == io.EOF {
			s.bodyErr = nil
		}
		return
	case readBits:
		b := make([]byte, max(1, s.answer/100))
		for s.bodyErr == nil {
			var n int
			n, s.bodyErr = resp.Body.Read(b)
			got = append(got, b[:n]...)
		}
		if s.bodyErr == io.EOF {
			s.bodyErr = nil
		}
	default:
		if s.stop == whileReading {
			first := make([]byte, 1)
			n, _ := io.ReadFull(resp.Body, first)
			got = first[:n]
			s.stopAt = time.Now()
			stop(nil)
		}
		var rest []byte
		rest, s.bodyErr = io.ReadAll(resp.Body)
		got = append(got, rest...)
	}
	if s.bodyErr == nil {
		s.compare(resp, id, got)
	}
}

// compare checks a body that ended in order.
func (s *state) compare(resp *http.Response, id string, got []byte) {
	size, err := strconv.Atoi(resp.Header.Get("X-Body"))
	switch {
	case err != nil || s.method == http.MethodHead:
		return // nothing was promised
	case !bytes.Equal(got, content("answer "+id, size)):
		s.w.breach("call %d read %d bytes to the end, and they are not the %d of the answer to %s (%s)", s.n, len(got), size, id, s.story())
	case resp.Header.Get("Trailer") != "" && resp.Trailer.Get("X-Sum") != id:
		s.w.breach("call %d: trailer %v, want X-Sum %s", s.n, resp.Trailer, id)
	}
}

// subscribe reads an event stream as planned.
func (s *state) subscribe(c *client.Client, req *http.Request) {
	stream, err := c.Stream(req)
	if err != nil {
		s.err = err
		return
	}
	defer stream.Close()
	next := 1
	for ev, err := range stream.Events() {
		if err != nil {
			s.bodyErr = err
			break
		}
		if want := fmt.Sprintf("event %d", next); ev.Data != want || ev.ID != strconv.Itoa(next) {
			s.w.breach("call %d: event %+v, want %s", s.n, ev, want)
		}
		next++
		if s.read == readNothing || s.read == readHalf && next > eventsOfStream(s)/2 {
			return
		}
	}
	if s.bodyErr == nil && stream.Reason() == events.StreamEnded && next != eventsOfStream(s)+1 {
		s.w.breach("call %d: the stream ended in order after %d of %d events", s.n, next-1, eventsOfStream(s))
	}
}

// storyOf is the story of the call with this id.
func (w *world) storyOf(id string) string {
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < len(w.states) {
		return fmt.Sprintf("call %d: %s", n, w.states[n].story())
	}
	return fmt.Sprintf("no call %q", id)
}

// story is what the servers did to the call, for a breach.
func (s *state) story() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storyLocked()
}

func (s *state) storyLocked() string {
	text := fmt.Sprintf("%s to %s, body %d, idempotent %v", s.method, hosts[s.host].name, s.body, s.idempotent(s.method))
	for hop := range 2 {
		for _, a := range s.arrivals[hop] {
			text += fmt.Sprintf("; hop %d on connection %d of %s: %s", hop, a.conn, hosts[a.host].name, a.fault)
		}
	}
	for _, h := range s.hops {
		text += fmt.Sprintf("; events %+v", *h)
	}
	return text
}
