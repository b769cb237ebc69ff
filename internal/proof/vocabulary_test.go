package proof

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// vocabulary is what a run emitted: series names, their labels, and the labels'
// values.
type vocabulary map[string]map[string]map[string]bool

func (r *Run) vocabulary() vocabulary {
	out := vocabulary{}
	for _, series := range r.Emitted() {
		name := series.Get(model.MetricNameLabel)
		if out[name] == nil {
			out[name] = map[string]map[string]bool{}
		}
		series.Range(func(l labels.Label) {
			if out[name][l.Name] == nil {
				out[name][l.Name] = map[string]bool{}
			}
			out[name][l.Name][l.Value] = true
		})
	}
	return out
}

// without returns the vocabulary without the series of those names.
func (v vocabulary) without(names ...string) vocabulary {
	out := vocabulary{}
	for name, known := range v {
		if !slices.Contains(names, name) {
			out[name] = known
		}
	}
	return out
}

// check says what of an expression no client emits.
func (v vocabulary) check(expr string) []error {
	parsed, err := Parser.ParseExpr(expr)
	if err != nil {
		return []error{err}
	}
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			known, ok := v[n.Name]
			if !ok {
				complain("no client emits %s", n.Name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				switch {
				case m.Name == model.MetricNameLabel:
				case known[m.Name] == nil:
					complain("%s has no label %s", n.Name, m.Name)
				case m.Type == labels.MatchEqual && !known[m.Name][m.Value]:
					complain("%s never has %s=%q", n.Name, m.Name, m.Value)
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				if !v.has(n.Expr, label) {
					complain("nothing in %s has the label %s", n.Expr, label)
				}
			}
		}
		return nil
	})
	return errs
}

// has reports whether all selectors below an expression have a label.
func (v vocabulary) has(expr parser.Expr, label string) bool {
	found, all := false, true
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.VectorSelector); ok {
			found = true
			all = all && v[n.Name][label] != nil
		}
		return nil
	})
	return found && all
}
