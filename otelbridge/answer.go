package otelbridge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// answer is how an attempt ended, as far as http.client.request.duration tells.
type answer struct {
	method   string // a known method, or catalog.Unknown
	status   int    // 0: no response
	class    events.ErrorClass
	protocol string
}

func answerOf(method string, e *events.AttemptDone) answer {
	a := answer{method: method, status: e.Status, class: e.Class}
	if slices.Contains(protocols, e.Protocol) {
		a.protocol = e.Protocol
	}
	return a
}

var (
	protocols = catalog.ProtocolVersions()
	classes   = events.ErrorClasses()
)

func (a answer) failed() bool { return a.status >= 400 || a.class != "" }

// errorType is error.type by the HTTP conventions: the status from 400 on,
// else the class of the error; "" for success.
func (a answer) errorType() string {
	switch {
	case a.status >= 400:
		return strconv.Itoa(a.status)
	case a.class != "" && !slices.Contains(classes, a.class):
		return string(events.ClassOther)
	}
	return string(a.class)
}

// attributes are those that the answer adds to the span of its attempt.
func (a answer) attributes() []attribute.KeyValue {
	kvs := make([]attribute.KeyValue, 0, 3)
	if a.status != 0 {
		kvs = append(kvs, attribute.Int(catalog.KeyStatus, a.status))
	}
	if t := a.errorType(); t != "" {
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, t))
	}
	if a.protocol != "" {
		kvs = append(kvs, attribute.String(catalog.KeyProtocolVersion, a.protocol))
	}
	return kvs
}

// answered holds what is reported for one answer, made once.
type answered struct {
	answer  answer
	record  []metric.RecordOption
	offered exemplars            // of attempts with this answer, if it is no failure
	span    []attribute.KeyValue // nil for the two that stand for many
}

// recent is the bounded set of a scope's answers. Lookups take no lock.
type recent struct {
	first atomic.Pointer[answered]             // the first of known: mostly the common one
	known atomic.Pointer[map[answer]*answered] // replaced, never changed

	// rest are the two that stand for success and failure past the bound.
	// Once one is set, known does not grow any more.
	rest [2]atomic.Pointer[answered]

	mu sync.Mutex // guards the setting of known and rest
}

// combinations is how many answers all scopes of a bridge may remember beyond
// the catalog.PerOrigin of each.
type combinations struct{ left atomic.Int64 }

// take reports whether one more may be remembered, and counts it.
func (c *combinations) take() bool {
	for {
		left := c.left.Load()
		if left <= 0 {
			return false
		}
		if c.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// get returns what to report for a. Past the bound it is one of the two
// answers that stand for the rest.
func (r *recent) get(a answer, common []attribute.KeyValue, shared *combinations) *answered {
	if got := r.first.Load(); got != nil && got.answer == a {
		return got
	}
	if m := r.known.Load(); m != nil {
		if got := (*m)[a]; got != nil {
			return got
		}
	}
	rest := &r.rest[0]
	if a.failed() {
		rest = &r.rest[1]
	}
	if got := rest.Load(); got != nil {
		return got
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var known map[answer]*answered
	if m := r.known.Load(); m != nil {
		known = *m
	}
	if got := known[a]; got != nil {
		return got
	}
	full := r.rest[0].Load() != nil || r.rest[1].Load() != nil
	if full || len(known) >= catalog.PerOrigin && !shared.take() {
		got := restOf(a.failed(), common)
		rest.Store(got)
		return got
	}
	span := a.attributes()
	method := attribute.String(catalog.KeyMethod, a.method)
	got := &answered{
		answer: a,
		record: []metric.RecordOption{with(common, append([]attribute.KeyValue{method}, span...)...)},
		span:   span,
	}
	if len(known) == 0 {
		r.first.Store(got)
	}
	next := extended(known, a, got)
	r.known.Store(&next)
	return got
}

func restOf(failed bool, common []attribute.KeyValue) *answered {
	kvs := []attribute.KeyValue{attribute.String(catalog.KeyMethod, catalog.Unknown)}
	if failed {
		kvs = append(kvs, attribute.String(catalog.KeyErrorType, catalog.Unknown))
	}
	return &answered{record: []metric.RecordOption{with(common, kvs...)}}
}

// methods are the known request methods, the frequent ones first.
type methods []string

// knownMethods reads the comma-separated, case-sensitive list of
// OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS; an empty one means the methods of
// the HTTP conventions.
func knownMethods(list string) methods {
	var known methods
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		known = catalog.Methods()
	}
	frequent := []string{http.MethodPut, http.MethodPost, http.MethodGet}
	slices.SortStableFunc(known, func(a, b string) int { return slices.Index(frequent, b) - slices.Index(frequent, a) })
	return known
}

// canonical returns the value of http.request.method. An empty method is GET,
// as in net/http.
func (m methods) canonical(method string) string {
	if method == "" {
		return m.canonical(http.MethodGet)
	}
	if slices.Contains(m, method) {
		return method
	}
	return catalog.Unknown
}
