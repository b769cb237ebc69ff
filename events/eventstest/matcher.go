package eventstest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/plimsoll-http/plimsoll/events"
)

// Matcher says which events an assertion means. The zero value matches none.
type Matcher struct {
	name  string
	match func(any) bool
}

// Type matches every event of type E.
func Type[E Event]() Matcher {
	return Matcher{name: nameOf[E](), match: func(e any) bool { _, ok := e.(E); return ok }}
}

// Where matches the events of type E for which pred reports true. A failure
// names it by the line that called Where. pred may be called more than once
// for an event.
func Where[E Event](pred func(E) bool) Matcher {
	name := nameOf[E]() + " where"
	if _, file, line, ok := runtime.Caller(1); ok {
		name = fmt.Sprintf("%s (%s:%d)", name, filepath.Base(file), line)
	}
	return Matcher{name: name, match: func(e any) bool {
		typed, ok := e.(E)
		return ok && pred(typed)
	}}
}

// OfCall matches every event of the call with that number (Meta.Call), of
// whatever type.
func OfCall(call uint64) Matcher {
	return Matcher{name: fmt.Sprintf("event of call %d", call), match: func(e any) bool { return metaOf(e).Call == call }}
}

// String returns what the matcher means, as failures show it.
func (m Matcher) String() string {
	if m.match == nil {
		return "nothing"
	}
	return m.name
}

func (m Matcher) matches(e any) bool { return m.match != nil && m.match(e) }

func matchesAny(ms []Matcher, e any) bool {
	for _, m := range ms {
		if m.matches(e) {
			return true
		}
	}
	return false
}

func nameOf[E Event]() string { return reflect.TypeFor[E]().Name() }

// metaOf returns the Meta that every event embeds.
func metaOf(e any) events.Meta {
	return reflect.ValueOf(e).FieldByName("Meta").Interface().(events.Meta)
}

func join(ms []Matcher) string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = m.String()
	}
	return strings.Join(names, ", ")
}
