package promql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Expr is a PromQL expression. The zero value is an error.
type Expr struct {
	text    string
	loose   precedence // of the operator at the top
	metrics []catalog.Metric
	buckets bool     // has the label le
	by      []string // labels that are left, after an aggregation; nil: all
	keep    []string
	err     error
}

// precedence says how loosely an operator binds: a looser one inside a tighter
// one needs parentheses.
type precedence int

const (
	tight precedence = iota // a call, a selector, a number
	product
	sum
	comparison
	intersection
	union
)

var errEmpty = errors.New("promql: the expression is empty")

func failed(err error) Expr { return Expr{err: err} }

// Text returns an expression that is written by hand: nothing about it is
// checked. It is for metrics that are not in the catalogue.
func Text(expr string) Expr {
	if strings.TrimSpace(expr) == "" {
		return failed(errEmpty)
	}
	return Expr{text: expr, loose: union}
}

// Number returns a constant.
func Number(f float64) Expr { return Expr{text: number(f)} }

// String returns the expression as PromQL. One with an error is a comment that
// says so.
func (e Expr) String() string {
	if err := e.Err(); err != nil {
		return "# " + err.Error()
	}
	return e.text
}

// Err returns what is wrong with the expression, or nil.
func (e Expr) Err() error {
	if e.err == nil && e.text == "" {
		return errEmpty
	}
	return e.err
}

// Metrics returns the OpenTelemetry names of the catalogue's metrics that the
// expression reads, each once, in order of appearance.
func (e Expr) Metrics() []string {
	var out []string
	for _, m := range e.metrics {
		if !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// Labels returns the Prometheus labels that the expression's series have after
// an aggregation. Without one the answer is nil: then they have all labels of
// their metric and of their target.
func (e Expr) Labels() []string { return slices.Clone(e.by) }

// Sum adds the series up that agree in the keys: attribute keys of the
// catalogue or labels of the target. Without keys it adds all of them up.
func Sum(e Expr, keys ...string) Expr { return aggregate("sum", e, keys) }

// Min takes the lowest of the series that agree in the keys. It is the one for
// levels that every process has for itself.
func Min(e Expr, keys ...string) Expr { return aggregate("min", e, keys) }

// Max takes the highest of the series that agree in the keys.
func Max(e Expr, keys ...string) Expr { return aggregate("max", e, keys) }

// Quantile estimates the q-quantile (0 to 1) of a histogram from the rates of
// its buckets, for each combination of the keys.
func Quantile(q float64, buckets Expr, keys ...string) Expr {
	switch {
	case buckets.Err() != nil:
		return buckets
	case q < 0 || q > 1:
		return failed(fmt.Errorf("promql: quantile %v is outside 0 to 1", q))
	case !buckets.buckets:
		return failed(errors.New("promql: a quantile needs the rate of Buckets"))
	}
	e := aggregate("sum", buckets, append([]string{"le"}, keys...))
	if e.err != nil {
		return e
	}
	e.text = "histogram_quantile(" + number(q) + ", " + e.text + ")"
	e.by = slices.DeleteFunc(e.by, func(l string) bool { return l == "le" })
	e.buckets = false
	return e
}

func aggregate(op string, e Expr, keys []string) Expr {
	if e.Err() != nil {
		return e
	}
	e.by = []string{}
	for _, key := range keys {
		for _, m := range e.metrics {
			if _, ok := attributeOf(m, key); !ok && strings.Contains(key, ".") {
				return failed(fmt.Errorf("promql: %s has no attribute %q to aggregate by", m.Name, key))
			}
		}
		label := catalog.PrometheusLabel(key)
		if !ValidLabel(label) {
			return failed(fmt.Errorf("promql: %q is no name of a label to aggregate by", key))
		}
		e.by = append(e.by, label)
	}
	if len(keys) > 0 {
		for _, label := range e.keep {
			if !slices.Contains(e.by, label) {
				e.by = append(e.by, label)
			}
		}
		op += " by (" + strings.Join(e.by, ", ") + ") "
	}
	e.text, e.loose = op+"("+e.text+")", tight
	return e
}

// Div divides by the series with the same labels.
func (e Expr) Div(by Expr) Expr { return e.with(" / ", product, by) }

// Mul multiplies with the series with the same labels, or with a [Number].
func (e Expr) Mul(by Expr) Expr { return e.with(" * ", product, by) }

// Add adds the series with the same labels, or a [Number].
func (e Expr) Add(x Expr) Expr { return e.with(" + ", sum, x) }

// Sub subtracts the series with the same labels, or a [Number].
func (e Expr) Sub(x Expr) Expr { return e.with(" - ", sum, x) }

// Neg changes the sign.
func (e Expr) Neg() Expr { return Number(-1).Mul(e) }

// Below keeps the series below limit.
func (e Expr) Below(limit Expr) Expr { return e.with(" < ", comparison, limit) }

// Above keeps the series above limit.
func (e Expr) Above(limit Expr) Expr { return e.with(" > ", comparison, limit) }

// AtLeast keeps the series at or above limit.
func (e Expr) AtLeast(limit Expr) Expr { return e.with(" >= ", comparison, limit) }

// And keeps the series that have a counterpart in all conditions.
func (e Expr) And(conditions ...Expr) Expr {
	for _, c := range conditions {
		e = e.with("\nand\n", intersection, c)
	}
	return e
}

// Or adds the series of other that have no counterpart.
func (e Expr) Or(other Expr) Expr { return e.with("\nor\n", union, other) }

// AtMost caps the values at limit: nothing is dropped.
func (e Expr) AtMost(limit float64) Expr { return e.clamp("clamp_max", limit) }

// NoLess raises the values to limit: nothing is dropped.
func (e Expr) NoLess(limit float64) Expr { return e.clamp("clamp_min", limit) }

func (e Expr) clamp(function string, limit float64) Expr {
	if e.Err() != nil {
		return e
	}
	e.text, e.loose = function+"("+e.text+", "+number(limit)+")", tight
	return e
}

// with joins two expressions by an operator, with parentheses where they are
// needed. Prometheus reads operators of one precedence from left to right.
func (e Expr) with(op string, loose precedence, x Expr) Expr {
	if e.Err() != nil {
		return e
	}
	if x.Err() != nil {
		return x
	}
	left, right := e.text, x.text
	if e.loose > loose {
		left = "(" + left + ")"
	}
	if x.loose >= loose {
		right = "(" + right + ")"
	}
	e.text, e.loose = left+op+right, loose
	e.metrics = append(slices.Clip(e.metrics), x.metrics...)
	if e.by == nil {
		e.by = x.by // a constant on the left
	}
	if e.keep == nil {
		e.keep = x.keep
	}
	return e
}
