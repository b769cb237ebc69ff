package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// failed narrows requests to those that ended in an error or a status from 400
// on.
func failed() promql.Matcher { return promql.Not(catalog.KeyErrorType, "") }

// open is 1 for each partition that some process has an open breaker for, else
// 0.
func (p panels) open(keys ...string) promql.Expr {
	return promql.Max(p.q.Of(catalog.BreakerState, promql.Is(catalog.KeyBreakerState, "open")).Now(), keys...)
}

func (p panels) activePanel() Panel {
	return Panel{
		Title: "Active requests", Kind: TimeSeries, Unit: UnitCount, Base: Blue, Min: new(float64(0)),
		Description: "Requests in flight. A rise without a rise in traffic means that the upstream slows down.",
		Queries:     one(promql.Sum(p.q.Of(catalog.ActiveRequests).Now(), byOrigin...), byOrigin...), Runbook: "pool-saturated",
	}
}

func (p panels) waitingStat() Panel {
	return Panel{
		Title: "Waiting requests", Kind: Stat, Unit: UnitCount, Steps: badFrom(1), Min: new(float64(0)), NoValue: "no pool",
		Description: "Requests that wait for a connection slot, in all processes.",
		Queries:     total(promql.Sum(p.q.Of(catalog.ConnWaiting).Now()), "waiting"), Runbook: "pool-saturated",
	}
}

func (p panels) overview() Board {
	limit := p.o.Thresholds.EscapeShare
	return Board{
		UID: uidOverview, Title: "Overview",
		Description: "What the callers of the clients see, and what the clients hide from them.",
		Rows: []Row{
			{Title: "Now", Panels: []Panel{
				{
					Title: "Calls", Kind: Stat, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)),
					Description: "Calls per second, retries not counted.",
					Queries:     total(p.calls(), "calls"), Runbook: "escapes",
				},
				{
					Title: "Escaped share", Kind: Stat, Unit: UnitShare, Steps: []Step{{limit / 10, Yellow}, {limit, Red}}, Min: new(float64(0)),
					Description: "Share of the calls whose caller got an error or a retryable status.",
					Queries:     total(share(p.rate(catalog.CallEscapes), p.calls()), "escaped"), Runbook: "escapes",
				},
				p.fillPanel(),
				p.emptyPanel(),
				{
					Title: "Open breakers", Kind: Stat, Unit: UnitCount, Steps: badFrom(1), Min: new(float64(0)), NoValue: "no breaker",
					Description: "Partitions whose circuit breaker is open in some process.",
					Queries:     total(promql.Sum(p.open(byPartition...)), "open"), Runbook: "breaker-open",
				},
				p.waitingStat(),
			}},
			{Title: "Calls, as their callers see them", Panels: []Panel{
				{
					Title: "Calls by outcome", Kind: TimeSeries, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "ok: the first attempt did it. recovered: a retry or another connection did. escaped: the caller got an error or a retryable status. rejected: breaker or throttle refused. canceled: the caller gave up.",
					Queries:     one(p.calls(catalog.KeyOutcome), catalog.KeyOutcome), Runbook: "escapes",
				},
				{
					Title: "Call duration", Kind: TimeSeries, Unit: UnitSeconds, Base: Blue, Min: new(float64(0)),
					Description: "Whole calls, all attempts and waits included, up to the end of the response body.",
					Queries:     p.quantiles(catalog.CallDuration), Runbook: "escapes",
				},
				{
					Title: "Call duration by outcome, p95", Kind: TimeSeries, Unit: UnitSeconds, Base: Blue, Min: new(float64(0)),
					Description: "Recovered calls that take long: retries hide a slow or failing upstream.",
					Queries:     one(p.quantile(0.95, catalog.CallDuration, catalog.KeyOutcome), catalog.KeyOutcome), Runbook: "budget-draining",
				},
				p.escapes(),
			}},
			{Title: "Requests, as the upstreams see them", Panels: []Panel{
				{
					Title: "Requests by origin", Kind: TimeSeries, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "Requests sent per second, retries and redirects counted.",
					Queries:     one(promql.Sum(p.q.Count(catalog.RequestDuration).Rate(promql.RateInterval), byOrigin...), byOrigin...), Runbook: "throttled",
				},
				{
					Title: "Failed requests by error", Kind: TimeSeries, Unit: UnitRequestsRate, Steps: []Step{{1, Yellow}}, Min: new(float64(0)), Stacked: true, NoValue: "no failures",
					Description: "Requests that ended in a status from 400 on or an error class, hidden from the callers or not.",
					Queries:     one(promql.Sum(p.q.Count(catalog.RequestDuration, failed()).Rate(promql.RateInterval), catalog.KeyErrorType), catalog.KeyErrorType), Runbook: "escapes",
				},
				{
					Title: "Request duration by origin, p95", Kind: TimeSeries, Unit: UnitSeconds, Base: Blue, Min: new(float64(0)),
					Description: "Each request up to the response's headers. Compare with the upstream's own latency: the difference is network, queueing or connection set-up.",
					Queries:     one(p.quantile(0.95, catalog.RequestDuration, byOrigin...), byOrigin...), Runbook: "pool-saturated",
				},
				p.activePanel(),
			}},
			{Title: "Retries and budget", Panels: []Panel{
				{
					Title: "Budget fill by partition", Kind: TimeSeries, Unit: UnitShare, Base: Red, Steps: badBelow(p.o.Thresholds.BudgetLow, 0.5), Min: new(float64(0)), Max: new(float64(1)),
					Description: "What the lowest process has left of its retry budget.",
					Queries:     one(p.fill(byPartition...), byPartition...), Runbook: "budget-low",
				},
				p.armed(),
				p.skips(),
				{
					Title: "Reloads and hook panics", Kind: TimeSeries, Unit: UnitRate, Steps: []Step{{0.1, Yellow}}, Min: new(float64(0)),
					Description: "Swaps of transports and certificates, and panics of the application's hooks that were recovered. Config.OnPanic gets the value.",
					Queries: []Query{
						{p.rate(catalog.Reloads, catalog.KeyClient), "reloads " + Legend(catalog.KeyClient)},
						{p.rate(catalog.HookPanics, catalog.KeyClient), "hook panics " + Legend(catalog.KeyClient)},
					}, Runbook: "README",
				},
			}},
		},
	}
}
