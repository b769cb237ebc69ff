package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestEveryMetricIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range catalog.Metrics() {
		if seen[m.Name] {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen[m.Name] = true
		if m.Kind.String() == "invalid" || m.Scope == 0 || m.Unit == "" || !strings.HasSuffix(m.Description, ".") || !strings.HasSuffix(m.Action, ".") {
			t.Errorf("%s lacks a kind, a scope, a unit, or a sentence: %+v", m.Name, m)
		}
		if (m.Kind == catalog.Histogram) != (m.Buckets != nil) || !slices.IsSorted(m.Buckets) {
			t.Errorf("%s is a %v with buckets %v", m.Name, m.Kind, m.Buckets)
		}
		for _, a := range m.AllAttributes() {
			if a.Description == "" || a.Type.String() == "invalid" {
				t.Errorf("%s: %s lacks a description or a type", m.Name, a.Key)
			}
		}
		for _, row := range m.Legal {
			for i, v := range row {
				if !slices.Contains(m.Attributes[i].Values, v) {
					t.Errorf("%s: the legal row %q has %q, which %s cannot be", m.Name, row, v, m.Attributes[i].Key)
				}
			}
		}
	}
}

func TestEveryEventIsComplete(t *testing.T) {
	for _, e := range catalog.Events() {
		if e.Form.String() == "invalid" || !strings.HasSuffix(e.Meaning, ".") || !strings.HasSuffix(e.Action, ".") {
			t.Errorf("%s lacks a form or a sentence: %+v", e.Name, e)
		}
		for _, a := range e.Attributes {
			if a.Description == "" || a.Type.String() == "invalid" {
				t.Errorf("%s: %s lacks a description or a type", e.Name, a.Key)
			}
		}
	}
}

// The table is what OpenTelemetry's Prometheus exporter gives.
func TestPrometheusNamesAreThoseOfTheExporter(t *testing.T) {
	for name, want := range map[string]string{
		catalog.BudgetTokens:         "plimsoll_retry_budget_tokens",
		catalog.RetryArmed:           "plimsoll_retry_armed_total",
		catalog.ActiveRequests:       "http_client_active_requests",
		catalog.RequestDuration:      "http_client_request_duration_seconds",
		catalog.ThrottleWaitDuration: "plimsoll_throttle_wait_duration_seconds",
		catalog.StreamBytes:          "plimsoll_stream_bytes_total",
		catalog.BreakerCooldown:      "plimsoll_breaker_cooldown_seconds",
		catalog.BreakerState:         "plimsoll_breaker_state",
		catalog.HookPanics:           "plimsoll_hook_panics_total",
	} {
		m, ok := catalog.Lookup(name)
		if got := m.PrometheusName(); !ok || got != want {
			t.Errorf("%s is %q in Prometheus, want %q", name, got, want)
		}
	}
	if got := (catalog.Metric{Name: "a.b", Kind: catalog.ObservedGauge, Unit: "1"}).PrometheusName(); got != "a_b_ratio" {
		t.Errorf("a gauge of unit 1 is %q, want a_b_ratio", got)
	}
	m, _ := catalog.Lookup(catalog.RetryDelay)
	want := []string{"plimsoll_retry_delay_seconds_bucket", "plimsoll_retry_delay_seconds_sum", "plimsoll_retry_delay_seconds_count"}
	if got := m.PrometheusSeries(); !slices.Equal(got, want) {
		t.Errorf("the series of a histogram are %q, want %q", got, want)
	}
	if got := catalog.PrometheusLabel(catalog.KeySkipReason); got != "plimsoll_skip_reason" {
		t.Errorf("the label is %q, want plimsoll_skip_reason", got)
	}
}

func TestTheClosedSetsAreThoseOfTheEvents(t *testing.T) {
	for _, tt := range []struct {
		metric, key string
		want        []string
	}{
		{catalog.CallDuration, catalog.KeyOutcome, names(events.Outcomes())},
		{catalog.CallEscapes, catalog.KeySkipReason, append([]string{catalog.None}, names(events.SkipReasons())...)},
		{catalog.RetryArmed, catalog.KeyCause, names(events.RetryCauses())},
		{catalog.RetrySkipped, catalog.KeySkipReason, names(events.SkipReasons())},
		{catalog.BudgetKept, catalog.KeySettlement, names(events.Settlements())},
		{catalog.StreamClosed, catalog.KeyReason, names(events.StreamReasons())},
		{catalog.ConnStale, catalog.KeyCause, names(catalog.ConnCauses())},
	} {
		m, _ := catalog.Lookup(tt.metric)
		i := slices.IndexFunc(m.Attributes, func(a catalog.Attribute) bool { return a.Key == tt.key })
		if i < 0 || !slices.Equal(m.Attributes[i].Values, tt.want) {
			t.Errorf("%s of %s is %+v, want %q", tt.key, tt.metric, m.Attributes, tt.want)
		}
	}
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func TestTransitionsAreLegalOnly(t *testing.T) {
	m, _ := catalog.Lookup(catalog.BreakerTransitions)
	if len(m.Combinations()) != len(catalog.Transitions()) {
		t.Errorf("%d combinations, want the %d legal ones", len(m.Combinations()), len(catalog.Transitions()))
	}
	for _, tr := range catalog.Transitions() {
		if tr.From == tr.To || tr.Cause == events.BreakerLease {
			t.Errorf("%v to %v by %s is no transition", tr.From, tr.To, tr.Cause)
		}
	}
}

// What the bridge meets outside of these sets it maps, or leaves out: a value
// that is missing here would not show as undeclared.
func TestTheSetsThatTheBridgeMapsToAreWhatAClientMeets(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want []string
	}{
		{"ConnCauses", names(catalog.ConnCauses()), []string{"reset", "eof", "tls_transport", "timeout", "protocol", "refused_stream", "goaway", "other"}},
		{"ProtocolVersions", catalog.ProtocolVersions(), []string{"1.0", "1.1", "2"}},
		{"ConnProtocolVersions", catalog.ConnProtocolVersions(), []string{"1.1", "2"}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	want := []catalog.Transition{
		{From: events.BreakerClosed, To: events.BreakerOpen, Cause: events.BreakerStreak},
		{From: events.BreakerClosed, To: events.BreakerOpen, Cause: events.BreakerRate},
		{From: events.BreakerOpen, To: events.BreakerHalfOpen, Cause: events.BreakerCooldown},
		{From: events.BreakerHalfOpen, To: events.BreakerClosed, Cause: events.BreakerByProbe},
		{From: events.BreakerHalfOpen, To: events.BreakerOpen, Cause: events.BreakerByProbe},
	}
	if got := catalog.Transitions(); !slices.Equal(got, want) {
		t.Errorf("the legal transitions are %v, want %v", got, want)
	}
}

func TestMoreOriginsLeaveNoSharedCombinations(t *testing.T) {
	m, _ := catalog.Lookup(catalog.RequestDuration)
	if got := m.MaxSeries(1000); got != 1001*(catalog.PerOrigin+catalog.PerOverflow) {
		t.Errorf("1,000 origins can have %d series, want what each has in any case", got)
	}
	if got := catalog.SharedCombinations(1000); got != 0 {
		t.Errorf("1,000 origins share %d combinations, want none", got)
	}
}
