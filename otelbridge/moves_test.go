package otelbridge_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
	"github.com/plimsoll-http/plimsoll/pool"
)

// noRetries is a policy.
var noRetries = client.RetryPolicy{MaxRetries: -1}

func handled(f http.HandlerFunc) faultserver.Script {
	return faultserver.Do(faultserver.Handle{Handler: f})
}

// send makes one call of any kind.
func (d *driver) send(ctx context.Context, method string, body io.Reader) {
	req, err := http.NewRequestWithContext(ctx, method, d.server.URL("/"), body)
	if err != nil {
		d.t.Fatal(err)
	}
	if resp, err := d.client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// unavailable has the next n requests answered with 503.
func (d *driver) unavailable(n int) { d.server.NextN(n, faultserver.Respond(503, "")) }

// movement is a client and what is done with it.
type movement struct {
	name     string
	protocol faultserver.Protocol
	cfg      client.Config
	gate     *breaker.Config
	tokens   *budget.Config
	change   func(*http.Transport)
	sampler  sdktrace.Sampler
	do       func(ctx context.Context, d *driver)
}

func small() *budget.Config {
	c := budget.Default()
	c.Capacity = c.Cost
	return &c
}

func legacy() *budget.Config {
	c := budget.Legacy()
	return &c
}

var decisions = []movement{
	{name: "no retries", cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) { d.unavailable(1); d.want(ctx, 503) }},
	{name: "no more retries", cfg: client.Config{Retry: client.RetryPolicy{MaxRetries: 1}}, do: func(ctx context.Context, d *driver) { d.unavailable(2); d.want(ctx, 503) }},
	{name: "a one-shot body", do: func(ctx context.Context, d *driver) {
		d.unavailable(1)
		d.send(ctx, http.MethodPut, struct{ io.Reader }{strings.NewReader("x")})
	}},
	{name: "a POST", do: func(ctx context.Context, d *driver) {
		d.unavailable(1)
		d.send(ctx, http.MethodPost, strings.NewReader("x"))
	}},
	{name: "an empty bucket", tokens: small(), do: func(ctx context.Context, d *driver) { d.unavailable(3); d.want(ctx, 503) }},
	{name: "no time", do: func(ctx context.Context, d *driver) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		d.server.Next(faultserver.RespondWith(503, http.Header{"Retry-After": {"5"}}, ""))
		d.want(ctx, 503)
	}},
	{name: "an open breaker", gate: &breaker.Config{ConsecutiveFailures: 2}, do: func(ctx context.Context, d *driver) { d.unavailable(2); d.want(ctx, 503) }},
	{
		name: "the user's verdict", cfg: client.Config{Retry: client.RetryPolicy{RetryIf: func(_ context.Context, t client.Try) client.Verdict {
			if t.Attempt == 1 {
				return client.Retry
			}
			return client.Stop
		}}},
		do: func(ctx context.Context, d *driver) {
			d.server.Next(faultserver.Respond(404, ""))
			d.unavailable(1)
			d.want(ctx, 503)
		},
	},
	{name: "an attempt's timeout", cfg: client.Config{AttemptTimeout: time.Second}, do: func(ctx context.Context, d *driver) {
		d.server.Next(faultserver.Do(faultserver.Hang{}))
		d.want(ctx, 200)
	}},
	{name: "a broken answer", do: func(ctx context.Context, d *driver) {
		d.server.Next(faultserver.KillAfterReading(faultserver.RST))
		d.want(ctx, 200)
	}},
	{name: "throttled", do: func(ctx context.Context, d *driver) {
		d.server.Next(faultserver.RespondWith(429, http.Header{"Retry-After": {"2"}}, ""), faultserver.Respond(503, ""))
		d.want(ctx, 200)
	}},
	{name: "a price", tokens: legacy(), do: func(ctx context.Context, d *driver) { d.unavailable(2); d.want(ctx, 200) }},
	{name: "a charge", cfg: client.Config{Pool: pool.Config{Recoveries: -1}}, do: func(ctx context.Context, d *driver) {
		d.server.NextN(2, faultserver.KillAfterReading(faultserver.RST))
		d.want(ctx, 200)
	}},
	{name: "the breaker's rate", gate: &breaker.Config{ConsecutiveFailures: -1, MinCalls: 4}, cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) {
		d.unavailable(4)
		for range 4 {
			d.want(ctx, 503)
		}
	}},
	{name: "the breaker's probes", gate: &breaker.Config{ConsecutiveFailures: 1, Cooldown: time.Second}, cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) {
		d.unavailable(1)
		d.want(ctx, 503)
		d.want(ctx, 0)
		wait(5 * time.Second)
		d.unavailable(1)
		d.want(ctx, 503) // a probe that fails
		wait(5 * time.Second)
		d.canceled(ctx) // one that says nothing
		release := make(chan struct{})
		d.server.Next(faultserver.Do(faultserver.Wait{Until: release}))
		done := make(chan struct{})
		go func() { d.want(ctx, 200); close(done) }()
		synctest.Wait()
		d.want(ctx, 0) // half-open
		d.look()
		close(release)
		<-done
	}},
	{name: "a probe whose lease runs out", gate: &breaker.Config{ConsecutiveFailures: 1, Cooldown: time.Second}, cfg: client.Config{Retry: noRetries}, do: func(ctx context.Context, d *driver) {
		d.unavailable(1)
		d.want(ctx, 503)
		wait(5 * time.Second)
		d.server.Next(faultserver.Do(faultserver.Hang{}))
		forgotten, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { d.want(forgotten, 0); close(done) }()
		wait(time.Hour)
		d.want(ctx, 200) // the next one gets the lease, which moves no state
		cancel()
		<-done
		if got := d.value(catalog.BreakerProbes, attribute.String(catalog.KeyBreakerProbe, "granted")); got != 2 {
			d.t.Errorf("%v leases were granted, want 2", got)
		}
	}},
}

