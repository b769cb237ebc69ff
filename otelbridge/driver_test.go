package otelbridge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// driver is a real client over a server in memory, in virtual time. What it
// reports ends up in its rig.
type driver struct {
	*rig
	client *client.Client
	server *faultserver.Server
	shown  sightings // what look adds to; nil where nobody wants to know
}

// look takes down the levels of the moment.
func (d *driver) look() {
	if d.shown != nil {
		d.shown.addMetrics(d.t, d.collect())
	}
}

// drive makes a driver for cfg, whose Transport and Telemetry it sets.
func drive(t *testing.T, r *rig, protocol faultserver.Protocol, cfg client.Config, telemetry ...func(*otelbridge.Config)) *driver {
	t.Helper()
	return driveOver(t, r, protocol, cfg, nil, telemetry...)
}

// driveOver is drive with another transport; nil changes nothing.
func driveOver(t *testing.T, r *rig, protocol faultserver.Protocol, cfg client.Config, change func(*http.Transport), telemetry ...func(*otelbridge.Config)) *driver {
	t.Helper()
	d := &driver{rig: r, server: faultserver.Start(t, faultserver.Config{Protocol: protocol, Memory: true})}
	cfg.Transport = d.server.ClientTransport()
	if change != nil {
		change(cfg.Transport)
	}
	cfg.Telemetry = otelbridge.Config{TracerProvider: r.tracer, MeterProvider: r.meter}
	for _, f := range telemetry {
		f(&cfg.Telemetry)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.client = c
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// get sends a request and reads the answer to its end.
func (d *driver) get(ctx context.Context) (int, error) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL("/a?key=t0ken"), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t0ken")
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// want sends a request and expects its status, 0 for an error.
func (d *driver) want(ctx context.Context, status int) {
	d.t.Helper()
	if got, err := d.get(ctx); got != status || (err == nil) != (status != 0) {
		d.t.Fatalf("status %d and error %v, want status %d", got, err, status)
	}
}

// failing is a store that can fail.
type failing struct {
	*breaker.Memory
	lost atomic.Bool
}

func (f *failing) Admit(ctx context.Context, key string, p breaker.Params) (breaker.Grant, error) {
	if f.lost.Load() {
		return breaker.Grant{}, errors.New("no store")
	}
	return f.Memory.Admit(ctx, key, p)
}

// retries drives everything about retries, budget and throttles.
func (d *driver) retries(ctx context.Context) {
	d.server.Next(faultserver.Respond(503, ""), faultserver.Respond(503, ""), faultserver.Respond(200, "ok"))
	d.want(ctx, 200) // armed twice; one is kept in part, one refunded
	d.want(ctx, 200) // replenishes
	for range 4 {    // the first one is recovered from: its connection was reused
		d.server.Next(faultserver.KillAfterReading(faultserver.RST))
	}
	d.want(ctx, 0) // the last retry is charged
	d.server.Next(faultserver.RespondWith(429, http.Header{"Retry-After": {"3"}}, ""), faultserver.RespondWith(429, http.Header{"Retry-After": {"3"}}, ""), faultserver.RespondWith(429, http.Header{"Retry-After": {"3"}}, ""))
	d.want(ctx, 429)
	d.want(ctx, 200) // waits for the throttle
	d.server.Next(faultserver.RespondWith(429, http.Header{"Retry-After": {"60"}}, ""))
	d.want(client.WithTotalRetryDuration(ctx, time.Second), 200) // Overrun Send: a truncated wait
	d.server.Next(faultserver.RespondWith(429, http.Header{"Retry-After": {"60"}}, ""))
	d.want(client.WithRetry(ctx, client.RetryPolicy{MaxRetries: -1}), 429)
	d.want(client.WithTotalRetryDuration(ctx, time.Second), 200) // the throttle's wait is truncated
	wait(2 * time.Minute)                                        // the throttle is over
	d.canceled(ctx)
}

// canceled sends a request whose caller leaves while it waits for the answer.
func (d *driver) canceled(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.server.Next(faultserver.Do(faultserver.Hang{}))
	go func() {
		synctest.Wait()
		cancel()
	}()
	d.want(ctx, 0)
}

// dead drives a recovery from a dead connection.
func (d *driver) dead(ctx context.Context) {
	d.want(ctx, 200)
	synctest.Wait()
	if n := d.server.RaceIdle(faultserver.FIN); n == 0 {
		d.t.Fatal("no parked connection to kill")
	}
	d.want(ctx, 200)
}

// gates drives the breaker through its states.
func (d *driver) gates(ctx context.Context, store *failing) {
	once := client.WithRetry(ctx, client.RetryPolicy{MaxRetries: -1})
	d.server.Next(faultserver.Respond(500, ""), faultserver.Respond(500, ""))
	d.want(once, 500)
	d.want(once, 500)
	d.want(once, 0) // open: rejected
	wait(2 * time.Second)
	d.canceled(once) // a probe that is given back
	d.server.Next(faultserver.Respond(500, ""))
	d.want(once, 500) // a probe that fails
	wait(5 * time.Second)
	d.want(once, 200) // one that closes
	store.lost.Store(true)
	d.want(once, 200)
	store.lost.Store(false)
	wait(2 * time.Second)
	d.want(once, 200)
}

// wait lets virtual time pass.
func wait(d time.Duration) { <-time.After(d) }

// streams drives a stream that reconnects once.
func (d *driver) streams(ctx context.Context) {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	d.server.Next(faultserver.RespondWith(200, header, "id: 1\ndata: a\n\n"), faultserver.RespondWith(200, header, "id: 2\ndata: b\n\n"), faultserver.Respond(204, ""))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL("/stream"), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := d.client.Stream(req)
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, err := range s.Events() {
		if err != nil {
			d.t.Fatal(err)
		}
		n++
	}
	if n != 2 || s.Reason() != events.StreamEnded {
		d.t.Fatalf("%d events, then %q; want 2, then %q", n, s.Reason(), events.StreamEnded)
	}
}
