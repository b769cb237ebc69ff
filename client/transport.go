package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// Transport is the client as an http.RoundTripper, for wherever one is
// accepted. It is safe for concurrent use.
type Transport struct {
	cfg       Config        // resolved; immutable
	hooks     *events.Hooks // telemetry and user, joined
	telemetry *events.Hooks // nil: none
	user      *events.Hooks // Config.Hooks; may be nil
	bridge    *events.Hooks // the telemetry's own, which run no code of the user's on an attempt's header; nil: none, or they do
	bounds    bounds        // of calls
	patience  bounds        // of the calls that open streams
	born      time.Time     // what calls count their time from; immutable
	throttles *budget.Throttles
	retries   atomic.Bool // the kill switch of SetRetries
	gen       atomic.Pointer[generation]
	owner     *http.Client // the client that New made around it; nil without one; immutable

	closing sync.Mutex    // held by Reload, Shutdown and Close; lock order: before everything else
	old     []*generation // guarded by closing; retired ones whose calls still run
	closed  bool          // guarded by closing
	material
	template *http.Transport // guarded by closing; what the next generation is cloned from

	stop []func() error // guarded by closing once calls run; ends telemetry and subscriptions
}

// NewTransport returns a Transport for cfg. The error names the field and its
// value. Close it when it is no longer needed.
func NewTransport(cfg Config) (*Transport, error) {
	cfg, err := cfg.resolved()
	if err != nil {
		return nil, err
	}
	t := &Transport{
		throttles: budget.NewThrottles(0),
		bounds:    bounds{attempt: cfg.AttemptTimeout, idle: cfg.BodyIdleTimeout, size: cfg.MaxResponseBytes, lease: max(2*cfg.AttemptTimeout, leastLease)},
		patience:  streamBounds(&cfg.Stream),
	}
	t.retries.Store(true)
	t.born = time.Now()
	t.user = cfg.Hooks
	if err := t.observe(&cfg); err != nil {
		return nil, err
	}
	t.cfg, t.hooks = cfg, cfg.Hooks
	if cfg.Base == nil {
		t.template = template(cfg.Transport)
	}
	gen, err := newGeneration(1, &t.cfg, t.template)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("client: %w", err), all(t.stop))
	}
	t.gen.Store(gen)
	t.subscribe()
	return t, nil
}

// observe sets the telemetry up and joins its hooks with the user's.
func (t *Transport) observe(cfg *Config) error {
	if cfg.NoTelemetry {
		return nil
	}
	if cfg.Telemetry.OnPanic == nil {
		cfg.Telemetry.OnPanic = cfg.OnPanic
	}
	bridge, err := otelbridge.New(cfg.Telemetry)
	if err != nil {
		return fmt.Errorf("client: Config.Telemetry: %w", err)
	}
	stop, err := bridge.Observe(cfg.Name, t.sources())
	if err != nil {
		return errors.Join(fmt.Errorf("client: Config.Telemetry: %w", err), bridge.Close())
	}
	t.stop = []func() error{stop, bridge.Close}
	t.telemetry = bridge.Hooks()
	if cfg.Telemetry.SpanName == nil {
		t.bridge = t.telemetry
	}
	cfg.Hooks = events.Join(t.telemetry, cfg.Hooks)
	return nil
}

// subscribe reports what the breaker learns outside calls, from the store that
// it shares with other processes.
func (t *Transport) subscribe() {
	b, h := t.cfg.Breaker, t.hooks
	if b == nil || h == nil {
		return
	}
	mine := &events.Hooks{}
	if h.BreakerChanged != nil {
		mine.BreakerChanged = func(ctx context.Context, e events.BreakerChanged) {
			defer t.tellPanic()
			e.Client, e.Partition = t.cfg.Name, e.Key
			e.Origin = t.origins()[e.Key]
			h.BreakerChanged(ctx, e)
		}
	}
	if h.BreakerStoreChanged != nil {
		mine.BreakerStoreChanged = func(ctx context.Context, e events.BreakerStoreChanged) {
			defer t.tellPanic()
			e.Client = t.cfg.Name
			h.BreakerStoreChanged(ctx, e)
		}
	}
	stop := b.Notify(mine)
	t.stop = append(t.stop, func() error { stop(); return nil })
}

