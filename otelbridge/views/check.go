package views

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// check returns the metric that v is of, or what is wrong with v where the
// metrics in seen have a view already.
func check(v catalog.View, seen map[string]bool) (catalog.Metric, error) {
	m, ok := catalog.Lookup(v.Metric)
	switch {
	case !ok:
		return m, fmt.Errorf("views: View.Metric is %q, which is not in the catalogue: take a name from package catalog, such as catalog.CallDuration", v.Metric)
	case seen[v.Metric]:
		return m, fmt.Errorf("views: %s has two views, and the SDK would report it twice: make them one", v.Metric)
	case v.Drop && (v.Keep != nil || v.Buckets != nil):
		return m, fmt.Errorf("views: View.Drop of %s is true, and View.Keep or View.Buckets is set: leave them nil, or unset Drop", v.Metric)
	case !v.Drop && v.Keep == nil && v.Buckets == nil:
		return m, fmt.Errorf("views: the view of %s changes nothing: set Drop, Keep or Buckets, or leave it out", v.Metric)
	}
	if err := checkKeep(m, v); err != nil {
		return m, err
	}
	return m, checkBuckets(m, v.Buckets)
}

func checkKeep(m catalog.Metric, v catalog.View) error {
	var keys []string
	for _, a := range m.AllAttributes() {
		keys = append(keys, a.Key)
	}
	for _, k := range v.Keep {
		if !slices.Contains(keys, k) {
			return fmt.Errorf("views: View.Keep of %s has %q, which is none of its attributes: choose from %q", m.Name, k, keys)
		}
	}
	if m.Kind == catalog.ObservedGauge && loses(m, v) {
		return fmt.Errorf("views: View.Keep of %s leaves attributes out, and the values of a gauge cannot be added: keep all of %q, or drop the metric", m.Name, keys)
	}
	return nil
}

// loses reports whether v leaves attributes of m out.
func loses(m catalog.Metric, v catalog.View) bool {
	return v.Keep != nil && slices.ContainsFunc(m.AllAttributes(), func(a catalog.Attribute) bool { return !slices.Contains(v.Keep, a.Key) })
}

func checkBuckets(m catalog.Metric, bounds []float64) error {
	if bounds != nil && m.Kind != catalog.Histogram {
		return fmt.Errorf("views: View.Buckets of %s is %v, and it is no histogram but a %v: leave Buckets nil", m.Name, bounds, m.Kind)
	}
	for i, b := range bounds {
		switch {
		case math.IsNaN(b) || math.IsInf(b, 0):
			return fmt.Errorf("views: View.Buckets[%d] of %s is %v: give finite bounds, the SDK adds the one at infinity", i, m.Name, b)
		case i > 0 && b <= bounds[i-1]:
			return fmt.Errorf("views: View.Buckets[%d] of %s is %v, which is not above the %v before it: sort the bounds and leave out duplicates", i, m.Name, b, bounds[i-1])
		}
	}
	return nil
}
