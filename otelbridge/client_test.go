package otelbridge_test

import (
	"context"
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
	shown.demandOptional(t)
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
