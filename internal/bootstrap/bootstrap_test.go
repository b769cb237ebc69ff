package bootstrap

import (
	"slices"
	"testing"
)

func TestTheIntervalHoldsTheMedian(t *testing.T) {
	samples := []float64{9, 1, 5, 3, 7, 4, 6, 2, 8}
	before := slices.Clone(samples)
	i := Median(samples)
	if i.Mid != 5 || i.Low > i.Mid || i.High < i.Mid || i.Low < 1 || i.High > 9 || i.Low == i.High {
		t.Errorf("%+v", i)
	}
	if again := Median(samples); again != i {
		t.Errorf("%+v, and then %+v", i, again)
	}
	if !slices.Equal(samples, before) {
		t.Errorf("the samples became %v", samples)
	}
}

// For the numbers from 1 to 99 the median's standard error is about 5, so the
// interval is about 50 ± 10.
func TestTheIntervalIsOf95Percent(t *testing.T) {
	var samples []float64
	for i := range 99 {
		samples = append(samples, float64(i+1))
	}
	if i := Median(samples); i.Mid != 50 || i.Low < 36 || i.Low > 44 || i.High < 56 || i.High > 64 {
		t.Errorf("%+v, want 50 within about 40 and 60", i)
	}
}

func TestTheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo(t *testing.T) {
	if i := Median([]float64{4, 1, 2, 100}); i.Mid != 3 {
		t.Errorf("%+v, want 3", i)
	}
	if i := Median([]float64{7}); i != (Interval{7, 7, 7}) {
		t.Errorf("%+v, want 7", i)
	}
}
