package otelbridge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// feed answers with an event stream, and stays if it is told to.
func feed(text string, stay bool) faultserver.Script {
	return handled(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		if stay {
			<-r.Context().Done()
		}
	})
}

// subscribe reads a stream to its end.
func (d *driver) subscribe(ctx context.Context, first func(*client.Stream), scripts ...faultserver.Script) {
	d.server.Next(scripts...)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL("/"), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := d.client.Stream(req)
	if err != nil {
		return
	}
	defer s.Close()
	for _, err := range s.Events() {
		if err != nil || first == nil {
			continue
		}
		first(s)
		break
	}
}

func streaming(name string, cfg client.StreamConfig, scripts ...faultserver.Script) movement {
	return movement{name: name, cfg: client.Config{Stream: cfg, Retry: noRetries}, do: func(ctx context.Context, d *driver) { d.subscribe(ctx, nil, scripts...) }}
}

const oneEvent = "id: 1\ndata: x\n\n"

var streamings = []movement{
	streaming("ended", client.StreamConfig{}, feed(oneEvent, false)),
	streaming("header timeout", client.StreamConfig{}, faultserver.Do(faultserver.Hang{})),
	streaming("idle", client.StreamConfig{}, feed(oneEvent, true)),
	streaming("total bytes", client.StreamConfig{TotalBytes: 8}, feed(oneEvent, true)),
	streaming("line bytes", client.StreamConfig{LineBytes: 4}, feed("data: xxxxxx\n\n", true)),
	streaming("event bytes", client.StreamConfig{EventBytes: 1}, feed("data: xx\n\n", true)),
	streaming("status", client.StreamConfig{}, faultserver.Respond(404, "")),
	streaming("content type", client.StreamConfig{}, faultserver.RespondWith(200, http.Header{"Content-Type": {"text/plain"}}, "")),
	streaming("encoding", client.StreamConfig{}, faultserver.RespondWith(200, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"br"}}, "?")),
	streaming("transport", client.StreamConfig{}, faultserver.KillInBody(1000, faultserver.RST)),
	{name: "a stream that dies", cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) {
		d.subscribe(ctx, nil, handled(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, oneEvent)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
	}},
	{name: "resumed", cfg: client.Config{Stream: client.StreamConfig{Resume: true}}, do: func(ctx context.Context, d *driver) {
		d.subscribe(ctx, nil, feed(oneEvent, false), feed(oneEvent, false), faultserver.Respond(204, ""))
	}},
	{name: "closed", do: func(ctx context.Context, d *driver) { d.subscribe(ctx, func(*client.Stream) {}, feed(oneEvent, true)) }},
	{name: "canceled", do: func(ctx context.Context, d *driver) {
		ctx, cancel := context.WithCancel(ctx)
		defer time.AfterFunc(time.Second, cancel).Stop()
		d.subscribe(ctx, nil, feed(oneEvent, true))
	}},
	{name: "deadline", do: func(ctx context.Context, d *driver) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		d.subscribe(ctx, nil, feed(oneEvent, true))
	}},
	{
		name: "connect timeout", cfg: client.Config{Retry: noRetries}, change: func(t *http.Transport) {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		},
		do: func(ctx context.Context, d *driver) { d.subscribe(ctx, nil) },
	},
	{name: "rejected", gate: &breaker.Config{ConsecutiveFailures: 1}, cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) {
		d.unavailable(1)
		d.want(ctx, 503)
		d.subscribe(ctx, nil)
	}},
}
