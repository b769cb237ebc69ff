package dashboards

import (
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// The names of the standard alerts.
const (
	BudgetDraining  = "PlimsollBudgetDraining"
	BudgetLow       = "PlimsollBudgetLow"
	RetriesDenied   = "PlimsollRetriesDenied"
	Escapes         = "PlimsollEscapes"
	DeadlineSkips   = "PlimsollDeadlineSkips"
	BreakerOpen     = "PlimsollBreakerOpen"
	BreakerFlapping = "PlimsollBreakerFlapping"
	RecoveryStorm   = "PlimsollRecoveryStorm"
	Throttled       = "PlimsollThrottled"
	PoolSaturated   = "PlimsollPoolSaturated"
)

var alertNames = []string{
	BudgetDraining, BudgetLow, RetriesDenied, Escapes, DeadlineSkips,
	BreakerOpen, BreakerFlapping, RecoveryStorm, Throttled, PoolSaturated,
}

// recent is the window over which counters are compared with a threshold: long
// enough to hold several scrapes, short enough that an alert heals soon.
const recent = 5 * time.Minute

// rules builds the standard rules over one source.
type rules struct {
	q        promql.Source
	o        Options
	short    promql.Window // 4 scrapes
	long     promql.Window // 12 scrapes
	instance []string      // a partition of one process
}

func newRules(q promql.Source, o Options) rules {
	return rules{
		q: q, o: o,
		short:    promql.Over(4 * o.ScrapeInterval),
		long:     promql.Over(12 * o.ScrapeInterval),
		instance: append(ByPartition(), "instance"),
	}
}

func (r rules) groups() []Group {
	groups := []Group{
		{Name: "plimsoll-budget", Alerts: []Alert{r.draining(), r.low(), r.denied(), r.escapes(), r.deadline()}},
		{Name: "plimsoll-breaker", Alerts: []Alert{r.breakerOpen(), r.breakerFlapping()}},
		{Name: "plimsoll-connections", Alerts: []Alert{r.recoveryStorm(), r.poolSaturated()}},
		{Name: "plimsoll-throttle", Alerts: []Alert{r.throttled()}},
		{Name: "plimsoll-recordings", Recordings: r.recordings()},
	}
	for _, g := range groups {
		for i := range g.Alerts {
			a := &g.Alerts[i]
			a.Severity = or(r.o.Severities[a.Name], a.Severity)
		}
	}
	return groups
}

// calls returns how many calls were made within w.
func (r rules) calls(w promql.Window) promql.Expr {
	return promql.Sum(r.q.Count(catalog.CallDuration).Increase(w), byPartition...)
}

// draining is asked per process, since every process has a budget of its own:
// summed up or averaged, a full one would hide an empty one.
//
// Fast: the last 12 scrapes and the last 4 agree, so that a drop that is over
// does not count; it leaves the short window before For is over. Slow: both
// halves of the last 20 minutes fall, so that a single drop does not count.
func (r rules) draining() Alert {
	t := r.o.Thresholds
	tokens := r.q.Of(catalog.BudgetTokens)
	level := tokens.Now().Below(promql.Number(t.DrainBelow).Mul(r.q.Of(catalog.BudgetCapacity).Now()))
	zero, half := promql.Number(0), 10*time.Minute
	fast := level.And(
		tokens.Forecast(r.long, t.DrainFast).Below(zero),
		tokens.Forecast(r.short, t.DrainFast).Below(zero))
	slow := level.And(
		tokens.Forecast(promql.Over(3*half), t.DrainSlow).Below(zero),
		tokens.Slope(promql.Over(half)).Below(zero),
		tokens.Ago(half).Slope(promql.Over(half)).Below(zero))
	return Alert{
		Name: BudgetDraining, Severity: Warning, For: 4 * r.o.ScrapeInterval,
		Expr:    promql.Min(fast.Or(slow), byPartition...),
		Summary: "The retry budget of $origin is draining: $value tokens left in the lowest process",
		Description: "At its present course the retry budget of client $client for $origin is empty within " +
			promql.Duration(t.DrainFast) + " to " + promql.Duration(t.DrainSlow) +
			". Calls still succeed because retries hide the failures; once it is empty, failures reach the callers.",
		Runbook: "budget-draining", Board: uidBudget, Panel: titleTokens,
	}
}

func (r rules) low() Alert {
	fill := r.q.Of(catalog.BudgetTokens).Now().Div(r.q.Of(catalog.BudgetCapacity).Now())
	return Alert{
		Name: BudgetLow, Severity: Warning, Format: Share, For: 4 * r.o.ScrapeInterval,
		Expr:        promql.Min(fill, byPartition...).Below(promql.Number(r.o.Thresholds.BudgetLow)),
		Summary:     "The retry budget of $origin is low: $value left in the lowest process",
		Description: "A short burst of failures towards $origin will use up the retry budget of client $client. Successful calls that need no retry fill it up again.",
		Runbook:     "budget-low", Board: uidBudget, Panel: titleTokens,
	}
}

// denied looks at the bucket's refusals alone: the other reasons for a skipped
// retry say nothing about the budget.
func (r rules) denied() Alert {
	return Alert{
		Name: RetriesDenied, Severity: Critical,
		Expr: promql.Sum(r.q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "bucket")).Increase(promql.Over(recent)), byPartition...).
			Above(promql.Number(0)),
		Summary:     "Retries to $origin are denied: the retry budget is empty ($value in 5 min)",
		Description: "Client $client wanted to retry calls to $origin and its budget did not hold the cost: the failures reached the callers.",
		Runbook:     "retries-denied", Board: uidBudget, Panel: titleSkips,
	}
}

