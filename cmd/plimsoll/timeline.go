package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// timeline writes lifecycle events as they happen.
type timeline struct {
	mu          sync.Mutex
	w           io.Writer // guarded by mu
	json        bool
	connections bool
	start       time.Time // of the call under way; guarded by mu
}

func newTimeline(w io.Writer, asJSON, connections bool) *timeline {
	return &timeline{w: w, json: asJSON, connections: connections, start: time.Now()}
}

// hooks returns hooks that write every event. The set of events is that of
// events.Hooks, so an event that is added there shows up here.
func (t *timeline) hooks() *events.Hooks {
	h := &events.Hooks{}
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		name, typ := v.Type().Field(i).Name, v.Field(i).Type()
		if strings.HasPrefix(name, "Conn") && !t.connections && name != "ConnStale" && name != "ConnRecovered" {
			continue
		}
		v.Field(i).Set(reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
			t.write(name, args[1])
			if typ.NumOut() == 0 {
				return nil
			}
			return []reflect.Value{reflect.Zero(reflect.TypeFor[context.Context]())}
		}))
	}
	return h
}

// field is one fact of an event.
type field struct {
	name  string
	value any
}

func (t *timeline) write(name string, event reflect.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if name == "CallStarted" {
		t.start = now
	}
	since := now.Sub(t.start)
	facts := factsOf(event)
	if t.json {
		m := map[string]any{"event": name, "ms": float64(since.Microseconds()) / 1000}
		for _, f := range facts {
			m[f.name] = f.value
		}
		line, err := json.Marshal(m)
		if err != nil {
			line = fmt.Appendf(nil, `{"event":%q,"error":%q}`, name, err)
		}
		fmt.Fprintf(t.w, "%s\n", line)
		return
	}
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, " %s=%v", f.name, f.value)
	}
	fmt.Fprintf(t.w, "%9.3f ms  %-18s%s\n", float64(since.Microseconds())/1000, name, b.String())
}

// quiet are the fields that say the same on every line.
var quiet = []string{"Client", "Partition", "Call"}

// factsOf lists the fields of an event that are not zero, the meta fields last.
func factsOf(event reflect.Value) []field {
	var facts, meta []field
	for i := range event.NumField() {
		f := event.Type().Field(i)
		v := event.Field(i)
		switch {
		case f.Name == "Header":
			// It holds the caller's credentials.
		case f.Anonymous:
			for j := range v.NumField() {
				name := f.Type.Field(j).Name
				if !v.Field(j).IsZero() && !slices.Contains(quiet, name) {
					meta = append(meta, field{lower(name), plain(v.Field(j))})
				}
			}
		case !v.IsZero():
			facts = append(facts, field{lower(f.Name), plain(v)})
		}
	}
	return append(facts, meta...)
}

// plain turns a value into one that reads well in text and in JSON.
func plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.Round(time.Microsecond).String()
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return x.String()
	default:
		return x
	}
}

func lower(name string) string {
	if name == "URL" {
		return "url"
	}
	return strings.ToLower(name[:1]) + name[1:]
}
