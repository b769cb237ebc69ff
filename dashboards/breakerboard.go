package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// state is 2 where some process has the breaker open, plus 1 where some has it
// half open.
func (p panels) state() promql.Expr {
	half := promql.Max(p.q.Of(catalog.BreakerState, promql.Is(catalog.KeyBreakerState, "half_open")).Now(), byPartition...)
	return p.open(byPartition...).Mul(promql.Number(2)).Add(half)
}

func (p panels) breaker() Board {
	moved := []string{catalog.KeyBreakerFrom, catalog.KeyBreakerTo, catalog.KeyCause}
	const none = "no breaker"
	return Board{
		UID: uidBreaker, Title: "Breaker",
		Description: "The circuit breakers: their states, what moved them, and the load that the upstreams were spared.",
		Rows: []Row{
			{Title: "State", Panels: []Panel{
				{
					Title: titleBreaker, Kind: StateTimeline, Unit: UnitStateOrNumber, Steps: []Step{{1, Yellow}, {2, Red}}, NoValue: none,
					Description: "The worst state that any process has for the partition. Open: calls are refused until the cooldown is over. Half open: one probe is on its way.",
					Values:      []Value{{0, "closed", Green}, {1, "half open", Yellow}, {2, "open", Red}, {3, "open and half open", Orange}},
					Queries:     one(p.state(), byPartition...), Runbook: "breaker-open",
				},
			}},
			{Title: "Why", Panels: []Panel{
				{
					Title: titleTransitions, Kind: TimeSeries, Unit: UnitRate, Base: Blue, Min: new(float64(0)), NoValue: none,
					Description: "Transitions by cause. streak: consecutive failures. rate: the failure rate of the window. probe: its result. cooldown: it is over. lease: a probe's lease ran out.",
					Queries:     []Query{{p.rate(catalog.BreakerTransitions, moved...), "{{plimsoll_breaker_from}} to {{plimsoll_breaker_to}}: {{plimsoll_cause}}"}}, Runbook: "breaker-flapping",
				},
				{
					Title: "Failed share of requests", Kind: TimeSeries, Unit: UnitShare, Steps: []Step{{0.1, Yellow}, {0.5, Red}}, Min: new(float64(0)), Max: new(float64(1)), NoValue: "no failures",
					Description: "Requests that ended in a status from 400 on or an error. Not every one is a failure for the breaker: 429 and most of 4xx are not.",
					Queries: one(share(promql.Sum(p.q.Count(catalog.RequestDuration, failed()).Rate(promql.RateInterval), byOrigin...),
						promql.Sum(p.q.Count(catalog.RequestDuration).Rate(promql.RateInterval), byOrigin...)), byOrigin...), Runbook: "breaker-open",
				},
				{
					Title: "Refused attempts", Kind: TimeSeries, Unit: UnitRequestsRate, Steps: badFrom(1), Min: new(float64(0)), Stacked: true, NoValue: none,
					Description: "Attempts that the breaker refused, by its state: load that the upstream was spared.",
					Queries:     one(p.rate(catalog.BreakerRejections, catalog.KeyBreakerState), catalog.KeyBreakerState), Runbook: "breaker-open",
				},
				{
					Title: "Cooldown", Kind: TimeSeries, Unit: UnitSeconds, Steps: []Step{{120, Yellow}, {600, Red}}, Min: new(float64(0)), NoValue: none,
					Description: "How long the next or current opening lasts. It doubles while the upstream keeps failing after its probes.",
					Queries:     one(promql.Max(p.q.Of(catalog.BreakerCooldown).Now(), byPartition...), byPartition...), Runbook: "breaker-open",
				},
				{
					Title: "Probes", Kind: TimeSeries, Unit: UnitRate, Base: Blue, Min: new(float64(0)), NoValue: none,
					Description: "Probe leases granted, and those released without a verdict: callers that cancel too early for a probe to tell.",
					Queries:     one(p.rate(catalog.BreakerProbes, catalog.KeyBreakerProbe), catalog.KeyBreakerProbe), Runbook: "breaker-flapping",
				},
				{
					Title: "Shared store lost and back", Kind: TimeSeries, Unit: UnitRate, Steps: badFrom(0.001), Min: new(float64(0)), NoValue: none,
					Description: "Changes between the shared store and the local gate that stands in for it. Calls go on; each process decides alone meanwhile.",
					Queries:     one(p.rate(catalog.BreakerStoreFallbacks, catalog.KeyBreakerStore), catalog.KeyBreakerStore), Runbook: "breaker-open",
				},
			}},
		},
	}
}
