package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/internal/yaml"
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Name is the name of the file that [File] returns.
const Name = "plimsoll-alerts_test.yaml"

// scrape is the interval between two values of a series.
const scrape = 15 * time.Second

// series is one series of a metric, with values in promtool's notation:
// "0x10 1x20" is 11 zeros and then 21 ones, "500-10x5" falls by 10 five times.
type series struct {
	metric  string // OpenTelemetry name
	suffix  string // of a histogram's series
	process string // "" for the only one
	attrs   map[string]string
	values  string
}

// check is what one alert must be at a time from the first value.
type check struct {
	at     time.Duration
	alert  string
	firing bool
}

// scenario is one set of series and what must come of it.
type scenario struct {
	name   string
	series []series
	checks []check
}

// File returns the tests as a file that lies in a folder beside rules.
func File(s *dashboards.Set, rules string) ([]byte, error) {
	var order, tests yaml.Sequence
	for _, g := range s.Groups {
		order = append(order, g.Name)
	}
	for _, sc := range scenarios {
		test, err := sc.test(s)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return yaml.Document("Generated: change package ruletest and run go generate.", yaml.Mapping{
		{"rule_files", yaml.Sequence{rules}},
		{"evaluation_interval", promql.Duration(s.Options().ScrapeInterval)},
		{"group_eval_order", order},
		{"tests", tests},
	}), nil
}

func (sc scenario) test(s *dashboards.Set) (yaml.Mapping, error) {
	var input, checks yaml.Sequence
	for _, in := range sc.series {
		selector, err := in.selector()
		if err != nil {
			return nil, fmt.Errorf("ruletest: %s: %w", sc.name, err)
		}
		input = append(input, yaml.Mapping{{"series", selector}, {"values", in.values}})
	}
	for _, c := range sc.checks {
		if s.Alert(c.alert) == nil {
			return nil, fmt.Errorf("ruletest: %s: there is no alert %q", sc.name, c.alert)
		}
		samples := yaml.Sequence{}
		if c.firing {
			samples = yaml.Sequence{yaml.Mapping{{"labels", "{}"}, {"value", 1}}}
		}
		checks = append(checks, yaml.Mapping{
			{"expr", fmt.Sprintf("count(ALERTS{alertname=%q, alertstate=\"firing\"})", c.alert)},
			{"eval_time", promql.Duration(c.at)},
			{"exp_samples", samples},
		})
	}
	return yaml.Mapping{
		{"name", sc.name},
		{"interval", promql.Duration(scrape)},
		{"input_series", input},
		{"promql_expr_test", checks},
	}, nil
}

// selector returns the series with all labels that its metric has. An
// attribute that isn't the metric's is an error.
func (in series) selector() (string, error) {
	m, ok := catalog.Lookup(in.metric)
	if !ok {
		return "", fmt.Errorf("the catalogue has no metric %q", in.metric)
	}
	given := map[string]string{catalog.KeyClient: "default", catalog.KeyAddress: "api.example", catalog.KeyPort: "443"}
	maps.Copy(given, in.attrs)
	process := in.process
	if process == "" {
		process = "a:9464"
	}
	parts := []string{`job="shop"`, fmt.Sprintf("instance=%q", process)}
	for _, a := range m.AllAttributes() {
		v, ok := given[a.Key]
		switch {
		case !ok && a.Optional:
			continue
		case !ok:
			return "", fmt.Errorf("%s needs a value for %s", m.Name, a.Key)
		case a.Values != nil && !slices.Contains(a.Values, v):
			return "", fmt.Errorf("%s is never %q on %s", a.Key, v, m.Name)
		}
		parts = append(parts, fmt.Sprintf("%s=%q", catalog.PrometheusLabel(a.Key), v))
	}
	for k := range in.attrs {
		if !slices.ContainsFunc(m.AllAttributes(), func(a catalog.Attribute) bool { return a.Key == k }) {
			return "", fmt.Errorf("%s has no attribute %s", m.Name, k)
		}
	}
	return m.PrometheusName() + in.suffix + "{" + strings.Join(parts, ",") + "}", nil
}
