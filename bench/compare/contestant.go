package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-resty/resty/v2"
	"github.com/gojek/heimdall/v7"
	"github.com/gojek/heimdall/v7/httpclient"
	"github.com/hashicorp/go-retryablehttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/pool"
)

// retries is how often every contestant that retries does so, without waits.
const retries = 4

// sender sends one request and reports whether its caller sees a failure: an
// error, or a status from 500 on.
type sender func() bool

// ground is what a contestant stands on.
type ground struct {
	base  http.RoundTripper // its own
	url   string
	scope *scope
}

// entry is a contestant in a world.
type entry struct {
	member func(method string, body func() io.Reader) sender // for one goroutine
	flush  func()
	close  func()
}

// contestant is a client under test.
type contestant struct {
	name  string
	wire  bool // needs an http.Transport below
	enter func(ground) entry
}

func contestants() []contestant {
	return []contestant{
		{"base alone", false, func(g ground) entry { return plain(g.base, g) }},
		{"plimsoll, pool alone", true, enterPool},
		{"plimsoll, no telemetry", false, func(g ground) entry {
			return enterPlimsoll(g, client.Config{NoTelemetry: true, Breaker: newBreaker()}, nil)
		}},
		{"plimsoll, no-op providers", false, plimsollWith(noop)},
		{"plimsoll, SDK unsampled", false, plimsollWith(func() providers { return sdk(false) })},
		{"plimsoll, SDK sampled", false, plimsollWith(func() providers { return sdk(true) })},
		{"go-retryablehttp", false, enterRetryable},
		{"failsafe-go", false, enterFailsafe},
		{"resty", false, enterResty},
		{"heimdall", false, enterHeimdall},
		{"otelhttp, SDK sampled", false, enterOtel},
		{"otelhttp around go-retryablehttp", false, enterOtelRetryable},
	}
}

// plain sends through an http.Client over rt.
func plain(rt http.RoundTripper, g ground) entry {
	return through((&http.Client{Transport: rt}).Do, g)
}

// through sends with do. The base's idle connections are closed at the end.
func through(do func(*http.Request) (*http.Response, error), g ground) entry {
	return entry{
		member: func(method string, body func() io.Reader) sender {
			var ctx context.Context
			var fixed *http.Request
			g.scope.join(func(c context.Context) {
				if ctx = c; body == nil {
					fixed = request(method, g.url, nil).WithContext(ctx)
				}
			})
			return func() bool {
				req := fixed
				if req == nil {
					req = request(method, g.url, body()).WithContext(ctx)
				}
				resp, err := do(req)
				return failed(resp, err)
			}
		},
		flush: func() {},
		close: func() { closeIdle(g.base) },
	}
}

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func request(method, url string, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
	return req
}

// failed reads the response to its end.
func failed(resp *http.Response, err error) bool {
	if err != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return true
	}
	var buf [64]byte
	for {
		if _, err = resp.Body.Read(buf[:]); err != nil {
			break
		}
	}
	resp.Body.Close()
	return err != io.EOF || resp.StatusCode >= http.StatusInternalServerError
}

// leastCalls is how many calls every breaker wants to have seen. With 20, the
// first answers to 64 goroutines of which 30 % fail open one now and then, and
// what is measured is how fast it refuses.
const leastCalls = 100

// newBreaker opens when half of at least leastCalls fail, as failsafe-go's does
// here, and not after a streak.
func newBreaker() *breaker.Breaker {
	return must(breaker.New(breaker.Config{MinCalls: leastCalls, ConsecutiveFailures: leastCalls}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func enterPool(g ground) entry {
	p := must(pool.New(pool.Config{Base: g.base.(*http.Transport)}))
	e := plain(p, g)
	e.close = func() { p.Close() }
	return e
}

// enterPlimsoll is a whole client: retry and budget, and what cfg says.
func enterPlimsoll(g ground, cfg client.Config, flush func()) entry {
	cfg.Retry = client.RetryPolicy{MaxRetries: retries, BaseDelay: 1, MaxDelay: 1}
	if t, ok := g.base.(*http.Transport); ok {
		cfg.Transport = t
	} else {
		cfg.Base = g.base
	}
	c := must(client.New(cfg))
	e := through(c.Client.Do, g)
	if flush != nil {
		e.flush = flush
	}
	e.close = func() { c.Close() }
	return e
}

func plimsollWith(to func() providers) func(ground) entry {
	return func(g ground) entry {
		p := to()
		return enterPlimsoll(g, client.Config{Breaker: newBreaker(), Telemetry: p.bridge()}, p.flush)
	}
}

func retryable(base http.RoundTripper) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.Logger = nil
	c.RetryMax = retries
	c.Backoff = func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 }
	return c
}

func enterRetryable(g ground) entry {
	c := retryable(g.base)
	e := through(nil, g)
	e.member = func(method string, body func() io.Reader) sender {
		var ctx context.Context
		var fixed *retryablehttp.Request
		g.scope.join(func(c context.Context) {
			if ctx = c; body == nil {
				fixed = must(retryablehttp.FromRequest(request(method, g.url, nil).WithContext(ctx)))
			}
		})
		return func() bool {
			req := fixed
			if req == nil {
				req = must(retryablehttp.FromRequest(request(method, g.url, body()).WithContext(ctx)))
			}
			resp, err := c.Do(req)
			return failed(resp, err)
		}
	}
	return e
}

// failsafe is a RoundTripper with retries, a budget and a breaker.
func failsafe(base http.RoundTripper) http.RoundTripper {
	retry := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(retries).WithBudget(budget.New()).Build()
	gate := circuitbreaker.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, err error) bool { return err != nil || resp != nil && resp.StatusCode >= 500 }).
		WithFailureRateThreshold(0.5, leastCalls, time.Minute).Build()
	return failsafehttp.NewRoundTripper(base, retry, gate)
}

func enterFailsafe(g ground) entry { return plain(failsafe(g.base), g) }

func enterResty(g ground) entry {
	c := resty.New().SetLogger(silent{}).SetTransport(g.base).SetRetryCount(retries).SetRetryWaitTime(1).SetRetryMaxWaitTime(1).
		AddRetryCondition(func(r *resty.Response, err error) bool { return err != nil || r.StatusCode() >= 500 })
	e := through(nil, g)
	e.member = func(method string, body func() io.Reader) sender {
		var ctx context.Context
		g.scope.join(func(c context.Context) { ctx = c }) //nolint:fatcontext // a new one, in no other
		return func() bool {
			r := c.R().SetContext(ctx).SetHeader("Accept", "application/json").SetHeader("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
			if body != nil {
				r.SetBody(body())
			}
			resp, err := r.Execute(method, g.url)
			return err != nil || resp.StatusCode() >= http.StatusInternalServerError
		}
	}
	return e
}

// silent is a logger for resty, which tells of every failure that it retries.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

func enterHeimdall(g ground) entry {
	c := httpclient.NewClient(
		httpclient.WithHTTPClient(&http.Client{Transport: g.base}),
		httpclient.WithRetryCount(retries),
		httpclient.WithRetrier(heimdall.NewRetrierFunc(func(int) time.Duration { return 0 })),
	)
	return through(c.Do, g)
}

func enterOtel(g ground) entry {
	p := sdk(true)
	e := plain(otelhttp.NewTransport(g.base, p.otelhttp()...), g)
	e.flush = p.flush
	return e
}

func enterOtelRetryable(g ground) entry {
	p := sdk(true)
	e := plain(otelhttp.NewTransport(&retryablehttp.RoundTripper{Client: retryable(g.base)}, p.otelhttp()...), g)
	e.flush = p.flush
	return e
}
