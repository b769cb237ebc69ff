package catalog

import "slices"

// Form says how an event shows in a trace.
type Form uint8

// The forms. Outside a call, each becomes an INTERNAL span without length; it
// has the attributes of [Event.Attributes] and those of [SpanCommon].
const (
	CallSpan    Form = iota + 1 // begins or ends the INTERNAL span of the call
	AttemptSpan                 // begins or ends the CLIENT span of the attempt
	ChildSpan                   // an INTERNAL span of its own inside the call or the attempt, from the begin of the wait to the event
	SpanEvent                   // an event on the span of the attempt, or of the call
)

var forms = [...]string{"", "call span", "attempt span", "child span", "span event"}

// String returns the form in words.
func (f Form) String() string {
	if int(f) < len(forms) && f > 0 {
		return forms[f]
	}
	return "invalid"
}

// Event says what stands for one lifecycle event in traces and metrics.
type Event struct {
	Name string // of the type in package events
	Form Form   // how it shows in a trace
	// Span is the name of the span or span event; "" for the span of an
	// attempt, whose name is the request's.
	Span       string
	Attributes []Attribute // that the span or span event carries
	Metrics    []string    // names, never empty
	Meaning    string      // one sentence, for the documentation
	Action     string      // what to do when it becomes frequent
}

// Events returns what stands for each lifecycle event, in the order of
// events.Hooks.
func Events() []Event { return slices.Clone(lifecycle) }

// LookupEvent returns what stands for the event of that type name.
func LookupEvent(name string) (Event, bool) {
	i := slices.IndexFunc(lifecycle, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return lifecycle[i], true
}

// SpanCommon returns the attributes that the spans of events outside a call
// carry, and the span of a call as far as [Event.Attributes] of CallDone do not
// say otherwise.
func SpanCommon() []Attribute { return slices.Clone(common) }

var lifecycle = slices.Concat(callEvents, retryEvents, connEvents, breakerEvents, streamEvents)

// spanAttr declares an attribute of a span or span event.
func spanAttr(key string, t Type, description string) Attribute {
	return Attribute{Key: key, Type: t, Description: description}
}

// optional marks a as left out where it does not apply.
func optional(a Attribute) Attribute {
	a.Optional = true
	return a
}
