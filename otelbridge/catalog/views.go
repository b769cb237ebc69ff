package catalog

import "slices"

// View is a change to one metric that makes it cheaper. It is data, since this
// package links no SDK: package views makes the SDK's views of it.
type View struct {
	Metric string // name of the metric that it changes
	// Drop drops the metric. Then Keep and Buckets are nil.
	Drop bool
	// Keep holds the keys of the attributes that stay; the values of series
	// that become the same are added. Nil: all stay. Empty: none does.
	Keep []string
	// Buckets are the new upper bounds of a histogram, in the metric's unit
	// and increasing. Nil: they stay as they are. Empty: none does, so that
	// count and sum are left.
	Buckets []float64
}

// Upper bounds for those who want few series: a subset of the declared ones, so
// that what was recorded with either can be added up and compared. The highest
// stays, and so a quantile ends where it did. Of calls and requests the lowest
// stays too, because the bridge thins out its exemplars. Of waits 20 s stays,
// which is the longest backoff by default: what is above comes from
// Retry-After.
var (
	leanRequestBuckets = []float64{0.005, 0.025, 0.1, 0.25, 1, 2.5, 10}
	leanCallBuckets    = []float64{0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 300}
	leanWaitBuckets    = []float64{0.025, 0.1, 0.5, 2.5, 10, 20, 120}
	leanQueueBuckets   = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30}
)

// Lean returns views for those who want few series: an origin that has had
// everything has 245 of them in Prometheus in place of 396, as [SeriesPerOrigin]
// counts.
//
// The alert rules of package dashboards keep working, since none reads a
// bucket. The recorded 95th percentile and the quantiles of the panels become
// coarser: they are interpolated within a bucket, and the widest one spans a
// factor of 6. A panel that breaks down by an attribute that is left out shows
// the sum, and the panel of a dropped metric shows nothing.
//
//   - http.client.request.duration loses its protocol version and half of its
//     buckets.
//   - plimsoll.call.duration, plimsoll.retry.delay, plimsoll.conn.wait.duration
//     and plimsoll.throttle.wait.duration lose about half of their buckets.
//   - plimsoll.conn.recoveries and .stale lose their cause.
//   - plimsoll.retry_budget.kept and .refunded lose their settlement.
//   - http.client.connection.duration, plimsoll.stream.bytes and .events are
//     dropped.
func Lean() []View {
	return []View{
		coarser(without(RequestDuration, KeyProtocolVersion), leanRequestBuckets),
		coarser(without(CallDuration), leanCallBuckets),
		coarser(without(RetryDelay), leanWaitBuckets),
		coarser(without(ConnWaitDuration), leanQueueBuckets),
		coarser(without(ThrottleWaitDuration), leanWaitBuckets),
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

// coarser returns v with other buckets.
func coarser(v View, bounds []float64) View {
	v.Buckets = slices.Clone(bounds)
	return v
}

// SeriesPerOrigin returns how many series an origin has in Prometheus, as a
// partition of its own and with views applied, once every legal combination of
// attribute values has been reported: a histogram has one per bucket and two
// more for each of them, the other kinds have one. A metric with an open
// attribute counts with [PerOrigin] combinations, the ones that every origin may
// have in any case. The few series of the client as a whole are left out. A
// view of a metric that is not in the catalogue counts for nothing; of two
// views of one metric the first counts.
func SeriesPerOrigin(views ...View) int {
	n := 0
	for _, m := range metrics {
		if m.Scope == OfClient {
			continue
		}
		v := View{Metric: m.Name}
		if i := slices.IndexFunc(views, func(v View) bool { return v.Metric == m.Name }); i >= 0 {
			v = views[i]
		}
		n += v.series(m)
	}
	return n
}

// series returns how many series of m one scope has under v.
func (v View) series(m Metric) int {
	if v.Drop {
		return 0
	}
	each := 1
	if m.Kind == Histogram {
		bounds := m.Buckets
		if v.Buckets != nil {
			bounds = v.Buckets
		}
		each = len(bounds) + 3 // and the bucket up to infinity, the sum and the count
	}
	return each * v.combinations(m)
}

// combinations returns how many combinations of the values of m's own
// attributes are left under v.
func (v View) combinations(m Metric) int {
	left, open := m, m.Open()
	left.Attributes, left.Legal = nil, nil
	var columns []int
	for i, a := range m.Attributes {
		if v.Keep == nil || slices.Contains(v.Keep, a.Key) {
			left.Attributes = append(left.Attributes, a)
			columns = append(columns, i)
		}
	}
	for _, row := range m.Legal {
		short := make([]string, len(columns))
		for i, column := range columns {
			short[i] = row[column]
		}
		if !slices.ContainsFunc(left.Legal, func(other []string) bool { return slices.Equal(other, short) }) {
			left.Legal = append(left.Legal, short)
		}
	}
	switch n := len(left.Combinations()); {
	case left.Open():
		return PerOrigin
	case open:
		return min(n, PerOrigin)
	default:
		return n
	}
}
