package catalog

import "slices"

// View is a change to one metric that makes it cheaper. It is data: hand it to
// the SDK as a metric view, see the example of package otelbridge.
type View struct {
	Metric string // name of the metric that it changes
	// Drop drops the metric. Otherwise Keep holds the keys of the attributes
	// that stay; the values of series that become the same are added.
	Drop bool
	Keep []string // keys of attributes; nil where Drop is set
}

// Lean returns views for those who want few series. The alert rules of package
// dashboards keep working; a panel that breaks down by an attribute that is
// left out shows the sum, and the panel of a dropped metric shows nothing.
//
//   - http.client.request.duration loses its protocol version.
//   - plimsoll.conn.recoveries and .stale lose their cause.
//   - plimsoll.retry_budget.kept and .refunded lose their settlement.
//   - http.client.connection.duration, plimsoll.stream.bytes and .events are
//     dropped.
func Lean() []View {
	return []View{
		without(RequestDuration, KeyProtocolVersion),
		without(ConnStale, KeyCause),
		without(ConnRecoveries, KeyCause),
		without(BudgetKept, KeySettlement),
		without(BudgetRefunded, KeySettlement),
		{Metric: ConnectionDuration, Drop: true},
		{Metric: StreamBytes, Drop: true},
		{Metric: StreamEvents, Drop: true},
	}
}

// without returns the view that takes keys from the metric.
func without(metric string, keys ...string) View {
	m, _ := Lookup(metric)
	v := View{Metric: metric}
	for _, a := range m.AllAttributes() {
		if !slices.Contains(keys, a.Key) {
			v.Keep = append(v.Keep, a.Key)
		}
	}
	return v
}
