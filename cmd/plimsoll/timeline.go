package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/sse"
)

// timeline writes lifecycle events as they happen: as text to stderr, or as
// JSON to stdout.
type timeline struct {
	now     func() time.Duration // since the start
	json    bool
	quiet   bool
	verbose bool
	screen  screen

	mu   sync.Mutex
	w    io.Writer // guarded by mu
	err  error     // guarded by mu; the first of w
	over bool      // guarded by mu; the summary was written
}

func newTimeline(o *getOptions, std streams, s screen, now func() time.Duration) *timeline {
	t := &timeline{now: now, json: o.json, quiet: o.quiet, verbose: o.verbose, screen: s, w: std.err}
	if o.json {
		t.w = std.out
	}
	return t
}

// told are the events that the bars tell already; text shows them with
// --verbose alone.
var told = []string{
	"CallStarted", "CallDone", "AttemptStarted", "AttemptDone", "BudgetReplenished",
	"ConnOpened", "ConnAcquired", "ConnReleased", "ConnClosed",
}

// hooks returns hooks that write every event. The set of events is that of
// events.Hooks, so an event that is added there shows up here.
func (t *timeline) hooks() *events.Hooks {
	h := &events.Hooks{}
	if t.quiet && !t.json {
		return h
	}
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		name, typ := v.Type().Field(i).Name, v.Field(i).Type()
		if !t.json && !t.verbose && slices.Contains(told, name) {
			continue
		}
		v.Field(i).Set(reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
			t.event(name, args[1])
			if typ.NumOut() == 0 {
				return nil
			}
			return []reflect.Value{reflect.Zero(reflect.TypeFor[context.Context]())}
		}))
	}
	return h
}

// failure is the first error of writing.
func (t *timeline) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.json {
		return nil // nobody can be told that stderr is gone
	}
	return t.err
}

func (t *timeline) write(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && !t.over {
		_, t.err = io.WriteString(t.w, text)
	}
}

func (t *timeline) event(name string, event reflect.Value) {
	now := t.now()
	if t.json {
		m := map[string]any{}
		everyField(event, func(field string, v reflect.Value, _ bool) {
			if d, ok := reflect.TypeAssert[time.Duration](v); ok {
				m[field+"Ms"] = millis(d)
			} else {
				m[field] = plain(v)
			}
		})
		t.object(name, now, m)
		return
	}
	var facts, meta strings.Builder
	everyField(event, func(field string, v reflect.Value, isMeta bool) {
		switch {
		case v.IsZero():
		case !isMeta:
			fmt.Fprintf(&facts, " %s=%v", field, plain(v))
		case !slices.Contains(quiet, field):
			fmt.Fprintf(&meta, " %s=%v", field, plain(v))
		}
	})
	line := fmt.Sprintf("%11s  %-18s%s%s\n", brief(now), name, facts.String(), meta.String())
	if started, ok := reflect.TypeAssert[events.AttemptStarted](event); ok {
		line += headerText(">", fmt.Sprintf("%s %s", started.Method, started.URL), started.Header)
	}
	t.write(t.screen.paint(dim, strings.TrimSuffix(line, "\n")) + "\n")
}

// quiet are the fields that say the same on every line.
var quiet = []string{"client", "partition", "call"}

// everyField visits the fields of an event, those of its Meta last.
func everyField(event reflect.Value, visit func(name string, v reflect.Value, isMeta bool)) {
	var meta reflect.Value
	for i := range event.NumField() {
		switch f := event.Type().Field(i); {
		case f.Name == "Header":
			// It holds the caller's credentials.
		case f.Anonymous:
			meta = event.Field(i)
		default:
			visit(lower(f.Name), event.Field(i), false)
		}
	}
	if !meta.IsValid() {
		return
	}
	for i := range meta.NumField() {
		visit(lower(meta.Type().Field(i).Name), meta.Field(i), true)
	}
}

// plain turns a value into one that reads well in text and in JSON.
func plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return brief(x)
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

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// object writes one line of JSON.
func (t *timeline) object(name string, at time.Duration, m map[string]any) {
	m["event"], m["ms"] = name, millis(at)
	line, err := json.Marshal(m)
	if err != nil {
		line = fmt.Appendf(nil, `{"event":%q,"error":%q}`, name, err)
	}
	t.write(string(line) + "\n")
}

// headerText is a message's start line and header, secrets left out.
func headerText(mark, line string, h http.Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", mark, line)
	showHeader(&b, mark, h)
	return b.String()
}

// response shows the header of an answer.
func (t *timeline) response(resp *http.Response) {
	if t.verbose && resp != nil {
		t.write(headerText("<", fmt.Sprintf("%s %d %s", resp.Proto, resp.StatusCode, http.StatusText(resp.StatusCode)), resp.Header))
	}
}

func (t *timeline) streamEvent(ev sse.Event) {
	if t.json {
		t.object("StreamEvent", t.now(), map[string]any{"id": ev.ID, "type": ev.Type, "data": ev.Data})
	}
}

// attempts writes the phases of the attempts of one request.
func (t *timeline) attempts(calls []*callRecord) {
	if !t.json {
		return
	}
	for _, c := range calls {
		for _, st := range c.steps {
			a := st.attempt
			if a == nil {
				continue
			}
			m := map[string]any{
				"number": a.number, "method": c.method, "url": c.url, "status": a.status, "class": a.class,
				"reused": a.reused, "recoveries": a.recoveries, "beginMs": millis(a.from), "totalMs": millis(a.length()),
			}
			for p, i := range a.parts {
				m[strings.ToLower(looks[p].name)+"Ms"] = millis(max(0, i.length()))
			}
			t.object("Attempt", t.now(), m)
		}
	}
}

// summary writes the last line of JSON.
func (t *timeline) summary(all *tally, stats client.Stats) {
	tokens, gates := map[string]any{}, map[string]any{}
	for key, l := range stats.Budget {
		tokens[key] = map[string]int{"tokens": l.Tokens, "capacity": l.Capacity}
	}
	for key, g := range stats.Breaker {
		gates[key] = map[string]any{"state": g.State.String(), "leftMs": millis(g.Left), "streak": g.Streak}
	}
	var total time.Duration
	for _, d := range all.times {
		total += d
	}
	t.object("Summary", t.now(), map[string]any{
		"exit": all.exit, "requests": all.requests, "failed": all.failed, "status": all.status, "bytes": all.bytes,
		"totalMs": millis(total), "attempts": all.attempts, "retries": all.retries, "recoveries": all.recoveries,
		"skipped": all.skipped, "error": all.err, "budgets": tokens, "breakers": gates,
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}
