package promql

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Source is where expressions select from. The zero value selects everything.
type Source struct {
	// Match is added to every selector.
	Match []Matcher
	// Keep are labels of the target, such as "cluster", that every
	// aggregation by something keeps as well.
	Keep []string
}

// Series are the selected series of one metric. They become an expression by
// one of the methods.
type Series struct {
	metric   catalog.Metric
	suffix   string // of a histogram's series
	selector string // "" if err is set
	offset   time.Duration
	keep     []string
	err      error
}

// Of selects the series of the metric of that OpenTelemetry name, which must
// be in the catalogue and no histogram.
func (s Source) Of(name string, ms ...Matcher) Series { return s.series(name, "", ms) }

// Count selects how many values a histogram got.
func (s Source) Count(name string, ms ...Matcher) Series { return s.series(name, "_count", ms) }

// Total selects the sum of the values that a histogram got.
func (s Source) Total(name string, ms ...Matcher) Series { return s.series(name, "_sum", ms) }

// Buckets selects the buckets of a histogram.
func (s Source) Buckets(name string, ms ...Matcher) Series { return s.series(name, "_bucket", ms) }

func (s Source) series(name, suffix string, ms []Matcher) Series {
	m, ok := catalog.Lookup(name)
	switch {
	case !ok:
		return Series{err: fmt.Errorf("promql: the catalogue has no metric %q", name)}
	case (m.Kind == catalog.Histogram) != (suffix != ""):
		return Series{err: fmt.Errorf("promql: %s is a %s: histograms have Count, Total and Buckets, all others have Of", name, m.Kind)}
	}
	var parts []string
	for _, matcher := range append(append([]Matcher(nil), s.Match...), ms...) {
		part, err := matcher.on(m)
		if err != nil {
			return Series{err: err}
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	selector := m.PrometheusName() + suffix
	if parts != nil {
		selector += "{" + strings.Join(parts, ",") + "}"
	}
	return Series{metric: m, suffix: suffix, selector: selector, keep: s.Keep}
}

// Ago moves the series back in time: what they were d ago.
func (s Series) Ago(d time.Duration) Series {
	s.offset += d
	return s
}

// Now returns the latest values.
func (s Series) Now() Expr { return s.apply("", "", "") }

// Rate returns the increase per second of a counter over w.
func (s Series) Rate(w Window) Expr { return s.counting().apply("rate", w, "") }

// Increase returns the increase of a counter over w.
func (s Series) Increase(w Window) Expr { return s.counting().apply("increase", w, "") }

// Slope returns the change per second of a gauge over w, by least squares.
func (s Series) Slope(w Window) Expr { return s.level().apply("deriv", w, "") }

// Forecast returns what a gauge will be after ahead, if it goes on as it did
// over w.
func (s Series) Forecast(w Window, ahead time.Duration) Expr {
	return s.level().apply("predict_linear", w, ", "+number(ahead.Seconds()))
}

// Highest returns the highest value of a gauge over w.
func (s Series) Highest(w Window) Expr { return s.level().apply("max_over_time", w, "") }

// Lowest returns the lowest value of a gauge over w.
func (s Series) Lowest(w Window) Expr { return s.level().apply("min_over_time", w, "") }

func (s Series) counts() bool {
	k := s.metric.Kind
	return k == catalog.Histogram || k == catalog.Counter || k == catalog.ObservedCounter
}

func (s Series) counting() Series {
	if s.err == nil && !s.counts() {
		s.err = fmt.Errorf("promql: %s is a %s, which has no rate: use Slope", s.metric.Name, s.metric.Kind)
	}
	return s
}

func (s Series) level() Series {
	if s.err == nil && s.counts() {
		s.err = fmt.Errorf("promql: %s is a %s, which only grows: use Rate or Increase", s.metric.Name, s.metric.Kind)
	}
	return s
}

func (s Series) apply(function string, w Window, args string) Expr {
	if s.err != nil {
		return failed(s.err)
	}
	text := s.selector
	if function != "" {
		if err := w.check(); err != nil {
			return failed(err)
		}
		text += "[" + string(w) + "]"
	}
	if s.offset > 0 {
		text += " offset " + Duration(s.offset)
	}
	if function != "" {
		text = function + "(" + text + args + ")"
	}
	return Expr{text: text, metrics: []catalog.Metric{s.metric}, buckets: s.suffix == "_bucket", keep: s.keep}
}

// number returns f as PromQL writes it.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
