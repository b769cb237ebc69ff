package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/pool"
)

// Config describes a client. The zero Config is ready for use: a pool over a
// clone of http.DefaultTransport, up to four retries of idempotent requests
// from a budget of 500 tokens per origin, no breaker, and telemetry through
// the global OpenTelemetry providers.
//
// Zero fields take the documented default. Negative values switch a thing off
// where the field says so and are an error otherwise.
type Config struct {
	// Name is the plimsoll.client attribute of every event, span and metric;
	// it tells two clients of one process apart. "" is "default". At most 64
	// bytes without control characters.
	Name string

	// Transport is the template of the pool: dialling, TLS, proxy and limits
	// are taken from it. It is cloned, never mutated. nil is a clone of
	// http.DefaultTransport if that is an *http.Transport, else its stock
	// values.
	Transport *http.Transport

	// Pool holds the settings of the pool that an *http.Transport has no field
	// for: Recoveries, MaxConnLifetime, MaxConnWait, PingInterval,
	// RetryNonIdempotent (in recovery alone; RetryPolicy's is for retries and
	// recovery), AllowTruncated. Zero: their documented defaults. Its Base, Hooks and
	// OnPanic must be zero, since the client sets them; anything else is an
	// error. Not together with Base.
	Pool pool.Config

	// Base is used instead of the pool. Then there is no recovery of dead
	// connections and there are no connection events, and Reload is an error.
	// nil: the pool. Base together with Transport or Pool is an error.
	Base http.RoundTripper

	// Timeout presets the Timeout of the embedded http.Client. 0: none.
	// Negative: an error.
	Timeout time.Duration

	// Jar presets the Jar of the embedded http.Client. Cookies of responses
	// that a retry replaced are stored in it too. nil: no cookies are kept.
	Jar http.CookieJar

	// Retry is the retry policy of every call that has none of its own; see
	// WithRetry. Zero: up to four retries of what is idempotent.
	Retry RetryPolicy

	// Budget limits retries. nil is budget.New(budget.Default()). One bucket
	// may be shared between clients.
	Budget *budget.Bucket

	// NoBudget lets every retry go unpaid. Not together with Budget.
	NoBudget bool

	// Breaker refuses attempts to a partition that fails. nil: none. One
	// breaker may be shared between clients.
	Breaker *breaker.Breaker

	// BreakerFallback answers a call whose first attempt the breaker refused.
	// It returns a response or an error, and owns neither the request's body,
	// which is closed already, nor the permit. nil: the call returns the
	// *breaker.RejectedError. Without a Breaker it is an error.
	BreakerFallback func(*http.Request, *breaker.RejectedError) (*http.Response, error)

	// Classify says what the breaker is told of an attempt. nil: transport
	// errors, attempt timeouts, an exceeded deadline while waiting for the
	// response and 408 500 502 503 504 are failures; 429 is backpressure; a
	// caller's cancellation is neutral; all else is success. It is not asked
	// for cancellations and queueing. Without a Breaker it is an error.
	Classify func(*http.Response, error) breaker.Outcome

	// Partition gives the key of budget, breaker and throttle. It must be
	// low-cardinality. The key is lower-cased; "" falls back to the origin.
	// nil is the origin, as normalised scheme://host:port.
	Partition func(*http.Request) string

	// MaxTotalRetryDuration bounds the sum of all waits of one call, redirects
	// included. 0: 2 minutes. Negative: only the context bounds them.
	MaxTotalRetryDuration time.Duration

	// RetryAfterCeiling is the longest Retry-After that is waited for or
	// remembered. 0: 60 s. Negative: an error.
	RetryAfterCeiling time.Duration

	// AttemptTimeout bounds one attempt from dial to response headers, without
	// the time in the queue for a connection. 0: none. Negative: an error.
	AttemptTimeout time.Duration

	// BodyIdleTimeout is the longest silence while a response body is read; a
	// longer one ends the read in *BodyIdleError. 0: none. Negative: an error.
	BodyIdleTimeout time.Duration

	// MaxResponseBytes caps a response body, counted after decompression; past
	// it the read ends in *BodyTooLargeError. 0: no cap. Negative: an error.
	MaxResponseBytes int64

	// Stream configures the event streams of Client.Stream. Zero: the
	// documented defaults of StreamConfig, without Resume.
	Stream StreamConfig

	// Hooks are the user's own hooks. They run after the telemetry's. nil:
	// none. Join several with events.Join.
	Hooks *events.Hooks

	// OnPanic is handed what a hook panicked with on a background goroutine,
	// where the panic was recovered. nil: it is only counted.
	OnPanic func(any)

	// Telemetry configures spans and metrics. Zero: the global OpenTelemetry
	// providers and propagator.
	Telemetry otelbridge.Config

	// NoTelemetry switches spans and metrics off.
	NoTelemetry bool
}

