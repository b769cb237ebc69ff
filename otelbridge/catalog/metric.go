package catalog

import "slices"

// Kind is the kind of an instrument.
type Kind uint8

// The kinds. Observed ones are read from the client when a reader collects;
// the others are recorded when the event happens.
const (
	Histogram Kind = iota + 1
	Counter
	ObservedCounter
	ObservedUpDown
	ObservedGauge
)

var kinds = [...]string{"", "histogram", "counter", "observed counter", "observed updown counter", "observed gauge"}

// String returns the kind in words, such as "histogram" or "observed gauge".
func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return "invalid"
}

// Scope says what a series of a metric belongs to, and so which common
// attributes it carries.
type Scope uint8

// The scopes.
const (
	OfClient    Scope = iota + 1 // plimsoll.client alone
	OfOrigin                     // and server.address, server.port
	OfPartition                  // and plimsoll.partition where it is not the origin
)

// Type is the type of an attribute's value.
type Type uint8

// The types of attribute values.
const (
	String Type = iota + 1
	Int
	Bool
	Float // seconds, unless the description says otherwise
)

// String returns "string", "int", "bool" or "double".
func (t Type) String() string {
	switch t {
	case String:
		return "string"
	case Int:
		return "int"
	case Bool:
		return "bool"
	case Float:
		return "double"
	}
	return "invalid"
}

// Attribute is one attribute of a metric, a span or a span event.
type Attribute struct {
	Key  string // as OpenTelemetry knows it; PrometheusLabel gives the label
	Type Type   // of its values
	// Values is the closed set of values, as text; nil for an open one,
	// which only addresses, ports, names given in the configuration and
	// response statuses have.
	Values []string
	// Optional says that the attribute is left out where it does not apply.
	Optional    bool
	Description string // one sentence, for the documentation
}

// Label is one attribute with one value of its closed set.
type Label struct {
	Key   string // of the attribute
	Type  Type   // of the attribute
	Value string // true and false for a bool
}

// Metric is one metric.
type Metric struct {
	Name        string // as OpenTelemetry knows it; PrometheusName gives the other
	Kind        Kind   // of instrument
	Float       bool   // values are float64, else int64
	Unit        string // UCUM, as in OpenTelemetry: "s", "By", "{retry}"
	Description string // one sentence, as the instrument carries it
	Scope       Scope  // what a series belongs to
	// Attributes are those beyond the scope's, in the order of the columns
	// of Legal.
	Attributes []Attribute
	// Buckets are the upper bounds of a histogram, increasing; nil for
	// other kinds.
	Buckets []float64
	// Legal holds the combinations of attribute values that can happen, a
	// row per combination with a column per attribute. Nil means every
	// combination of the closed sets.
	Legal [][]string
	// Action says what an operator does about a change of it.
	Action string
}

// Metrics returns every metric, grouped by topic.
func Metrics() []Metric { return slices.Clone(metrics) }

// Lookup returns the metric of that OpenTelemetry name.
func Lookup(name string) (Metric, bool) {
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return metrics[i], true
}

// Common returns the attributes that the metric has from its scope.
func (m Metric) Common() []Attribute {
	switch m.Scope {
	case OfClient:
		return common[:1:1]
	case OfOrigin:
		return common[:3:3]
	}
	return slices.Clip(common)
}

// AllAttributes returns the scope's attributes and then the metric's own.
func (m Metric) AllAttributes() []Attribute { return append(m.Common(), m.Attributes...) }

// Observed reports whether the metric is read when a reader collects.
func (m Metric) Observed() bool {
	return m.Kind == ObservedCounter || m.Kind == ObservedUpDown || m.Kind == ObservedGauge
}

// Open reports whether one of the metric's own attributes has an open value
// set, so that the bridge bounds what it remembers: see [PerOrigin].
func (m Metric) Open() bool {
	return slices.ContainsFunc(m.Attributes, func(a Attribute) bool { return a.Values == nil })
}

// Combinations returns the legal combinations of the metric's own attributes.
// A metric without any has one, empty combination; an open metric has nil.
func (m Metric) Combinations() [][]Label {
	if m.Open() {
		return nil
	}
	rows := m.Legal
	if rows == nil {
		rows = [][]string{{}}
		for _, a := range m.Attributes {
			var next [][]string
			for _, row := range rows {
				for _, v := range a.Values {
					next = append(next, append(slices.Clip(row), v))
				}
			}
			rows = next
		}
	}
	out := make([][]Label, len(rows))
	for i, row := range rows {
		out[i] = make([]Label, len(row))
		for j, v := range row {
			out[i][j] = Label{Key: m.Attributes[j].Key, Type: m.Attributes[j].Type, Value: v}
		}
	}
	return out
}
