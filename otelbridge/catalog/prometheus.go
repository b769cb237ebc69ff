package catalog

import "strings"

// PrometheusName returns the name under which Prometheus stores the metric:
// dots become underscores, the unit and, for counters, "_total" are appended
// (the strategy UnderscoreEscapingWithSuffixes of OpenTelemetry's exporters,
// which has to be set where it is not the default). For a histogram it is the
// base name, to which "_bucket", "_sum" and "_count" are appended: see
// [Metric.PrometheusSeries].
func (m Metric) PrometheusName() string {
	name := PrometheusLabel(m.Name)
	switch m.Unit {
	case "s":
		name = withSuffix(name, "_seconds")
	case "By":
		name = withSuffix(name, "_bytes")
	case "1":
		if m.Kind == ObservedGauge {
			name = withSuffix(name, "_ratio")
		}
	}
	if m.Kind == Counter || m.Kind == ObservedCounter {
		name = withSuffix(name, "_total")
	}
	return name
}

// PrometheusSeries returns the names of the series that the metric has in
// Prometheus: three for a histogram, one for the others.
func (m Metric) PrometheusSeries() []string {
	name := m.PrometheusName()
	if m.Kind == Histogram {
		return []string{name + "_bucket", name + "_sum", name + "_count"}
	}
	return []string{name}
}

// PrometheusLabel returns the label under which Prometheus stores the
// attribute key.
func PrometheusLabel(key string) string { return strings.ReplaceAll(key, ".", "_") }

func withSuffix(name, suffix string) string {
	if strings.HasSuffix(name, suffix) {
		return name
	}
	return name + suffix
}
