package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func (p panels) streams() Board {
	waits := p.q.Count(catalog.ThrottleWaitDuration)
	return Board{
		UID: uidStreams, Title: "Streams and throttles",
		Description: "Event streams, and upstreams that ask to stay away for a while.",
		Rows: []Row{
			{Title: "Throttles", Panels: []Panel{
				{
					Title: titleThrottles, Kind: TimeSeries, Unit: UnitRate, Steps: []Step{{0.1, Yellow}, {1, Red}}, Min: new(float64(0)),
					Description: "Retry-After answers that were remembered. Lower the request rate, or ask for a higher limit.",
					Queries:     one(p.rate(catalog.ThrottleRecorded, byPartition...), byPartition...), Runbook: "throttled",
				},
				{
					Title: "Calls refused before they were sent", Kind: TimeSeries, Unit: UnitRequestsRate, Steps: badFrom(1), Min: new(float64(0)),
					Description: "Calls of outcome rejected: the remembered Retry-After does not fit their time, or the breaker is open.",
					Queries: one(promql.Sum(p.q.Count(catalog.CallDuration, promql.Is(catalog.KeyOutcome, "rejected")).Rate(promql.RateInterval), byPartition...),
						byPartition...), Runbook: "throttled",
				},
				{
					Title: "Waits for a throttle", Kind: TimeSeries, Unit: UnitSeconds, Steps: []Step{{10, Yellow}, {60, Red}}, Min: new(float64(0)),
					Description: "How long calls waited for a remembered Retry-After: they queue behind the upstream's limit.",
					Queries:     p.quantiles(catalog.ThrottleWaitDuration), Runbook: "throttled",
				},
				{
					Title: "Waits by truncation", Kind: TimeSeries, Unit: UnitRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "true: the wait was cut to the rest of the total retry time, and the request went out earlier than the server asked.",
					Queries:     one(promql.Sum(waits.Rate(promql.RateInterval), catalog.KeyTruncated), catalog.KeyTruncated), Runbook: "throttled",
				},
			}},
			{Title: "Streams", Panels: []Panel{
				{
					Title: "Opened streams", Kind: TimeSeries, Unit: UnitRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "Stream connections that were accepted; reconnect true: they continue an earlier one.",
					Queries:     []Query{{p.rate(catalog.StreamOpened, catalog.KeyReconnect), "reconnect {{plimsoll_reconnect}}"}}, Runbook: "README",
				},
				{
					Title: "Ended streams by reason", Kind: TimeSeries, Unit: UnitRate, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "idle: no keep-alive comment within ReadIdleTimeout. total_bytes, line_bytes, event_bytes: a cap was passed. transport: the connection failed.",
					Queries:     one(p.rate(catalog.StreamClosed, catalog.KeyReason), catalog.KeyReason), Runbook: "README",
				},
				{
					Title: "Bytes of ended streams", Kind: TimeSeries, Unit: UnitBytesRate, Base: Blue, Min: new(float64(0)),
					Description: "Decoded bytes per second, counted when a stream ends. Compare with the caps of StreamConfig.",
					Queries:     one(p.rate(catalog.StreamBytes, byOrigin...), byOrigin...), Runbook: "README",
				},
				{
					Title: "Events of ended streams", Kind: TimeSeries, Unit: UnitEventsRate, Base: Blue, Min: new(float64(0)),
					Description: "Events per second, counted when a stream ends.",
					Queries:     one(p.rate(catalog.StreamEvents, byOrigin...), byOrigin...), Runbook: "README",
				},
			}},
		},
	}
}
