package otelbridge_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// samplerOf is a sampler that counts how often it is asked for an attempt.
type samplerOf struct {
	sdktrace.Sampler
	attempts int
	wants    func(sdktrace.SamplingParameters) bool // nil: what Sampler says
}

func (s *samplerOf) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Kind == trace.SpanKindClient {
		s.attempts++
	}
	if s.wants != nil && s.wants(p) {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return s.Sampler.ShouldSample(p)
}

func rigWithSampler(t *testing.T, s sdktrace.Sampler, change ...func(*otelbridge.Config)) *rig {
	return newRig(t, append(change, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(s))
	})...)
}

// numbered sends call number n with an attempt and returns what the server is
// told.
func (r *rig) numbered(n int) http.Header { return r.named(n, "", nil) }

// named is numbered for a route. inside may change the context for what happens
// inside the call, as a hook may.
func (r *rig) named(n int, route string, inside func(context.Context) context.Context) http.Header {
	m, header := meta, http.Header{}
	m.Call = uint64(n) //nolint:gosec // a small number
	ctx := r.hooks.CallStarted(r.t.Context(), events.CallStarted{Meta: m, Method: http.MethodGet})
	if inside != nil {
		ctx = inside(ctx)
	}
	inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet, Route: route, Header: header})
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: 200})
	r.hooks.CallDone(ctx, events.CallDone{Meta: m, Method: http.MethodGet, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
	return header
}

func TestASamplerThatDropsAttemptsWithTheirCallsIsAskedForFewOfThem(t *testing.T) {
	for name, step := range map[string]int{"every number": 1, "every other number": 2, "every sixteenth number": 16} {
		t.Run(name, func(t *testing.T) {
			s := &samplerOf{Sampler: sdktrace.ParentBased(sdktrace.NeverSample())}
			r := rigWithSampler(t, s)
			const calls = 1600
			for n := range calls {
				header := r.numbered(n * step)
				if got := header.Get("Traceparent"); len(got) != 55 || got[53:] != "00" {
					t.Fatalf("call %d tells the server %q, want a trace that is not sampled", n, got)
				}
			}
			// 64, and one in sixteen of the rest.
			if s.attempts < 64+50 || s.attempts > 64+200 {
				t.Errorf("the sampler was asked for %d of %d attempts", s.attempts, calls)
			}
		})
	}
}

func TestASamplerThatWantsAttemptsAloneGetsThem(t *testing.T) {
	t.Run("from the start", func(t *testing.T) {
		s := &samplerOf{Sampler: sdktrace.NeverSample(), wants: func(p sdktrace.SamplingParameters) bool { return p.Kind == trace.SpanKindClient }}
		r := rigWithSampler(t, s)
		for n := range 500 {
			if got := r.numbered(n).Get("Traceparent"); got[53:] != "01" {
				t.Fatalf("attempt %d is not sampled", n)
			}
		}
	})
	t.Run("later", func(t *testing.T) {
		on := false
		s := &samplerOf{Sampler: sdktrace.NeverSample(), wants: func(p sdktrace.SamplingParameters) bool { return on && p.Kind == trace.SpanKindClient }}
		r := rigWithSampler(t, s)
		n := 0
		for ; n < 1000; n++ {
			r.numbered(n)
		}
		on = true
		begin := n
		for r.numbered(n).Get("Traceparent")[53:] != "01" {
			if n++; n-begin > 200 {
				t.Fatal("200 attempts that the sampler wants are not sampled")
			}
		}
		for range 500 {
			if n++; r.numbered(n).Get("Traceparent")[53:] != "01" {
				t.Fatalf("attempt %d is not sampled after the sampler was seen to want one", n)
			}
		}
	})
	t.Run("by the attributes of the start", func(t *testing.T) {
		s := &samplerOf{Sampler: sdktrace.NeverSample()}
		r := rigWithSampler(t, s, func(c *otelbridge.Config) { c.StartAttributes = true })
		for n := range 500 {
			r.numbered(n)
		}
		if s.attempts != 500 {
			t.Errorf("the sampler was asked for %d of 500 attempts", s.attempts)
		}
	})
}

// A sampler by names, such as one with a rate for each operation.
func TestASamplerThatWantsAttemptsOfOneNameGetsThem(t *testing.T) {
	s := &samplerOf{Sampler: sdktrace.NeverSample(), wants: func(p sdktrace.SamplingParameters) bool { return p.Name == "GET /pay" }}
	r := rigWithSampler(t, s)
	n := 0
	for ; n < 1000; n++ {
		r.named(n, "/orders", nil)
	}
	for range 100 {
		n++
		if got := r.named(n, "/pay", nil).Get("Traceparent"); got[53:] != "01" {
			t.Fatalf("attempt %d is not sampled", n)
		}
	}
}

func TestASamplerIsAskedForAllAttemptsOfMoreNamesThanAreRemembered(t *testing.T) {
	s := &samplerOf{Sampler: sdktrace.NeverSample()}
	r := rigWithSampler(t, s)
	const names, each = 300, 100
	for n := range names * each {
		r.named(n, "/"+strconv.Itoa(n%names), nil)
	}
	least := (names-256)*each + 256*64
	if s.attempts < least || s.attempts > least+256*each/8 {
		t.Errorf("the sampler was asked for %d of %d attempts, want %d and some", s.attempts, names*each, least)
	}
}

// The parent of an attempt is what its context says, not what its call is.
func TestAnAttemptInsideASampledSpanOfAHookIsSampled(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	r := newRig(t, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())), sdktrace.WithSyncer(spans))
	})
	n := 0
	for ; n < 200; n++ {
		r.numbered(n)
	}
	for range 50 {
		n++
		spans.Reset()
		var id trace.SpanID
		header := r.named(n, "", func(ctx context.Context) context.Context {
			inner, span := provider.Tracer("hook").Start(ctx, "hook", trace.WithNewRoot())
			id = span.SpanContext().SpanID()
			return inner
		})
		got := spans.GetSpans()
		if len(got) != 1 || got[0].SpanKind != trace.SpanKindClient || got[0].Parent.SpanID() != id {
			t.Fatalf("%d spans, want the attempt's alone, inside the hook's", len(got))
		}
		if want := got[0].SpanContext.SpanID().String(); header.Get("Traceparent")[36:52] != want {
			t.Fatalf("the server is told %s, want the span %s", header.Get("Traceparent"), want)
		}
	}
}

