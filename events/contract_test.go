package events_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
)

// declared parses the package's source and returns the names of its event
// types (structs that embed Meta) and, per named type, its constants.
func declared(t *testing.T) (eventTypes []string, constants map[string][]string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants = map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			typeName := "" // carried on by an iota block
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if embedsMeta(spec) {
						eventTypes = append(eventTypes, spec.Name.Name)
					}
				case *ast.ValueSpec:
					if ident, ok := spec.Type.(*ast.Ident); ok {
						typeName = ident.Name
					}
					if decl.Tok == token.CONST {
						constants[typeName] = append(constants[typeName], spec.Names[0].Name)
					}
				}
			}
			return true
		})
	}
	return eventTypes, constants
}

func embedsMeta(spec *ast.TypeSpec) bool {
	s, ok := spec.Type.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		ident, ok := f.Type.(*ast.Ident)
		return ok && len(f.Names) == 0 && ident.Name == "Meta"
	})
}

func TestHooksHasOneFieldPerEventType(t *testing.T) {
	eventTypes, _ := declared(t)
	ctxType := reflect.TypeFor[context.Context]()
	opening := []string{"AttemptStarted", "CallStarted"} // those that return a context

	hooks := reflect.TypeFor[events.Hooks]()
	var fields []string
	for field := range hooks.Fields() {
		fields = append(fields, field.Name)
		f := field.Type
		if f.NumIn() != 2 || f.In(0) != ctxType || f.In(1).Name() != field.Name {
			t.Errorf("%s is a %v, want func(context.Context, %[1]s)", field.Name, f)
			continue
		}
		if got, want := f.NumOut() == 1 && f.Out(0) == ctxType, slices.Contains(opening, field.Name); got != want {
			t.Errorf("%s returns a context: %v, want %v", field.Name, got, want)
		}
	}
	slices.Sort(eventTypes)
	slices.Sort(fields)
	if !slices.Equal(fields, eventTypes) {
		t.Errorf("the fields of Hooks are\n%q\nthe event types are\n%q", fields, eventTypes)
	}
}

func TestEveryEventCarriesMetaFirst(t *testing.T) {
	hooks := reflect.TypeFor[events.Hooks]()
	for field := range hooks.Fields() {
		event := field.Type.In(1)
		if first := event.Field(0); !first.Anonymous || first.Type != reflect.TypeFor[events.Meta]() {
			t.Errorf("%s starts with %v, want the embedded Meta", event, first.Name)
		}
		if strings.HasPrefix(event.Name(), "Conn") {
			if f, ok := event.FieldByName("Conn"); !ok || f.Type.Kind() != reflect.Uint64 {
				t.Errorf("%s has no Conn uint64", event)
			}
		}
	}
}

func TestClosedSetsListEveryConstantOnce(t *testing.T) {
	sets := map[string][]string{
		"SkipReason":   texts(events.SkipReasons()),
		"ErrorClass":   texts(events.ErrorClasses()),
		"Outcome":      texts(events.Outcomes()),
		"RetryCause":   texts(events.RetryCauses()),
		"BreakerState": texts(events.BreakerStates()),
		"BreakerCause": texts(events.BreakerCauses()),
		"Settlement":   texts(events.Settlements()),
		"StreamReason": texts(events.StreamReasons()),
		"ConnCause":    texts(events.ConnCauses()),
	}
	_, constants := declared(t)
	for typeName, names := range constants {
		set := sets[typeName]
		if len(set) != len(names) {
			t.Errorf("%s has %d constants and a set of %d: %q, %q", typeName, len(names), len(set), names, set)
		}
		unique := map[string]bool{}
		for _, v := range set {
			unique[v] = true
		}
		if len(unique) != len(set) || unique[""] {
			t.Errorf("the set of %s has a duplicate or an empty value: %q", typeName, set)
		}
	}
	if len(constants) != len(sets) {
		t.Errorf("constants of %q are declared, %d sets are tested", slices.Sorted(maps.Keys(constants)), len(sets))
	}
}

func texts[T any](set []T) []string {
	out := make([]string, len(set))
	for i, v := range set {
		if s, ok := any(v).(interface{ String() string }); ok {
			out[i] = s.String()
		} else {
			out[i] = reflect.ValueOf(v).String()
		}
	}
	return out
}

func TestASetBelongsToItsCaller(t *testing.T) {
	events.SkipReasons()[0] = "changed"
	if got := events.SkipReasons()[0]; got != events.SkipBucket {
		t.Errorf("writing to a returned set changed the set: %q", got)
	}
}

func TestBreakerStateTexts(t *testing.T) {
	var zero events.BreakerState
	for state, want := range map[events.BreakerState]string{
		zero: "closed", events.BreakerOpen: "open", events.BreakerHalfOpen: "half_open", 77: "invalid",
	} {
		if got := state.String(); got != want {
			t.Errorf("%d is %q, want %q", uint8(state), got, want)
		}
		if text, err := state.MarshalText(); err != nil || string(text) != want {
			t.Errorf("%d marshals as %q, %v; want %q", uint8(state), text, err, want)
		}
	}
}

func TestRetryableStatuses(t *testing.T) {
	want := []int{408, 429, 500, 502, 503, 504}
	for status := range 1000 {
		if got := events.RetryableStatus(status); got != slices.Contains(want, status) {
			t.Errorf("RetryableStatus(%d) is %v", status, got)
		}
	}
}
