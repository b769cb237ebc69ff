package traces

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Trace is what is known of one call.
type Trace struct {
	ID       string    `json:"id"`
	Start    time.Time `json:"start"`
	Duration float64   `json:"duration"` // of all spans, in seconds
	Eventful bool      `json:"eventful"` // something other than one good attempt happened
	Spans    []Span    `json:"spans"`    // by start
}

// Span is one span. Offsets are seconds since the trace's start.
type Span struct {
	ID         string         `json:"id"`
	Parent     string         `json:"parent,omitempty"`
	Name       string         `json:"name"`
	Kind       string         `json:"kind"`
	Offset     float64        `json:"offset"`
	Duration   float64        `json:"duration"` // seconds
	Error      string         `json:"error,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
	Events     []Event        `json:"events,omitempty"`

	start, end time.Time
}

// Event is a span event.
type Event struct {
	Name       string         `json:"name"`
	Offset     float64        `json:"offset"`
	Attributes map[string]any `json:"attributes,omitempty"`

	at time.Time
}

// Limits of what is kept.
const (
	Limit     = 40  // traces of each sort
	mostSpans = 200 // of one trace
	pending   = 500 // traces whose root has not arrived
)

// Store keeps the latest traces.
type Store struct {
	mu     sync.Mutex
	open   map[string]*Trace // root not seen yet; guarded by mu
	order  []string          // of open, oldest first; guarded by mu
	plain  []*Trace          // oldest first; guarded by mu
	events []*Trace          // eventful ones, oldest first; guarded by mu
	byID   map[string]*Trace // of plain and events; guarded by mu
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{open: map[string]*Trace{}, byID: map[string]*Trace{}}
}

// Add takes the spans of t.
func (s *Store) Add(t ptrace.Traces) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range t.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				s.addLocked(span)
			}
		}
	}
}

func (s *Store) addLocked(p ptrace.Span) {
	id := p.TraceID().String()
	t, done := s.byID[id]
	if !done {
		var ok bool
		if t, ok = s.open[id]; !ok {
			t = &Trace{ID: id}
			s.open[id] = t
			s.order = append(s.order, id)
		}
	}
	if len(t.Spans) < mostSpans {
		t.Spans = append(t.Spans, spanOf(p))
	}
	switch {
	case done && !t.Eventful && eventful(t): // by what came late
		t.Eventful = true
		s.plain = slices.DeleteFunc(s.plain, func(o *Trace) bool { return o == t })
		s.events = s.keepLocked(s.events, t)
	case !done && p.ParentSpanID().IsEmpty():
		delete(s.open, id)
		s.order = slices.DeleteFunc(s.order, func(o string) bool { return o == id })
		s.byID[id] = t
		if t.Eventful = eventful(t); t.Eventful {
			s.events = s.keepLocked(s.events, t)
		} else {
			s.plain = s.keepLocked(s.plain, t)
		}
	}
	if len(s.order) > pending {
		delete(s.open, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *Store) keepLocked(list []*Trace, t *Trace) []*Trace {
	list = append(list, t)
	if len(list) > Limit {
		delete(s.byID, list[0].ID)
		list = slices.Delete(list, 0, 1)
	}
	return list
}

// Latest returns up to n traces, the latest first; only eventful ones if so
// asked.
func (s *Store) Latest(n int, eventfulOnly bool) []Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.events)
	if !eventfulOnly {
		all = append(all, s.plain...)
	}
	out := make([]Trace, 0, len(all))
	for _, t := range all {
		out = append(out, t.laidOut())
	}
	slices.SortFunc(out, func(a, b Trace) int { return b.Start.Compare(a.Start) })
	return out[:min(n, len(out))]
}

// laidOut returns a copy with times relative to the trace's start.
func (t *Trace) laidOut() Trace {
	out := Trace{ID: t.ID, Eventful: t.Eventful, Spans: slices.Clone(t.Spans)}
	slices.SortStableFunc(out.Spans, func(a, b Span) int { return a.start.Compare(b.start) })
	end := out.Spans[0].end
	out.Start = out.Spans[0].start
	for i := range out.Spans {
		span := &out.Spans[i]
		if span.end.After(end) {
			end = span.end
		}
		span.Offset = span.start.Sub(out.Start).Seconds()
		span.Events = slices.Clone(span.Events)
		for j := range span.Events {
			span.Events[j].Offset = span.Events[j].at.Sub(out.Start).Seconds()
		}
	}
	out.Duration = end.Sub(out.Start).Seconds()
	return out
}

// eventful reports whether there was more than one attempt, or an error.
func eventful(t *Trace) bool {
	attempts := 0
	for i := range t.Spans {
		span := &t.Spans[i]
		if span.Kind == "Client" {
			attempts++
		}
		if span.Error != "" || attempts > 1 {
			return true
		}
	}
	return false
}

func spanOf(p ptrace.Span) Span {
	s := Span{
		ID: p.SpanID().String(), Name: p.Name(), Kind: p.Kind().String(),
		start: p.StartTimestamp().AsTime(), end: p.EndTimestamp().AsTime(),
		Attributes: attributes(p.Attributes()),
	}
	s.Duration = s.end.Sub(s.start).Seconds()
	if !p.ParentSpanID().IsEmpty() {
		s.Parent = p.ParentSpanID().String()
	}
	if p.Status().Code() == ptrace.StatusCodeError {
		s.Error = "error"
		if m := p.Status().Message(); m != "" {
			s.Error = m
		} else if v, ok := p.Attributes().Get("error.type"); ok {
			s.Error = v.AsString()
		}
	}
	for _, e := range p.Events().All() {
		s.Events = append(s.Events, Event{Name: e.Name(), Attributes: attributes(e.Attributes()), at: e.Timestamp().AsTime()})
	}
	return s
}

func attributes(m pcommon.Map) map[string]any {
	if m.Len() == 0 {
		return nil
	}
	out := make(map[string]any, m.Len())
	for k, v := range m.All() {
		out[k] = v.AsRaw()
	}
	return out
}
