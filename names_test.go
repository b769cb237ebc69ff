package plimsoll_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

var (
	promName = regexp.MustCompile(`\b(?:plimsoll|http_client)_[a-z_]+\b`)
	otelName = regexp.MustCompile("`((?:plimsoll|http\\.client)\\.[a-z_.]+)`")
)

// Metrics, labels, spans, span events and attributes that the pages name are
// those of the catalogue.
func TestTheTelemetryThatThePagesNameExists(t *testing.T) {
	prom, otel := map[string]bool{}, map[string]bool{}
	attribute := func(key string) {
		otel[key] = true
		prom[catalog.PrometheusLabel(key)] = true
	}
	for _, m := range catalog.Metrics() {
		otel[m.Name] = true
		prom[m.PrometheusName()] = true
		for _, series := range m.PrometheusSeries() {
			prom[series] = true
		}
		for _, a := range m.AllAttributes() {
			attribute(a.Key)
		}
	}
	for _, e := range catalog.Events() {
		otel[e.Span] = true
		for _, a := range e.Attributes {
			attribute(a.Key)
		}
	}
	for _, a := range catalog.SpanCommon() {
		attribute(a.Key)
	}
	seen := 0
	for name, page := range markdown(t) {
		for _, found := range promName.FindAllString(page, -1) {
			seen++
			if !prom[found] {
				t.Errorf("%s names %s, which nothing is called in Prometheus", name, found)
			}
		}
		for _, m := range otelName.FindAllStringSubmatch(page, -1) {
			seen++
			if family := m[1] + "."; !otel[m[1]] && !isFamily(otel, family) {
				t.Errorf("%s names %s, which nothing is called", name, m[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d names found", seen)
	}
}

// isFamily reports whether a name begins with the prefix.
func isFamily(names map[string]bool, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
