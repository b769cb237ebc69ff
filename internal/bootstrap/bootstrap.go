// Package bootstrap says how sure a median is. The benchmarks of this module
// compare with it: a bound applies to the upper end of an interval.
package bootstrap

import (
	"math/rand/v2"
	"slices"
)

// Interval is a median with the ends of its 95 % interval, in the unit of the
// samples.
type Interval struct{ Low, Mid, High float64 }

// draws is how many samples are drawn from the given one.
const draws = 2000

// Median returns the median of samples and the interval that holds the medians
// of 95 of 100 samples drawn from them with replacement (Efron 1979). The same
// samples give the same interval. It does not change samples, and panics when
// there are none.
func Median(samples []float64) Interval {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret, and reproducible
	medians := make([]float64, draws)
	draw := make([]float64, len(samples))
	for i := range medians {
		for j := range draw {
			draw[j] = samples[rnd.IntN(len(samples))]
		}
		medians[i] = median(draw)
	}
	slices.Sort(medians)
	return Interval{medians[draws*25/1000], median(slices.Clone(samples)), medians[draws*975/1000-1]}
}

// median sorts s.
func median(s []float64) float64 {
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
