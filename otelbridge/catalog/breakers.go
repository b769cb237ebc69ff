package catalog

import "github.com/plimsoll-http/plimsoll/events"

var breakerMetrics = []Metric{
	{
		Name: BreakerState, Kind: ObservedGauge, Unit: "{gate}", Scope: OfPartition,
		Description: "State of the circuit breaker: 1 for the state that it is in, 0 for the others.",
		Attributes:  []Attribute{attrState},
		Action:      "Open: the upstream fails; calls are refused until the cooldown is over. Check the upstream, not the client.",
	},
	{
		Name: BreakerTransitions, Kind: Counter, Unit: "{transition}", Scope: OfPartition,
		Description: "Transitions of the circuit breaker.",
		Attributes:  []Attribute{attrFrom, attrTo, attrMoved},
		Legal:       transitions(),
		Action:      "Flapping between open and closed: the upstream recovers only under no load, or the thresholds are too low.",
	},
	{
		Name: BreakerRejections, Kind: Counter, Unit: "{request}", Scope: OfPartition,
		Description: "Attempts that the circuit breaker refused.",
		Attributes:  []Attribute{attrRejected},
		Action:      "Load that the upstream was spared. Serve a fallback where you have one.",
	},
	{
		Name: BreakerProbes, Kind: Counter, Unit: "{probe}", Scope: OfPartition,
		Description: "Probe leases of the half-open circuit breaker.",
		Attributes:  []Attribute{attrProbe},
		Action:      "Many released without a verdict: callers cancel too early for a probe to tell.",
	},
	{
		Name: BreakerCooldown, Kind: ObservedGauge, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Cooldown of the circuit breaker's current opening; 0 while it is closed.",
		Action:      "Well above the configured Cooldown: the upstream keeps failing after its probes.",
	},
	{
		Name: BreakerStoreFallbacks, Kind: Counter, Unit: "{change}", Scope: OfClient,
		Description: "Changes between the circuit breaker's shared store and the local gate that stands in for it.",
		Attributes:  []Attribute{attrStore},
		Action:      "Check the store. Calls go on; each process decides alone meanwhile.",
	},
}

// Transition is one legal transition of a breaker.
type Transition struct {
	From, To events.BreakerState // states before and after
	Cause    events.BreakerCause // what moves it
}

// Transitions returns the legal transitions of a breaker. A probe lease that ran
// out or was given back is no transition: see [BreakerProbes].
func Transitions() []Transition { return append([]Transition(nil), legal...) }

var legal = []Transition{
	{events.BreakerClosed, events.BreakerOpen, events.BreakerStreak},
	{events.BreakerClosed, events.BreakerOpen, events.BreakerRate},
	{events.BreakerOpen, events.BreakerHalfOpen, events.BreakerCooldown},
	{events.BreakerHalfOpen, events.BreakerClosed, events.BreakerByProbe},
	{events.BreakerHalfOpen, events.BreakerOpen, events.BreakerByProbe},
}

func transitions() [][]string {
	var rows [][]string
	for _, t := range legal {
		rows = append(rows, []string{t.From.String(), t.To.String(), string(t.Cause)})
	}
	return rows
}
