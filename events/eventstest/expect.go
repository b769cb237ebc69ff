package eventstest

import "testing"

// Expect fails t unless events that match want occurred in the order of want.
// Other events may lie before, between and after them; one event never serves
// two matchers. Without matchers it holds.
func (r *Recorder) Expect(t testing.TB, want ...Matcher) {
	t.Helper()
	timeline := r.snapshot()
	at := 0 // how much of the timeline is used up
	for i, m := range want {
		start := at
		for at < len(timeline) && !m.matches(timeline[at]) {
			at++
		}
		if at == len(timeline) {
			t.Errorf("eventstest: expected %d of %d, %s, did not occur after event %d\nexpected in this order: %s\n%s",
				i+1, len(want), m, start, join(want), format(timeline))
			return
		}
		at++
	}
}

// ExpectExactly fails t unless the recording consists of events that match
// want one by one: the same number in the same order. Narrow the recording
// with [Recorder.Select] first where only some events matter.
func (r *Recorder) ExpectExactly(t testing.TB, want ...Matcher) {
	t.Helper()
	timeline := r.snapshot()
	for i, m := range want {
		if i == len(timeline) {
			t.Errorf("eventstest: expected exactly %d events, %d occurred: missing from %s on\n%s",
				len(want), len(timeline), m, format(timeline))
			return
		}
		if !m.matches(timeline[i]) {
			t.Errorf("eventstest: expected event %d of %d to be %s\nexpected exactly: %s\n%s",
				i+1, len(want), m, join(want), format(timeline))
			return
		}
	}
	if len(timeline) > len(want) {
		t.Errorf("eventstest: expected exactly %d events, %d occurred: the first superfluous one is event %d\n%s",
			len(want), len(timeline), len(want)+1, format(timeline))
	}
}

// ExpectNothing fails t if an event was recorded that matches one of
// forbidden, or, without matchers, if any event was recorded.
func (r *Recorder) ExpectNothing(t testing.TB, forbidden ...Matcher) {
	t.Helper()
	timeline := r.snapshot()
	if len(forbidden) == 0 {
		if len(timeline) > 0 {
			t.Errorf("eventstest: expected no event, %d occurred\n%s", len(timeline), format(timeline))
		}
		return
	}
	for i, e := range timeline {
		for _, m := range forbidden {
			if m.matches(e) {
				t.Errorf("eventstest: expected no %s, event %d is one\n%s", m, i+1, format(timeline))
				return
			}
		}
	}
}

// One returns the only recorded event of type E. If there is none or more than
// one, it ends the test: call it from the test's own goroutine.
func One[E Event](t testing.TB, r *Recorder) E {
	t.Helper()
	all := All[E](r)
	if len(all) != 1 {
		t.Fatalf("eventstest: expected exactly one %s, %d occurred\n%s", nameOf[E](), len(all), r)
	}
	return all[0]
}