func TestAWaitInsideASampledSpanOfAHookIsSampled(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	r := newRig(t, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())), sdktrace.WithSyncer(spans))
	})
	call := r.callStarted(t.Context())
	r.hooks.RetryArmed(call, events.RetryArmed{Meta: meta, Attempt: 1, Next: 2, Cause: events.CauseStatus})
	if got := len(spans.GetSpans()); got != 0 {
		t.Errorf("%d spans of a call that was dropped", got)
	}
	inner, span := sdktrace.NewTracerProvider().Tracer("hook").Start(call, "hook", trace.WithNewRoot())
	r.hooks.RetryArmed(inner, events.RetryArmed{Meta: meta, Attempt: 1, Next: 2, Cause: events.CauseStatus})
	if got := spans.GetSpans(); len(got) != 1 || got[0].Parent.SpanID() != span.SpanContext().SpanID() {
		t.Errorf("%d spans, want the wait's inside the hook's", len(got))
	}
}

// Half of the calls are sampled: their attempts are, whatever is known of the
// others, and nobody counts them.
func TestAttemptsOfSampledCallsAreSampledWhateverIsKnownOfOthers(t *testing.T) {
	on := false
	s := &samplerOf{Sampler: sdktrace.ParentBased(sdktrace.NeverSample()), wants: func(p sdktrace.SamplingParameters) bool { return on && p.Kind == trace.SpanKindInternal }}
	r := rigWithSampler(t, s)
	const calls = 2000
	for n := range calls {
		on = n%2 == 0 && n > 200
		if got := r.numbered(n).Get("Traceparent"); (got[53:] == "01") != on {
			t.Fatalf("call %d tells the server %s, sampled: want %v", n, got, on)
		}
	}
	if s.attempts > calls/2+64+200 {
		t.Errorf("the sampler was asked for %d of %d attempts, half of which are of sampled calls", s.attempts, calls)
	}
}

func TestTheSamplerIsAskedForTheFirstAttempts(t *testing.T) {
	s := &samplerOf{Sampler: sdktrace.NeverSample()}
	r := rigWithSampler(t, s)
	for n := range 64 {
		if r.numbered(n); s.attempts != n+1 {
			t.Fatalf("asked for %d of %d attempts", s.attempts, n+1)
		}
	}
}

func TestASamplerSeesTheKindsOfSpans(t *testing.T) {
	var kinds []trace.SpanKind
	s := &samplerOf{Sampler: sdktrace.NeverSample(), wants: func(p sdktrace.SamplingParameters) bool {
		kinds = append(kinds, p.Kind)
		return true
	}}
	r := rigWithSampler(t, s)
	r.everything(meta)
	for _, k := range kinds {
		if k != trace.SpanKindInternal && k != trace.SpanKindClient {
			t.Errorf("a sampler sees the kind %v", k)
		}
	}
}

// What happens after a call that was dropped stands alone, as after any other.
func TestAnEventAfterADroppedCallMayBeSampled(t *testing.T) {
	s := &samplerOf{Sampler: sdktrace.NeverSample(), wants: func(p sdktrace.SamplingParameters) bool { return p.Name == "plimsoll.conn.closed" }}
	spans := tracetest.NewInMemoryExporter()
	r := newRig(t, func(c *otelbridge.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSyncer(spans))
	})
	const calls = 200
	for n := range calls {
		m := meta
		m.Call = uint64(n) //nolint:gosec // a small number
		ctx := r.hooks.CallStarted(t.Context(), events.CallStarted{Meta: m, Method: http.MethodGet})
		inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet, Header: http.Header{}})
		r.hooks.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: 200})
		r.hooks.CallDone(ctx, events.CallDone{Meta: m, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
		r.hooks.ConnClosed(inner, events.ConnClosed{Meta: m, Conn: 1})
	}
	if got := len(spans.GetSpans()); got != calls {
		t.Errorf("%d spans of %d events after their calls", got, calls)
	}
}
