package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// The UIDs of the standard dashboards, without a title prefix.
const (
	uidOverview    = "plimsoll-overview"
	uidBudget      = "plimsoll-retry-budget"
	uidConnections = "plimsoll-connections"
	uidBreaker     = "plimsoll-breaker"
	uidStreams     = "plimsoll-streams"
)

// The titles of panels that alerts point to.
const (
	titleTokens      = "Tokens and capacity"
	titleSkips       = "Skipped retries by reason"
	titleEscapes     = "Escapes by skip reason"
	titleBreaker     = "State"
	titleTransitions = "Transitions"
	titleRecoveries  = "Recovered requests"
	titleWaiting     = "Requests waiting for a connection"
	titleThrottles   = "Retry-After answers"
)

// panels builds the standard panels over one source.
type panels struct {
	q promql.Source
	o Options
}

func newPanels(q promql.Source, o Options) panels { return panels{q, o} }

func (p panels) boards() []Board {
	return []Board{p.overview(), p.budget(), p.connections(), p.breaker(), p.streams()}
}

// rate is the change per second of a counter, for each combination of keys.
func (p panels) rate(name string, keys ...string) promql.Expr {
	return promql.Sum(p.q.Of(name).Rate(promql.RateInterval), keys...)
}

// calls is how many calls end per second, for each combination of keys.
func (p panels) calls(keys ...string) promql.Expr {
	return promql.Sum(p.q.Count(catalog.CallDuration).Rate(promql.RateInterval), keys...)
}

// quantile is a quantile of a histogram, for each combination of keys.
func (p panels) quantile(q float64, name string, keys ...string) promql.Expr {
	return promql.Quantile(q, p.q.Buckets(name).Rate(promql.RateInterval), keys...)
}

// quantiles are the median, the 95th and the 99th percentile of a histogram
// over everything that is chosen.
func (p panels) quantiles(name string) []Query {
	return []Query{
		{p.quantile(0.5, name), "p50"},
		{p.quantile(0.95, name), "p95"},
		{p.quantile(0.99, name), "p99"},
	}
}

// share divides two rates; without traffic the share is zero.
func share(part, whole promql.Expr) promql.Expr { return part.Div(whole.NoLess(1e-9)) }

// one is a single query with the keys as its legend.
func one(e promql.Expr, keys ...string) []Query { return []Query{{e, Legend(keys...)}} }

// total is a single query that sums everything up, with its name.
func total(e promql.Expr, name string) []Query { return []Query{{e, name}} }

func with(keys []string, more ...string) []string {
	return append(append([]string(nil), keys...), more...)
}

// badFrom is red from a value upwards.
func badFrom(v float64) []Step { return []Step{{v, Red}} }

// badBelow is red below low and yellow below fair; the base has to be Red.
func badBelow(low, fair float64) []Step { return []Step{{low, Yellow}, {fair, Green}} }
