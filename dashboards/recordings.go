package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// recordings are the series worth keeping for longer than the raw ones, one
// per partition: what a budget held, how fast it drained, and what reached the
// callers.
func (r rules) recordings() []Recording {
	tokens, capacity := r.q.Of(catalog.BudgetTokens), r.q.Of(catalog.BudgetCapacity)
	w := promql.Over(recent)
	by := func(e promql.Expr) promql.Expr { return promql.Sum(e, byPartition...) }
	return []Recording{
		{recorded(catalog.BudgetTokens, "", "min"), promql.Min(tokens.Now(), byPartition...)},
		{recorded(catalog.BudgetTokens, "_fill", "min"), promql.Min(tokens.Now().Div(capacity.Now()), byPartition...)},
		{recorded(catalog.BudgetTokens, "", "min_deriv5m"), promql.Min(tokens.Slope(w), byPartition...)},
		{recorded(catalog.CallDuration, "_count", "rate5m"), by(r.q.Count(catalog.CallDuration).Rate(w))},
		{recorded(catalog.CallEscapes, "", "rate5m"), by(r.q.Of(catalog.CallEscapes).Rate(w))},
		{recorded(catalog.RetryArmed, "", "rate5m"), by(r.q.Of(catalog.RetryArmed).Rate(w))},
		{recorded(catalog.RetrySkipped, "", "rate5m"), promql.Sum(r.q.Of(catalog.RetrySkipped).Rate(w), append(ByPartition(), catalog.KeySkipReason)...)},
		{recorded(catalog.CallDuration, "", "p95_5m"), promql.Quantile(0.95, r.q.Buckets(catalog.CallDuration).Rate(w), byPartition...)},
	}
}

// recorded names a series derived from a metric, by Prometheus's convention
// level:metric:operations. What isn't in the catalogue gets no name, and so
// fails the rule's check.
func recorded(metric, suffix, operation string) string {
	m, ok := catalog.Lookup(metric)
	if !ok {
		return ""
	}
	return "partition:" + m.PrometheusName() + suffix + ":" + operation
}
