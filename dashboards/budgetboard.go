package dashboards

import (
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// never is what minutes to empty shows at most: a day.
const never = 24 * 60

// level is the tokens that the lowest process has left.
func (p panels) level(keys ...string) promql.Expr {
	return promql.Min(p.q.Of(catalog.BudgetTokens).Now(), keys...)
}

func (p panels) fill(keys ...string) promql.Expr {
	return promql.Min(p.q.Of(catalog.BudgetTokens).Now().Div(p.q.Of(catalog.BudgetCapacity).Now()), keys...)
}

// drain is how many tokens a minute the fastest draining process loses.
func (p panels) drain(keys ...string) promql.Expr {
	return promql.Max(p.loss(), keys...).Mul(promql.Number(60))
}

func (p panels) loss() promql.Expr {
	return p.q.Of(catalog.BudgetTokens).Slope(promql.Over(12 * p.o.ScrapeInterval)).Neg()
}

// empty is in how many minutes the first process has no tokens left at its
// present course. It is always there, so that the panel is never empty: where
// nothing drains it is a day.
func (p panels) empty(keys ...string) promql.Expr {
	minutes := p.q.Of(catalog.BudgetTokens).Now().Div(p.loss().NoLess(1e-9).Mul(promql.Number(60)))
	return promql.Min(minutes.AtMost(never), keys...)
}

// movement is how many tokens a minute a counter of the budget moves.
func (p panels) movement(name string, keys ...string) promql.Expr {
	return p.rate(name, keys...).Mul(promql.Number(60))
}

func (p panels) fillPanel() Panel {
	return Panel{
		Title: "Lowest fill", Kind: Stat, Unit: UnitShare, Base: Red, Steps: badBelow(p.o.Thresholds.BudgetLow, 0.5),
		Description: "What the lowest retry budget of any process holds, as a share of its capacity. At 0 failures reach the callers unretried.",
		Queries:     total(p.fill(), "fill"), Min: new(float64(0)), Max: new(float64(1)), Runbook: "budget-low",
	}
}

func (p panels) emptyPanel() Panel {
	return Panel{
		Title: "Minutes to empty", Kind: Stat, Unit: UnitMinutes, Base: Red,
		Steps:       badBelow(p.o.Thresholds.DrainFast.Minutes(), p.o.Thresholds.DrainSlow.Minutes()),
		Description: "When the first retry budget is empty at its present course. A day means that none drains.",
		Queries:     total(p.empty(), "minutes"), Min: new(float64(0)), Max: new(float64(never)), Runbook: "budget-draining",
	}
}

func (p panels) skips() Panel {
	return Panel{
		Title: titleSkips, Kind: TimeSeries, Unit: UnitRate, Steps: badFrom(1), Min: new(float64(0)),
		Description: "Retries that were wanted and not armed. bucket: the budget is empty. deadline: the wait did not fit. attempts: none remained. body and method: the request cannot be replayed. breaker: refused. disabled: switched off.",
		Queries:     one(p.rate(catalog.RetrySkipped, catalog.KeySkipReason), catalog.KeySkipReason), Runbook: "retries-denied",
	}
}

func (p panels) escapes() Panel {
	return Panel{
		Title: titleEscapes, Kind: TimeSeries, Unit: UnitRate, Steps: badFrom(1), Min: new(float64(0)),
		Description: "Calls whose caller got an error or a retryable status, by why they were not retried once more. none: no retry was wanted.",
		Queries:     one(p.rate(catalog.CallEscapes, catalog.KeySkipReason), catalog.KeySkipReason), Runbook: "escapes",
	}
}

func (p panels) armed() Panel {
	return Panel{
		Title: "Retries by cause", Kind: TimeSeries, Unit: UnitRate, Steps: []Step{{1, Yellow}}, Min: new(float64(0)), Stacked: true,
		Description: "Retries that were launched, by what they answer. The calls still succeed while the budget lasts.",
		Queries:     one(p.rate(catalog.RetryArmed, catalog.KeyCause), catalog.KeyCause), Runbook: "budget-draining",
	}
}

// budget has the panels that explain an escape below each other at full width,
// so that their time axes line up.
func (p panels) budget() Board {
	capacity := float64(p.o.Capacity)
	low := p.o.Thresholds.BudgetLow * capacity
	wide := func(panel Panel) Panel {
		panel.Width, panel.Height = 24, 7
		return panel
	}
	return Board{
		UID: uidBudget, Title: "Retry budget",
		Description: "How much failure the clients can still hide: levels, what drains them, and what escapes once they are empty.",
		Rows: []Row{
			{Title: "Now", Panels: []Panel{
				{
					Title: "Lowest level", Kind: Stat, Unit: UnitTokens, Base: Red, Steps: badBelow(low, capacity/2),
					Description: "Tokens that the lowest retry budget of any process holds.",
					Queries:     total(p.level(), "tokens"), Min: new(float64(0)), Runbook: "budget-low",
				},
				p.fillPanel(),
				{
					Title: "Fastest drain", Kind: Stat, Unit: UnitTokensMinute, Steps: []Step{{capacity / 60, Yellow}, {capacity / 15, Red}},
					Description: "Tokens a minute that the fastest draining budget loses. Negative: it fills up.",
					Queries:     total(p.drain(), "drain"), Runbook: "budget-draining",
				},
				p.emptyPanel(),
				{
					Title: "Denied retries", Kind: Stat, Unit: UnitRate, Steps: badFrom(0.001), Min: new(float64(0)),
					Description: "Retries per second that an empty budget denied.",
					Queries: total(promql.Sum(p.q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "bucket")).
						Rate(promql.RateInterval)), "denied"), Runbook: "retries-denied",
				},
				{
					Title: "Escapes", Kind: Stat, Unit: UnitRate, Steps: badFrom(0.001), Min: new(float64(0)),
					Description: "Calls per second whose caller got an error or a retryable status.",
					Queries:     total(p.rate(catalog.CallEscapes), "escapes"), Runbook: "escapes",
				},
			}},
			{Title: "From the first drain to the first escape, on one time axis", Panels: []Panel{
				wide(Panel{
					Title: titleTokens, Kind: TimeSeries, Unit: UnitTokens, Base: Red, Steps: badBelow(low, capacity/2), Min: new(float64(0)),
					Description: "Tokens per partition in the lowest process, and the capacity. Falling: retries are charged faster than successes refill.",
					Queries: []Query{
						{p.level(byPartition...), Legend(byPartition...)},
						{promql.Max(p.q.Of(catalog.BudgetCapacity).Now()), "capacity"},
					}, Runbook: "budget-draining",
				}),
				wide(Panel{
					Title: "Tokens moved", Kind: TimeSeries, Unit: UnitTokensMinute, Base: Blue, Min: new(float64(0)),
					Description: "Tokens a minute: reserved to arm retries, kept for good, given back, and added by calls that needed no retry. The budget drains while more is kept than added.",
					Queries: []Query{
						{p.movement(catalog.BudgetReserved), "reserved"},
						{p.movement(catalog.BudgetKept), "kept"},
						{p.movement(catalog.BudgetRefunded), "refunded"},
						{p.movement(catalog.BudgetReplenished), "replenished"},
					}, Runbook: "budget-draining",
				}),
				wide(p.skips()),
				wide(p.escapes()),
			}},
			{Title: "Forecast", Panels: []Panel{
				{
					Title: "Drain rate", Kind: TimeSeries, Unit: UnitTokensMinute, Steps: []Step{{capacity / 60, Yellow}, {capacity / 15, Red}},
					Description: "Tokens a minute that each partition loses in its fastest draining process. Negative: it fills up.",
					Queries:     one(p.drain(byPartition...), byPartition...), Runbook: "budget-draining",
				},
				{
					Title: "Minutes to empty by partition", Kind: TimeSeries, Unit: UnitMinutes, Base: Red,
					Steps: badBelow(p.o.Thresholds.DrainFast.Minutes(), p.o.Thresholds.DrainSlow.Minutes()), Min: new(float64(0)), Max: new(float64(never)),
					Description: "When each partition's budget is empty at its present course. A day means that it does not drain.",
					Queries:     one(p.empty(byPartition...), byPartition...), Runbook: "budget-draining",
				},
			}},
			{Title: "What drains it", Panels: []Panel{
				p.armed(),
				{
					Title: "Kept tokens by settlement", Kind: TimeSeries, Unit: UnitTokensMinute, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "partial: the retry was answered with another failure. charge: it ended in a transport or protocol error. refund: the profile's own price of a success.",
					Queries:     one(p.movement(catalog.BudgetKept, catalog.KeySettlement), catalog.KeySettlement), Runbook: "budget-draining",
				},
				{
					Title: "Kept tokens by partition", Kind: TimeSeries, Unit: UnitTokensMinute, Base: Blue, Min: new(float64(0)), Stacked: true,
					Description: "Which upstream the tokens are spent on.",
					Queries:     one(p.movement(catalog.BudgetKept, byPartition...), byPartition...), Runbook: "budget-draining",
				},
				{
					Title: "Waits before retries", Kind: TimeSeries, Unit: UnitSeconds, Steps: []Step{{20, Yellow}}, Min: new(float64(0)),
					Description: "Waits before retries that were launched. Well above MaxDelay they come from Retry-After.",
					Queries:     p.quantiles(catalog.RetryDelay), Runbook: "deadline-skips",
				},
			}},
		},
	}
}