// RetryPolicy says which failures are tried again, how often and how fast.
type RetryPolicy struct {
	// MaxRetries is how many retries one call may make. 0: 4, so five
	// attempts. Negative: none. At most 1000.
	MaxRetries int

	// BaseDelay is the upper end of the first backoff; the n-th is drawn
	// uniformly from [0, min(BaseDelay·2^(n−1), MaxDelay)] ("full jitter").
	// 0: 25 ms, or MaxDelay if that is set and shorter. Negative: an error.
	BaseDelay time.Duration

	// MaxDelay caps a backoff. 0: 20 s, or BaseDelay if that is longer.
	// Negative or below BaseDelay: an error. A Retry-After is not capped by
	// it.
	MaxDelay time.Duration

	// RetryNonIdempotent treats every method as idempotent: in retries, and in
	// the pool's recovery of dead connections. Zero: false.
	RetryNonIdempotent bool

	// Overrun says what happens when a wait does not fit the total retry time.
	// Zero: Return, which gives the caller what is in hand.
	Overrun Overrun

	// RetryIf overrides the built-in verdict. It is asked after the gates
	// "enabled", "retries remain" and "body replayable", on the caller's
	// goroutine. nil: the built-in verdict.
	RetryIf func(context.Context, Try) Verdict
}

// Overrun says what happens when a wait (a Retry-After or a throttle) does not
// fit the total retry time.
type Overrun int

const (
	// Return returns at once: the 429 or 503 in hand with skip reason
	// "deadline", or *ThrottledError if nothing was sent yet.
	Return Overrun = iota
	// Send waits for the rest of the total retry time and sends then, earlier
	// than the server asked; the call forgets the throttle. If the context
	// ends first, it returns at once and sends nothing.
	Send
)

// String returns "return" or "send".
func (o Overrun) String() string {
	switch o {
	case Return:
		return "return"
	case Send:
		return "send"
	}
	return fmt.Sprintf("Overrun(%d)", int(o))
}

const (
	defaultMaxRetries = 4
	mostRetries       = 1000
	defaultBaseDelay  = 25 * time.Millisecond
	defaultMaxDelay   = 20 * time.Second
	defaultTotal      = 2 * time.Minute
	defaultCeiling    = 60 * time.Second
	longestName       = 64
)

func (p RetryPolicy) resolved(prefix string) (RetryPolicy, error) {
	switch {
	case p.MaxRetries == 0:
		p.MaxRetries = defaultMaxRetries
	case p.MaxRetries > mostRetries:
		return p, fmt.Errorf("client: %sMaxRetries is %d: use at most %d, or a negative value for none", prefix, p.MaxRetries, mostRetries)
	}
	if p.BaseDelay < 0 {
		return p, fmt.Errorf("client: %sBaseDelay is %v: use 0 for %v, or a positive duration", prefix, p.BaseDelay, defaultBaseDelay)
	}
	if p.BaseDelay == 0 {
		p.BaseDelay = defaultBaseDelay
		if p.MaxDelay > 0 {
			p.BaseDelay = min(p.BaseDelay, p.MaxDelay)
		}
	}
	switch {
	case p.MaxDelay < 0:
		return p, fmt.Errorf("client: %sMaxDelay is %v: use 0 for %v, or a positive duration", prefix, p.MaxDelay, defaultMaxDelay)
	case p.MaxDelay == 0:
		p.MaxDelay = max(defaultMaxDelay, p.BaseDelay)
	case p.MaxDelay < p.BaseDelay:
		return p, fmt.Errorf("client: %sMaxDelay is %v, below BaseDelay %v: raise MaxDelay or lower BaseDelay", prefix, p.MaxDelay, p.BaseDelay)
	}
	if p.Overrun != Return && p.Overrun != Send {
		return p, fmt.Errorf("client: %sOverrun is %d: use client.Return or client.Send", prefix, int(p.Overrun))
	}
	return p, nil
}

