package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

// givenStreams is a Config.Base whose responses are event streams of one event.
type givenStreams struct {
	ctx []context.Context
	on  func() // inside of Read
}

func (b *givenStreams) RoundTrip(req *http.Request) (*http.Response, error) {
	b.ctx = append(b.ctx, req.Context())
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
		Body: io.NopCloser(&givenBody{Reader: strings.NewReader("data: x\n\n"), base: b}),
	}, nil
}

type givenBody struct {
	io.Reader
	base *givenStreams
}

func (b *givenBody) Read(p []byte) (int, error) {
	if b.base.on != nil {
		b.base.on()
	}
	return b.Reader.Read(p)
}

func TestAReconnectionLeavesNothingOfTheConnectionBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		base := &givenStreams{}
		r := newRig(t, Config{Base: base, Stream: StreamConfig{Resume: true}}, nil)
		n := 0
		for _, err := range r.stream(context.Background()).Events() {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		// The last one ended with the stream.
		for i, ctx := range base.ctx {
			if ctx.Err() == nil {
				t.Errorf("the context of attempt %d lives on", i+1)
			}
		}
		if len(base.ctx) != 3 {
			t.Errorf("%d attempts", len(base.ctx))
		}
	})
	inBubble(t, func(t *testing.T) {
		base := &givenStreams{}
		r := newRig(t, Config{Base: base, Stream: StreamConfig{Resume: true}}, nil)
		n := 0
		for range r.stream(context.Background()).Events() {
			if n++; n == 2 {
				if base.ctx[0].Err() == nil || base.ctx[1].Err() != nil {
					t.Errorf("the contexts of the attempts: %v, %v", base.ctx[0].Err(), base.ctx[1].Err())
				}
				break
			}
		}
	})
}

func TestACloseDuringAReadThatGivesAnEventEndsTheStreamWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		base := &givenStreams{}
		r := newRig(t, Config{Base: base, Stream: StreamConfig{Resume: true}}, nil)
		s := r.stream(context.Background())
		base.on = func() { s.Close() }
		n := 0
		for ev, err := range s.Events() {
			if n++; err != nil || ev.Data != "x" {
				t.Errorf("%v, %v", ev, err)
			}
			if closed := eventstest.One[events.StreamClosed](t, r.rec); closed.Reason != events.StreamClosedByCaller || closed.Events != 1 {
				t.Errorf("StreamClosed %+v", closed)
			}
		}
		if n != 1 || len(base.ctx) != 1 {
			t.Errorf("%d events of %d connections", n, len(base.ctx))
		}
		balanced(t, r)
	})
}
