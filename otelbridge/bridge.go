package otelbridge

import (
	"context"
	"os"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// ScopeName is the name of the instrumentation scope of all spans and metrics.
const ScopeName = "github.com/plimsoll-http/plimsoll/otelbridge"

// schemaURL names the version of the semantic conventions that spans and
// metrics follow.
const schemaURL = "https://opentelemetry.io/schemas/1.43.0"

// Bridge reports the events of one or more clients to OpenTelemetry. It is safe
// for concurrent use.
type Bridge struct {
	tracer     trace.Tracer // of spans outside calls; nil: no spans
	in         *instruments // nil: no metrics
	propagator propagation.TextMapPropagator
	tracers    trace.TracerProvider // nil: no spans
	connTrace  bool                 // Config.ConnTrace
	methods    methods
	spanName   func(events.AttemptStarted) string
	onPanic    func(any)
	early      bool // Config.StartAttributes
	offerAll   bool // Config.AllExemplars
	sampler    verdicts

	scopes *registry[scope]
	places *registry[place]
	owners *registry[owner]
	shared combinations

	hooks *events.Hooks

	registration metric.Registration // nil without metrics

	mu           sync.Mutex
	observations []*observation // guarded by mu
	closed       bool           // guarded by mu
	collecting   int            // guarded by mu: collections that may read observations
}

// New returns a Bridge for cfg. An error names the field that is wrong, or
// comes from the MeterProvider when it refuses an instrument.
func New(cfg Config) (*Bridge, error) {
	limit, err := cfg.maxOrigins()
	if err != nil {
		return nil, err
	}
	b := &Bridge{
		propagator: cfg.Propagator,
		methods:    knownMethods(os.Getenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS")),
		spanName:   cfg.SpanName,
		onPanic:    cfg.OnPanic,
		early:      cfg.StartAttributes,
		offerAll:   cfg.AllExemplars,
		scopes:     newRegistry(limit, newScope),
		places:     newRegistry(limit, newPlace),
		owners:     newRegistry(limit, newOwner),
	}
	b.shared.left.Store(int64(catalog.SharedCombinations(limit)))
	if b.propagator == nil {
		b.propagator = otel.GetTextMapPropagator()
	}
	b.startTracing(cfg)
	if err := b.startMetering(cfg); err != nil {
		return nil, err
	}
	b.hooks = b.newHooks()
	return b, nil
}

func (b *Bridge) startTracing(cfg Config) {
	if cfg.DisableTraces {
		return
	}
	provider := cfg.TracerProvider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	tracer := newTracer(provider)
	if _, off := tracer.(tracenoop.Tracer); off {
		return
	}
	b.tracer, b.tracers = tracer, provider
	b.connTrace = cfg.ConnTrace
}

func newTracer(p trace.TracerProvider, of ...attribute.KeyValue) trace.Tracer {
	return p.Tracer(ScopeName, trace.WithInstrumentationVersion(Version()), trace.WithSchemaURL(schemaURL), trace.WithInstrumentationAttributes(of...))
}

// tracerIn returns the tracer of the spans of s's calls, whose instrumentation
// scope names the client. Spans are on.
func (b *Bridge) tracerIn(s *scope) trace.Tracer {
	if t := s.tracer.Load(); t != nil {
		return *t
	}
	// The provider may be anybody's: it is asked under no lock, and now and
	// then twice.
	t := newTracer(b.tracers, attribute.String(catalog.KeyClient, s.key.client))
	s.tracer.Store(&t)
	return t
}

func (b *Bridge) startMetering(cfg Config) error {
	if cfg.DisableMetrics {
		return nil
	}
	provider := cfg.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(ScopeName, metric.WithInstrumentationVersion(Version()), metric.WithSchemaURL(schemaURL))
	if _, off := meter.(metricnoop.Meter); off {
		return nil
	}
	in, err := newInstruments(meter)
	if err != nil {
		return err
	}
	b.registration, err = meter.RegisterCallback(b.collect, in.observables()...)
	if err != nil {
		return err
	}
	b.in = in
	return nil
}

// Hooks returns the hooks that report to b: always the same ones. Functions of
// a signal that is switched off, or whose provider is OpenTelemetry's no-op
// one, are nil.
func (b *Bridge) Hooks() *events.Hooks { return b.hooks }

// newHooks leaves out what would have nothing to do.
func (b *Bridge) newHooks() *events.Hooks {
	h := &events.Hooks{AttemptStarted: b.attemptStarted}
	if b.tracer == nil && b.in == nil {
		return h
	}
	h.CallStarted = b.callStarted
	h.CallDone = b.callDone
	h.AttemptDone = b.attemptDone
	h.RetryArmed = b.retryArmed
	h.RetrySkipped = b.retrySkipped
	h.BudgetReserved = b.budgetReserved
	h.BudgetSettled = b.budgetSettled
	h.BudgetReplenished = b.budgetReplenished
	h.ThrottleRecorded = b.throttleRecorded
	h.ThrottleWaited = b.throttleWaited
	h.ConnAcquired = b.connAcquired
	h.ConnClosed = b.connClosed
	h.ConnStale = b.connStale
	h.ConnRecovered = b.connRecovered
	h.BreakerChanged = b.breakerChanged
	h.BreakerRejected = b.breakerRejected
	h.BreakerProbe = b.breakerProbe
	h.BreakerStoreChanged = b.breakerStoreChanged
	h.StreamOpened = b.streamOpened
	h.StreamClosed = b.streamClosed
	h.Reloaded = b.reloaded
	if b.tracer != nil {
		h.ConnOpened = b.connOpened
		h.ConnReleased = b.connReleased
	}
	return h
}

// Close ends every observation. Spans that have begun still end, and hooks may
// still be called. It is idempotent. It does not wait for a reader that is
// collecting: that one may still read its sources.
func (b *Bridge) Close() error {
	b.mu.Lock()
	closed, busy := b.closed, b.collecting > 0
	b.closed = true
	b.observations = nil
	b.mu.Unlock()
	switch {
	case closed || b.registration == nil:
		return nil
	case busy:
		// The SDK holds its lock while it collects. A source may wait for a
		// lock that the caller of Close holds.
		go b.registration.Unregister() //nolint:errcheck // nothing can be done about it
		return nil
	}
	return b.registration.Unregister()
}

// scopeOf returns the scope of what m says, its counters born.
func (b *Bridge) scopeOf(ctx context.Context, m *events.Meta) *scope {
	return b.scopeIn(ctx, b.callOf(ctx), m)
}

// scopeIn returns the scope of what m says inside c, which may be nil.
func (b *Bridge) scopeIn(ctx context.Context, c *call, m *events.Meta) *scope {
	if c != nil && c.scope.is(m) {
		return c.scope
	}
	return b.scope(ctx, m.Client, m.Origin, m.Partition)
}

func (b *Bridge) scope(ctx context.Context, client, origin, partition string) *scope {
	s := b.scopes.get(normal(client, origin, partition))
	if b.in != nil && s.adds.Load() == nil {
		s.born(ctx, b.in, s.common, ofPartition, ofClient)
		b.owner(ctx, client) // born with its first partition
	}
	return s
}

func (b *Bridge) owner(ctx context.Context, client string) *owner {
	o := b.owners.get(scopeKey{client: clientName(client)})
	if b.in != nil {
		o.born(ctx, b.in, o.common, ofClient, counterCount)
	}
	return o
}

// normal returns the key of a scope. A partition that is the origin is left
// out; an origin that is not known is taken from the partition if that is one.
func normal(client, origin, partition string) scopeKey {
	if origin == "" && isOrigin(partition) {
		origin = partition
	}
	if partition == origin {
		partition = ""
	}
	return scopeKey{clientName(client), origin, partition}
}

// add counts n for one combination of the counter's own attributes, given by
// their values in the catalogue's order, in the scope of m.
func (b *Bridge) add(ctx context.Context, m *events.Meta, n int64, key seriesKey) {
	if b.in != nil {
		b.scopeOf(ctx, m).add(ctx, b.in, key, n)
	}
}

// addOfClient counts one for the client.
func (b *Bridge) addOfClient(ctx context.Context, client string, key seriesKey) {
	if b.in != nil {
		b.owner(ctx, client).add(ctx, b.in, key, 1)
	}
}

// panicked counts what a function of the configuration panicked with.
func (b *Bridge) panicked(ctx context.Context, client string, value any) {
	b.owner(ctx, client).panics.Add(1)
	if b.onPanic != nil {
		b.onPanic(value)
	}
}

// attributesOf returns the common attributes for the spans of s, which for the
// scope that takes the rest are not those of its metrics.
func (s *scope) attributesOf(m *events.Meta) []attribute.KeyValue {
	if !s.other {
		return s.common
	}
	return spanCommon(m)
}

// spanCommon returns the common attributes of a span for what m says.
func spanCommon(m *events.Meta) []attribute.KeyValue {
	key := normal(m.Client, m.Origin, m.Partition)
	if key.origin == "" && key.partition == "" {
		return []attribute.KeyValue{attribute.String(catalog.KeyClient, key.client)}
	}
	return commonAttributes(key, false)
}
