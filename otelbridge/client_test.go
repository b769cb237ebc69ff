package otelbridge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// driver is a real client over a server in memory, in virtual time. What it
// reports ends up in its rig.
type driver struct {
	*rig
	client *client.Client
	server *faultserver.Server
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

// TestARealClientEmitsTheWholeCatalogue holds what real clients report against
// the catalogue, both ways: each event, attribute and closed value that is
// declared shows, each combination of a counter is counted, and nothing else.
func TestARealClientEmitsTheWholeCatalogue(t *testing.T) {
	shown := sightings{}
	t.Run("in one trace", func(t *testing.T) { inOneTrace(t, shown) })
	for name, partition := range map[string]func(*http.Request) string{
		"origin": nil, "custom partition": func(*http.Request) string { return "tenant-a" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range slices.Concat(decisions, closings, recoverings, exchanges, streamings) {
				t.Run(m.name, func(t *testing.T) { m.run(t, shown, partition) })
			}
		})
	}
	shown.demandAll(t)
}

// inOneTrace has two clients make most of what there is inside one span of
// their caller.
func inOneTrace(t *testing.T, shown sightings) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, caller := r.tracer.Tracer("caller").Start(t.Context(), "caller")
		bucket, err := budget.New(budget.Default())
		if err != nil {
			t.Fatal(err)
		}
		d := drive(t, r, faultserver.TLS, client.Config{
			Name: "shop", Budget: bucket, Stream: client.StreamConfig{Resume: true},
			Retry: client.RetryPolicy{MaxRetries: 2, Overrun: client.Send},
		})
		d.retries(ctx)
		d.dead(ctx)
		d.streams(ctx)
		d.want(client.WithRoute(ctx, "/{letter}"), 200)
		req, err := http.NewRequestWithContext(ctx, "BREW", d.server.URL("/"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := d.client.Do(req); err != nil {
			t.Fatal(err)
		} else {
			resp.Body.Close()
		}
		if err := d.client.Reload(client.TLSMaterial{RootCAs: d.server.CA().PEM()}); err != nil {
			t.Fatal(err)
		}

		store := &failing{Memory: breaker.NewMemory(0)}
		gate, err := breaker.New(breaker.Config{Store: store, ConsecutiveFailures: 2, Cooldown: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		g := drive(t, r, faultserver.TLS, client.Config{Name: "gated", Breaker: gate, Partition: func(*http.Request) string { return "Tenant-A" }})
		g.gates(ctx, store)
		synctest.Wait()

		got := r.collect()
		d.client.CloseIdleConnections()
		g.client.CloseIdleConnections()
		synctest.Wait()
		got[catalog.ConnectionDuration] = r.collect()[catalog.ConnectionDuration]
		shown.addMetrics(t, got)
		caller.End()
		shown.addSpans(t, without(r.spans.GetSpans(), "caller"))
		checkOneTrace(t, r.spans.GetSpans(), caller.SpanContext().TraceID())
		checkSecrets(t, r, "t0ken")
	})
}

func without(spans tracetest.SpanStubs, name string) tracetest.SpanStubs {
	var out tracetest.SpanStubs
	for _, s := range spans {
		if s.Name != name {
			out = append(out, s)
		}
	}
	return out
}

// checkOneTrace finds every call and attempt in the caller's trace, and every
// span's parent among the spans.
func checkOneTrace(t *testing.T, spans tracetest.SpanStubs, id trace.TraceID) {
	t.Helper()
	known := map[trace.SpanID]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	for _, s := range spans {
		inside := s.SpanContext.TraceID() == id
		if (s.Name == catalog.SpanCall || s.SpanKind == trace.SpanKindClient) && !inside {
			t.Errorf("%s is in the trace %v, want the caller's", s.Name, s.SpanContext.TraceID())
		}
		if s.Parent.IsValid() && !known[s.Parent.SpanID()] {
			t.Errorf("%s has a parent that was not exported", s.Name)
		}
	}
}

func checkSecrets(t *testing.T, r *rig, secret string) {
	t.Helper()
	for _, s := range r.spans.GetSpans() {
		kvs := s.Attributes
		for _, e := range s.Events {
			kvs = append(kvs, e.Attributes...)
		}
		for _, kv := range kvs {
			if strings.Contains(kv.Value.String(), secret) {
				t.Errorf("%s of %s holds %q", kv.Key, s.Name, secret)
			}
		}
	}
}

func TestARealClientsResendCountIncludesRecoveriesAndRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		d := drive(t, r, faultserver.H1, client.Config{})
		d.want(t.Context(), 200)
		synctest.Wait()
		d.server.RaceIdle(faultserver.FIN)
		r.spans.Reset()
		d.server.Next(
			faultserver.RespondWith(302, http.Header{"Location": {"/b"}}, ""),
			faultserver.Respond(503, ""),
			faultserver.Respond(200, ""),
		)
		d.want(t.Context(), 200)
		var counts []string
		for _, s := range r.spans.GetSpans() {
			if s.SpanKind == trace.SpanKindClient {
				counts = append(counts, attr(s.Attributes, catalog.KeyResendCount))
			}
		}
		if want := "1 2 3"; strings.Join(counts, " ") != want {
			t.Errorf("resend counts %q, want %q: a recovery, a redirect, a retry", strings.Join(counts, " "), want)
		}
	})
}

func TestARealClientClosesNoSpanLate(t *testing.T) {
	for _, protocol := range []faultserver.Protocol{faultserver.H1, faultserver.H2} {
		t.Run(protocol.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				open := &openSpans{}
				r.tracer.RegisterSpanProcessor(open)
				d := drive(t, r, protocol, client.Config{}, func(c *otelbridge.Config) { c.ConnTrace = true })
				for range 3 {
					d.want(t.Context(), 200)
				}
				synctest.Wait()
				if got := open.list(); len(got) != 0 {
					t.Errorf("spans are left open: %q", got)
				}
				for _, s := range r.spans.GetSpans() {
					if s.Name == catalog.EventConnReleased {
						t.Error("a connection's release is outside its call")
					}
				}
			})
		})
	}
}

func TestARealClientsHookPanicsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first atomic.Bool
		r := newRig(t)
		d := drive(t, r, faultserver.H1, client.Config{Name: "shop", Hooks: &events.Hooks{
			ConnClosed: func(context.Context, events.ConnClosed) {
				if first.CompareAndSwap(false, true) {
					panic("hook")
				}
			},
		}})
		d.want(t.Context(), 200)
		synctest.Wait()
		d.server.KillIdle(faultserver.FIN)
		synctest.Wait()
		if got := r.value(catalog.HookPanics, attribute.String(catalog.KeyClient, "shop")); got != 1 {
			t.Errorf("%s is %v, want 1", catalog.HookPanics, got)
		}
		d.want(t.Context(), 200)
	})
}