// share fires where what is counted is more than limit of the calls, and not
// just once or twice. The longer window of the second condition keeps an alert
// on a partition that is called once a minute from coming and going.
func (r rules) share(counted promql.Series, limit float64) promql.Expr {
	part := func(w time.Duration) promql.Expr { return promql.Sum(counted.Increase(promql.Over(w)), byPartition...) }
	return part(recent).Div(r.calls(promql.Over(recent))).Above(promql.Number(limit)).
		And(part(3 * recent).AtLeast(promql.Number(3)))
}

func (r rules) escapes() Alert {
	return Alert{
		Name: Escapes, Severity: Critical, Format: Share,
		Expr:        r.share(r.q.Of(catalog.CallEscapes), r.o.Thresholds.EscapeShare),
		Summary:     "$value of the calls to $origin fail for their callers",
		Description: "Calls of client $client to $origin end in an error or a retryable status, after whatever retries were made.",
		Runbook:     "escapes", Board: uidBudget, Panel: titleEscapes,
	}
}

func (r rules) deadline() Alert {
	skipped := r.q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "deadline"))
	return Alert{
		Name: DeadlineSkips, Severity: Warning, Format: Share,
		Expr:        r.share(skipped, r.o.Thresholds.DeadlineShare),
		Summary:     "$value of the calls to $origin are not retried because the wait would pass their deadline",
		Description: "Backoff or Retry-After is longer than the deadlines of the callers of client $client leave room for.",
		Runbook:     "deadline-skips", Board: uidBudget, Panel: titleSkips,
	}
}

// breakerOpen needs no For: an opening lasts a cooldown, and was preceded by a
// streak or a rate of failures.
func (r rules) breakerOpen() Alert {
	return Alert{
		Name: BreakerOpen, Severity: Critical,
		Expr:        promql.Max(r.q.Of(catalog.BreakerState, promql.Is(catalog.KeyBreakerState, "open")).Now(), byPartition...).Above(promql.Number(0)),
		Summary:     "The circuit breaker for $origin is open",
		Description: "Client $client refuses calls to $origin until the cooldown is over and a probe succeeds.",
		Runbook:     "breaker-open", Board: uidBreaker, Panel: titleBreaker,
	}
}

// breakerFlapping counts per process: many that open once are an outage.
func (r rules) breakerFlapping() Alert {
	opened := r.q.Of(catalog.BreakerTransitions, promql.Is(catalog.KeyBreakerFrom, "closed"), promql.Is(catalog.KeyBreakerTo, "open"))
	return Alert{
		Name: BreakerFlapping, Severity: Warning,
		Expr: promql.Max(promql.Sum(opened.Increase(promql.Over(30*time.Minute)), r.instance...), byPartition...).
			AtLeast(promql.Number(float64(r.o.Thresholds.Openings))),
		Summary:     "The circuit breaker for $origin opened $value times within 30 min",
		Description: "$origin recovers while client $client stays away and fails again under load, or the breaker's thresholds are too low.",
		Runbook:     "breaker-flapping", Board: uidBreaker, Panel: titleTransitions,
	}
}

// recoveryStorm needs a rate as well as a share: with little traffic a dead
// connection per call is what recovery is for.
func (r rules) recoveryStorm() Alert {
	t, w := r.o.Thresholds, promql.Over(8*r.o.ScrapeInterval)
	recovered := promql.Sum(r.q.Of(catalog.ConnRecoveries).Rate(w), byPartition...)
	calls := promql.Sum(r.q.Count(catalog.CallDuration).Rate(w), byPartition...)
	return Alert{
		Name: RecoveryStorm, Severity: Warning, Format: Decimal,
		Expr: recovered.Above(promql.Number(t.RecoveryRate)).
			And(recovered.Div(calls).Above(promql.Number(t.RecoveryShare))),
		Summary:     "Connections to $origin die in bulk: $value requests per second are recovered",
		Description: "Reused connections of client $client are dead when they are used. The calls succeed on other connections, at the price of more handshakes.",
		Runbook:     "recovery-storm", Board: uidConnections, Panel: titleRecoveries,
	}
}

func (r rules) throttled() Alert {
	return Alert{
		Name: Throttled, Severity: Warning,
		Expr: promql.Max(r.q.Of(catalog.ThrottleRecorded).Increase(promql.Over(recent)), byPartition...).
			AtLeast(promql.Number(float64(r.o.Thresholds.Throttles))),
		Summary:     "$origin throttles: $value Retry-After answers in one process within 5 min",
		Description: "Calls of client $client to $origin wait as long as the server asked, or fail if they cannot.",
		Runbook:     "throttled", Board: uidStreams, Panel: titleThrottles,
	}
}

// poolSaturated looks at who waits now and at the time spent waiting: the
// first sees a pool that gives nothing back, the second one whose queue
// happens to be empty when it is scraped.
func (r rules) poolSaturated() Alert {
	limit := promql.Number(r.o.Thresholds.Waiting)
	waiting := promql.Max(r.q.Of(catalog.ConnWaiting).Now(), byOrigin...).AtLeast(limit)
	waited := promql.Max(r.q.Total(catalog.ConnWaitDuration).Rate(r.short), byOrigin...).AtLeast(limit)
	return Alert{
		Name: PoolSaturated, Severity: Warning, Format: Decimal, For: 3 * r.o.ScrapeInterval,
		Expr:        waiting.Or(waited),
		Summary:     "Requests to $origin wait for a connection: $value at a time",
		Description: "All connections that MaxConnsPerHost allows client $client to $origin are in use, and have been for a while.",
		Runbook:     "pool-saturated", Board: uidConnections, Panel: titleWaiting,
	}
}
