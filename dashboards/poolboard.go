package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func (p panels) connections() Board {
	storm := p.o.Thresholds.RecoveryRate
	state := with(byOrigin, catalog.KeyConnectionState)
	return Board{
		UID: uidConnections, Title: "Connections",
		Description: "The connection pools: how full they are, how long their connections live, and how many of them were dead when they were needed.",
		Rows: []Row{
			{Title: "Pool", Panels: []Panel{
				{
					Title: "Open connections", Kind: TimeSeries, Unit: UnitCount, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "Sockets by state. Compare with MaxConnsPerHost; many idle ones: lower MaxIdleConnsPerHost.",
					Queries:     one(promql.Sum(p.q.Of(catalog.OpenConnections).Now(), state...), state...), Runbook: "pool-saturated",
				},
				{
					Title: titleWaiting, Kind: TimeSeries, Unit: UnitCount, Steps: badFrom(p.o.Thresholds.Waiting), Min: new(float64(0)),
					Description: "Requests that wait for a slot in the process where most wait: MaxConnsPerHost is the bottleneck, or bodies are left unread.",
					Queries:     one(promql.Max(p.q.Of(catalog.ConnWaiting).Now(), byOrigin...), byOrigin...), Runbook: "pool-saturated",
				},
				{
					Title: "Time waiting for a connection", Kind: TimeSeries, Unit: UnitSeconds, Steps: []Step{{0.1, Yellow}, {1, Red}}, Min: new(float64(0)),
					Description: "How long requests queued for a slot, without dialling.",
					Queries:     p.quantiles(catalog.ConnWaitDuration), Runbook: "pool-saturated",
				},
				p.activePanel(),
			}},
			{Title: "Dead connections", Panels: []Panel{
				{
					Title: titleRecoveries, Kind: TimeSeries, Unit: UnitRequestsRate, Steps: badFrom(storm), Min: new(float64(0)),
					Description: "Requests that went through after their first connections were dead. They cost no tokens; many of them mean that the server closes connections in bulk.",
					Queries:     one(p.rate(catalog.ConnRecoveries, byOrigin...), byOrigin...), Runbook: "recovery-storm",
				},
				{
					Title: "Stale connections by cause", Kind: TimeSeries, Unit: UnitRate, Steps: badFrom(storm), Min: new(float64(0)), Stacked: true,
					Description: "What reused connections answered that were dead before any byte of a response. Set IdleConnTimeout below the server's own timeout.",
					Queries:     one(p.rate(catalog.ConnStale, catalog.KeyCause), catalog.KeyCause), Runbook: "recovery-storm",
				},
				{
					Title: "Recoveries by fresh dial", Kind: TimeSeries, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "true: the idle connections were all dead, and a new one was dialled. false: the next idle one worked.",
					Queries:     one(p.rate(catalog.ConnRecoveries, catalog.KeyFresh), catalog.KeyFresh), Runbook: "recovery-storm",
				},
				{
					Title: "Life of connections", Kind: TimeSeries, Unit: UnitSeconds, Base: Blue, Min: new(float64(0)),
					Description: "How old connections were when they closed. Short lives: read bodies to the end, and compare IdleConnTimeout with the server's.",
					Queries:     p.quantiles(catalog.ConnectionDuration), Runbook: "recovery-storm",
				},
			}},
			{Title: "Protocol", Panels: []Panel{
				{
					Title: "Requests by protocol version", Kind: TimeSeries, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "HTTP versions that the requests went out with; empty where no connection was made.",
					Queries:     one(promql.Sum(p.q.Count(catalog.RequestDuration).Rate(promql.RateInterval), catalog.KeyProtocolVersion), catalog.KeyProtocolVersion), Runbook: "recovery-storm",
				},
				{
					Title: "Requests by method", Kind: TimeSeries, Unit: UnitRequestsRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "Methods that are not idempotent are not sent again after a dead connection, unless nothing was written.",
					Queries:     one(promql.Sum(p.q.Count(catalog.RequestDuration).Rate(promql.RateInterval), catalog.KeyMethod), catalog.KeyMethod), Runbook: "recovery-storm",
				},
			}},
		},
	}
}
