package promql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Matcher narrows a selector to the series with certain label values. The zero
// value is an error when used.
type Matcher struct {
	key      string // OpenTelemetry attribute key; "" for a label of the target
	label    string // Prometheus label
	op       string
	value    string   // what follows op, unquoted
	values   []string // values to hold against the closed set of key
	optional bool     // left out where the metric has no such attribute
}

// Is matches the series whose attribute key has one of the values. The key and
// the values must be legal for the metric that it is used on.
func Is(key string, values ...string) Matcher { return attribute(key, "=", values) }

// Not matches the series whose attribute key has none of the values.
func Not(key string, values ...string) Matcher { return attribute(key, "!=", values) }

func attribute(key, op string, values []string) Matcher {
	m := Matcher{key: key, label: catalog.PrometheusLabel(key), op: op, values: values}
	switch len(values) {
	case 0:
		m.op = ""
	case 1:
		m.value = values[0]
	default:
		m.op = strings.Replace(op, "=", "=~", 1)
		if op == "!=" {
			m.op = "!~"
		}
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = regexp.QuoteMeta(v)
		}
		m.value = strings.Join(quoted, "|")
	}
	return m
}

// Variable matches the attribute key against a dashboard variable, given
// without its dollar sign, of which several values may be chosen. On metrics
// without that attribute it matches everything.
func Variable(key, name string) Matcher {
	return Matcher{key: key, label: catalog.PrometheusLabel(key), op: "=~", value: "$" + name, optional: true}
}

// Target matches a label that Prometheus or the collector attaches to
// everything that it reads from one target, such as job or cluster. Nothing is
// known about its values.
func Target(label, value string) Matcher { return Matcher{label: label, op: "=", value: value} }

// TargetVariable matches such a label against a dashboard variable.
func TargetVariable(label, name string) Matcher {
	return Matcher{label: label, op: "=~", value: "$" + name}
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// ValidLabel reports whether Prometheus accepts name as the name of a label.
func ValidLabel(name string) bool { return labelName.MatchString(name) }

// on returns the matcher as text for a selector of metric; "" where it does
// not apply.
func (m Matcher) on(metric catalog.Metric) (string, error) {
	if m.op == "" {
		return "", fmt.Errorf("promql: a matcher on %q has no values: give at least one", m.key)
	}
	if !ValidLabel(m.label) {
		return "", fmt.Errorf("promql: %q is no name of a label: use letters, digits and underscores", m.label)
	}
	if m.key != "" {
		a, ok := attributeOf(metric, m.key)
		switch {
		case !ok && m.optional:
			return "", nil
		case !ok:
			return "", fmt.Errorf("promql: %s has no attribute %q: it has %s", metric.Name, m.key, keys(metric))
		}
		for _, v := range m.values {
			if a.Values != nil && !slices.Contains(a.Values, v) {
				return "", fmt.Errorf("promql: %s is never %q on %s: its values are %s", m.key, v, metric.Name, strings.Join(a.Values, ", "))
			}
		}
	}
	return m.label + m.op + quote(m.value), nil
}

func attributeOf(metric catalog.Metric, key string) (catalog.Attribute, bool) {
	all := metric.AllAttributes()
	i := slices.IndexFunc(all, func(a catalog.Attribute) bool { return a.Key == key })
	if i < 0 {
		return catalog.Attribute{}, false
	}
	return all[i], true
}

func keys(metric catalog.Metric) string {
	var out []string
	for _, a := range metric.AllAttributes() {
		out = append(out, a.Key)
	}
	return strings.Join(out, ", ")
}

// quote returns s as a string literal of PromQL.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