var closings = []movement{
	{name: "idle", change: func(t *http.Transport) { t.IdleConnTimeout = time.Second }, do: func(ctx context.Context, d *driver) { d.want(ctx, 200); wait(time.Minute) }},
	{name: "lifetime", cfg: client.Config{Pool: pool.Config{MaxConnLifetime: time.Second}}, do: func(ctx context.Context, d *driver) { d.want(ctx, 200); wait(time.Minute) }},
	{name: "limit", change: func(t *http.Transport) { t.MaxIdleConnsPerHost = 1 }, do: func(ctx context.Context, d *driver) { d.together(ctx, 2) }},
	{name: "peer", do: func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		synctest.Wait()
		d.server.KillIdle(faultserver.FIN)
	}},
	{name: "goaway", protocol: faultserver.H2, do: func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		synctest.Wait()
		d.server.GoAway(http2.ErrCodeNo)
		synctest.Wait()
		d.want(ctx, 200)
	}},
	{name: "error", do: func(ctx context.Context, d *driver) {
		d.server.Next(faultserver.KillInBody(100, faultserver.RST))
		_, _ = d.get(ctx)
	}},
	{name: "canceled", do: func(ctx context.Context, d *driver) { d.canceled(ctx) }},
	{name: "replaced", cfg: client.Config{Pool: pool.Config{Recoveries: 1}}, change: func(t *http.Transport) { t.MaxConnsPerHost = 1 }, do: func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		release, done := make(chan struct{}), make(chan struct{})
		d.server.Next(faultserver.Do(faultserver.Wait{Until: release}, faultserver.Kill{How: faultserver.FIN}))
		for range 2 { // the second gets the slot of the first, which then needs it for a fresh connection
			go func() { d.want(ctx, 200); done <- struct{}{} }()
			synctest.Wait()
		}
		close(release)
		<-done
		<-done
	}},
	{name: "ping", protocol: faultserver.H2, cfg: client.Config{Pool: pool.Config{PingInterval: time.Second}}, do: func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		d.server.BlackHole()
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		d.send(ctx, http.MethodPost, strings.NewReader("x"))
	}},
	{name: "no reuse", change: func(t *http.Transport) { t.DisableKeepAlives = true }, do: func(ctx context.Context, d *driver) { d.want(ctx, 200) }},
	{name: "upgraded", do: func(ctx context.Context, d *driver) {
		d.server.Next(handled(func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				conn.Close()
			}
		}))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL("/"), nil)
		if err != nil {
			d.t.Fatal(err)
		}
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := d.client.Do(req)
		if err != nil {
			d.t.Fatal(err)
		}
		resp.Body.Close()
	}},
	{name: "shutdown", do: func(ctx context.Context, d *driver) {
		d.want(ctx, 200)
		synctest.Wait()
		d.client.CloseIdleConnections()
	}},
}

// together sends n requests that are all under way at once.
func (d *driver) together(ctx context.Context, n int) {
	release := make(chan struct{})
	d.server.NextN(n, faultserver.Do(faultserver.Wait{Until: release}))
	done := make(chan struct{})
	for range n {
		go func() { d.want(ctx, 200); done <- struct{}{} }()
	}
	synctest.Wait()
	d.look()
	close(release)
	for range n {
		<-done
	}
	synctest.Wait()
}

// run makes the movement with a client of its own, whose partitions the
// function names; nil: the origins.
func (m *movement) run(t *testing.T, shown sightings, partition func(*http.Request) string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if m.sampler != nil {
			r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans), sdktrace.WithSampler(m.sampler))
		}
		cfg := m.cfg
		cfg.Name, cfg.Partition = "shop", partition
		if m.gate != nil {
			gate, err := breaker.New(*m.gate)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Breaker = gate
		}
		if m.tokens != nil {
			bucket, err := budget.New(*m.tokens)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Budget = bucket
		}
		d := driveOver(t, r, m.protocol, cfg, m.change)
		d.shown = shown
		m.do(t.Context(), d)
		synctest.Wait()
		shown.addMetrics(t, r.collect())
		shown.addSpans(t, r.spans.GetSpans())
	})
}
