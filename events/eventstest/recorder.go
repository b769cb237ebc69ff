package eventstest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/plimsoll-http/plimsoll/events"
)

// Event is the set of all event types, so that a type that no hook ever
// reports does not compile.
type Event interface {
	events.CallStarted | events.CallDone |
		events.AttemptStarted | events.AttemptDone |
		events.RetryArmed | events.RetrySkipped |
		events.BudgetReserved | events.BudgetSettled | events.BudgetReplenished |
		events.ThrottleRecorded | events.ThrottleWaited |
		events.ConnOpened | events.ConnAcquired | events.ConnReleased | events.ConnClosed |
		events.ConnStale | events.ConnRecovered |
		events.BreakerChanged | events.BreakerRejected | events.BreakerProbe | events.BreakerStoreChanged |
		events.StreamOpened | events.StreamClosed |
		events.Reloaded
}

// Recorder keeps events in the order in which they happened. The zero value is
// an empty recorder, ready for use; it must not be copied.
type Recorder struct {
	mu       sync.Mutex
	timeline []any         // guarded by mu; append-only between resets, elements never change
	changed  chan struct{} // guarded by mu; closed at the next event; nil while nobody waits
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Hooks returns hooks that record every event in r. They may be joined with
// others by [events.Join] and shared by several clients. The header of an
// [events.AttemptStarted] is recorded as it is at that moment, in a copy.
func (r *Recorder) Hooks() *events.Hooks {
	return &events.Hooks{
		CallStarted: func(_ context.Context, e events.CallStarted) context.Context {
			r.add(e)
			return nil
		},
		CallDone: into[events.CallDone](r),
		AttemptStarted: func(_ context.Context, e events.AttemptStarted) context.Context {
			e.Header = e.Header.Clone()
			r.add(e)
			return nil
		},
		AttemptDone:         into[events.AttemptDone](r),
		RetryArmed:          into[events.RetryArmed](r),
		RetrySkipped:        into[events.RetrySkipped](r),
		BudgetReserved:      into[events.BudgetReserved](r),
		BudgetSettled:       into[events.BudgetSettled](r),
		BudgetReplenished:   into[events.BudgetReplenished](r),
		ThrottleRecorded:    into[events.ThrottleRecorded](r),
		ThrottleWaited:      into[events.ThrottleWaited](r),
		ConnOpened:          into[events.ConnOpened](r),
		ConnAcquired:        into[events.ConnAcquired](r),
		ConnReleased:        into[events.ConnReleased](r),
		ConnClosed:          into[events.ConnClosed](r),
		ConnStale:           into[events.ConnStale](r),
		ConnRecovered:       into[events.ConnRecovered](r),
		BreakerChanged:      into[events.BreakerChanged](r),
		BreakerRejected:     into[events.BreakerRejected](r),
		BreakerProbe:        into[events.BreakerProbe](r),
		BreakerStoreChanged: into[events.BreakerStoreChanged](r),
		StreamOpened:        into[events.StreamOpened](r),
		StreamClosed:        into[events.StreamClosed](r),
		Reloaded:            into[events.Reloaded](r),
	}
}

func into[E Event](r *Recorder) func(context.Context, E) {
	return func(_ context.Context, e E) { r.add(e) }
}

func (r *Recorder) add(e any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeline = append(r.timeline, e)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Timeline returns everything recorded so far, each element a value of one of
// the types of [Event]. The caller owns the slice.
func (r *Recorder) Timeline() []any { return slices.Clone(r.snapshot()) }

// snapshot returns the timeline without copying it; it must not be written to.
func (r *Recorder) snapshot() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeline
}

// Reset forgets what was recorded. Hooks that were handed out go on recording.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeline = nil
}

// Select returns a new recorder that holds those events recorded so far that
// match at least one of keep, in the same order. It does not follow r.
func (r *Recorder) Select(keep ...Matcher) *Recorder {
	selected := NewRecorder()
	for _, e := range r.snapshot() {
		if matchesAny(keep, e) {
			selected.timeline = append(selected.timeline, e)
		}
	}
	return selected
}

// WaitFor returns nil as soon as done reports true. It asks at once and again
// after events were recorded, on the caller's goroutine and outside every
// lock. When ctx ends first, it returns an error that wraps ctx's cause and
// lists the timeline.
func (r *Recorder) WaitFor(ctx context.Context, done func() bool) error {
	for {
		changed := r.next()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("eventstest: the awaited events did not occur: %w\n%s", context.Cause(ctx), r)
		}
	}
}

// next returns a channel that is closed at the next event.
func (r *Recorder) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// All returns the recorded events of type E, in order.
func All[E Event](r *Recorder) []E {
	var all []E
	for _, e := range r.snapshot() {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// Count returns how many events of type E were recorded.
func Count[E Event](r *Recorder) int { return len(All[E](r)) }