// tellPanic, deferred, hands a panic to OnPanic and lets it go on to the
// breaker, which recovers and counts it.
func (t *Transport) tellPanic() {
	if t.cfg.OnPanic == nil {
		return
	}
	if v := recover(); v != nil {
		t.cfg.OnPanic(v)
		panic(v)
	}
}

// all calls every function and joins their errors.
func all(stop []func() error) error {
	var errs []error
	for _, f := range stop {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// RoundTrip sends req, with retries as configured, and returns the response or
// an error, never both. It does not change req; it closes its body exactly
// once, possibly after it has returned. Concurrent calls are independent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.roundTrip(req, nil)
}

// memory is what one call allocates for itself.
type memory struct {
	call
	first attempt
}

// roundTrip is one call; of a stream's connection, if s is not nil.
func (t *Transport) roundTrip(req *http.Request, s *streamConn) (*http.Response, error) {
	m := new(memory)
	c := &m.call
	c.t, c.req, c.Context, c.off = t, req, req.Context(), &straight
	over := false
	defer func() {
		switch {
		case over:
		case c.target == nil: // Config.Partition panicked
			c.closeRequestBody()
		default:
			c.abort()
		}
	}()
	err := c.enter()
	if err != nil {
		c.closeRequestBody()
		over = true
		return nil, err
	}
	if s != nil {
		s.join(c)
	}
	resp, err := c.run(&m.first)
	over = true
	return resp, err
}

// enter takes the current generation and the request's target in it. From here
// on the call counts as running.
func (c *call) enter() error {
	req := c.req
	switch {
	case req.URL == nil:
		return errors.New("client: Request.URL is nil: set one, as http.NewRequest does")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https" && c.t.cfg.Base == nil:
		return fmt.Errorf("client: Request.URL has scheme %q: use http or https", req.URL.Scheme)
	case req.URL.Host == "" && c.t.cfg.Base == nil:
		return errors.New("client: Request.URL has no host: use an absolute URL")
	}
	partition := ""
	if c.t.cfg.Partition != nil {
		partition = c.t.cfg.Partition(req)
	}
	for {
		gen := c.t.gen.Load()
		if gen == nil {
			return ErrClosed
		}
		target := gen.targets.enter(req, partition)
		if target == nil {
			return errors.New("client: Request.URL.Host holds one of @?#: credentials belong into URL.User, a query into URL.RawQuery, a fragment into URL.Fragment")
		}
		if !gen.retired.Load() {
			c.gen, c.target = gen, target
			return nil
		}
		gen.leave(target)
		if c.t.gen.Load() == gen {
			return ErrClosed
		}
	}
}

// CloseIdleConnections closes the connections that serve no request.
func (t *Transport) CloseIdleConnections() {
	if g := t.gen.Load(); g != nil {
		g.closeIdle()
	}
}

// SetRetries switches retries on or off at run time, for all calls, those under
// way included. Recovery of dead connections in the pool goes on.
func (t *Transport) SetRetries(enabled bool) { t.retries.Store(enabled) }

// Shutdown refuses new calls with [ErrClosed] and waits until the running ones,
// their bodies included, are done, or until ctx ends; then it closes
// everything as Close does. It returns ctx's error if calls were cut off.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.closing.Lock()
	gens := t.retireLocked()
	t.closing.Unlock()
	var err error
	for _, g := range gens {
		g.closeIdle()
		if drainErr := g.drain(ctx); drainErr != nil && err == nil {
			err = fmt.Errorf("client: Shutdown with %d calls running: %w", g.targets.active(), drainErr)
		}
	}
	return errors.Join(err, t.Close())
}

// Close refuses new calls, closes all connections, those in use included, ends
// the waits of calls under way, which return [ErrClosed], and ends the
// telemetry of this client. Closing again does nothing.
func (t *Transport) Close() error {
	t.closing.Lock()
	gens, stop := t.retireLocked(), t.stop
	t.old, t.stop, t.closed = nil, nil, true
	t.closing.Unlock()
	// Outside the lock: telemetry that collects at this moment asks for it.
	for _, g := range gens {
		g.close()
	}
	return all(stop)
}

// retireLocked keeps new calls out and returns all generations with
// connections.
func (t *Transport) retireLocked() []*generation {
	if g := t.gen.Load(); g != nil && !g.retired.Swap(true) {
		t.old = append(t.old, g)
	}
	return t.old
}
