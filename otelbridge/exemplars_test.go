package otelbridge

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// startedSpan has a start, as the SDK's spans have.
type startedSpan struct {
	trace.Span
	at time.Time
}

func (s startedSpan) StartTime() time.Time { return s.at }

func TestExemplarsAreOfferedByTheTimeOfTheirSpans(t *testing.T) {
	var x exemplars
	now := time.Unix(1_800_000_000, 0)
	for i, tt := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true},
		{0, false},
		{offerEvery - 1, false},
		{offerEvery, true},
		{-time.Hour, true}, // the clock was set back
		{-time.Hour + 1, false},
		{-time.Hour + offerEvery, true},
		{-time.Hour + 1, false}, // it overlaps with that one
	} {
		if got := x.offers(0, startedSpan{at: now.Add(tt.at)}); got != tt.want {
			t.Errorf("%d: a span that began at %v is offered: %v, want %v", i, tt.at, got, tt.want)
		}
	}
	for range 2 {
		if !x.offers(0, tracenoop.Span{}) {
			t.Error("a span that does not tell when it began is not offered")
		}
	}
}

func TestClassesOfDurationsAreHalvesOfDoublings(t *testing.T) {
	before := -1
	for d := time.Duration(-1); d <= quick; d += 100 * time.Nanosecond {
		c := classOf(d)
		if c < before || c > before+1 || c >= quickClasses {
			t.Fatalf("%v is of class %d, after %d", d, c, before)
		}
		if c > before && c > 2 && classOf(d*3/2) == c {
			t.Errorf("%v and %v are of one class", d, d*3/2)
		}
		before = c
	}
	if before < quickClasses-2 {
		t.Errorf("%d classes, want %d or one less", before+1, quickClasses)
	}
}