// resolved returns the configuration with its defaults filled in.
func (c Config) resolved() (Config, error) {
	if c.Name == "" {
		c.Name = "default"
	}
	if len(c.Name) > longestName {
		return c, fmt.Errorf("client: Config.Name has %d bytes: use at most %d, it becomes an attribute of every metric", len(c.Name), longestName)
	}
	for _, r := range c.Name {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return c, fmt.Errorf("client: Config.Name %q has a control or invalid character: use printable text", c.Name)
		}
	}
	if c.Base != nil && c.Transport != nil {
		return c, fmt.Errorf("client: Config.Base is set (%T) and so is Config.Transport: set one; Base replaces the pool that Transport configures", c.Base)
	}
	switch {
	case c.Pool.Base != nil:
		return c, fmt.Errorf("client: Config.Pool.Base is set (%T): set Config.Transport, it is the pool's template", c.Pool.Base)
	case c.Pool.Hooks != nil:
		return c, fmt.Errorf("client: Config.Pool.Hooks is set (%T): set Config.Hooks, the pool reports to them", c.Pool.Hooks)
	case c.Pool.OnPanic != nil:
		return c, fmt.Errorf("client: Config.Pool.OnPanic is set (%T): set Config.OnPanic, the pool uses it", c.Pool.OnPanic)
	case c.Base != nil && (c.Pool.Recoveries != 0 || c.Pool.MaxConnLifetime != 0 || c.Pool.MaxConnWait != 0 || c.Pool.PingInterval != 0 ||
		c.Pool.RetryNonIdempotent || c.Pool.AllowTruncated):
		return c, fmt.Errorf("client: Config.Base is set (%T) and so is Config.Pool: set one; Base replaces the pool", c.Base)
	}
	if c.NoBudget && c.Budget != nil {
		return c, fmt.Errorf("client: Config.NoBudget is true and Config.Budget is set: set one")
	}
	if c.BreakerFallback != nil && c.Breaker == nil {
		return c, fmt.Errorf("client: Config.BreakerFallback is set and Config.Breaker is nil: set Breaker, nothing can reject otherwise")
	}
	if c.Classify != nil && c.Breaker == nil {
		return c, fmt.Errorf("client: Config.Classify is set and Config.Breaker is nil: set Breaker, nothing asks Classify otherwise")
	}
	for _, d := range []struct {
		field string
		value time.Duration
		hint  string
	}{
		{"Timeout", c.Timeout, "use 0 for none"},
		{"RetryAfterCeiling", c.RetryAfterCeiling, "use 0 for 60s"},
		{"AttemptTimeout", c.AttemptTimeout, "use 0 for none"},
		{"BodyIdleTimeout", c.BodyIdleTimeout, "use 0 for none"},
	} {
		if d.value < 0 {
			return c, fmt.Errorf("client: Config.%s is %v: %s, or a positive duration", d.field, d.value, d.hint)
		}
	}
	if c.MaxResponseBytes < 0 {
		return c, fmt.Errorf("client: Config.MaxResponseBytes is %d: use 0 for no cap, or a positive number of bytes", c.MaxResponseBytes)
	}
	if c.MaxTotalRetryDuration == 0 {
		c.MaxTotalRetryDuration = defaultTotal
	}
	if c.RetryAfterCeiling == 0 {
		c.RetryAfterCeiling = defaultCeiling
	}
	var err error
	if c.Retry, err = c.Retry.resolved("Config.Retry."); err != nil {
		return c, err
	}
	if c.Stream, err = c.Stream.resolved(); err != nil {
		return c, err
	}
	if c.Budget == nil && !c.NoBudget {
		if c.Budget, err = budget.New(budget.Default()); err != nil {
			return c, fmt.Errorf("client: default budget: %w", err)
		}
	}
	return c, nil
}
