package eventstest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/plimsoll-http/plimsoll/events"
)

// String returns the timeline, one numbered line per event. A line holds the
// fields that are not zero, without the client's name where it is "default",
// without the partition where it is the origin, and without headers.
func (r *Recorder) String() string { return format(r.snapshot()) }

func format(timeline []any) string {
	if len(timeline) == 0 {
		return "timeline: no events"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "timeline of %d:", len(timeline))
	for i, e := range timeline {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, line(e))
	}
	return b.String()
}

// line formats one event as Type{Field:value ...}.
func line(e any) string {
	v := reflect.ValueOf(e)
	fields := metaFields(metaOf(e))
	for field, value := range v.Fields() {
		if field.Anonymous || field.Tag.Get("json") == "-" || value.IsZero() {
			continue
		}
		fields = append(fields, fmt.Sprintf("%s:%v", field.Name, value.Interface()))
	}
	return v.Type().Name() + "{" + strings.Join(fields, " ") + "}"
}

func metaFields(m events.Meta) []string {
	var fields []string
	if m.Client != "" && m.Client != "default" {
		fields = append(fields, "Client:"+m.Client)
	}
	if m.Origin != "" {
		fields = append(fields, "Origin:"+m.Origin)
	}
	if m.Partition != m.Origin {
		fields = append(fields, "Partition:"+m.Partition)
	}
	if m.Call != 0 {
		fields = append(fields, fmt.Sprintf("Call:%d", m.Call))
	}
	return fields
}
