package otelbridge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// TestNoSecretReachesASpanOrAMetric is about hashicorp/go-retryablehttp#31 and
// #154.
func TestNoSecretReachesASpanOrAMetric(t *testing.T) {
	secrets := []string{"hunter2", "t0ken", "s3ssion", "fragm3nt"}
	r := newRig(t, func(c *otelbridge.Config) { c.ConnTrace = true })
	u := events.URLOf(mustURL(t, "https://user:hunter2@api.example.com/a?key=t0ken#fragm3nt"))
	ctx := r.hooks.CallStarted(t.Context(), events.CallStarted{Meta: meta, Method: http.MethodGet, URL: u})
	header := http.Header{"Authorization": {"Bearer t0ken"}, "Cookie": {"id=s3ssion"}}
	inner := r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: meta, Attempt: 1, Method: http.MethodGet, URL: u, Header: header})
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: meta, Attempt: 1, Class: events.ClassReset})
	r.hooks.CallDone(ctx, events.CallDone{Meta: meta, Outcome: events.OutcomeEscaped, Class: events.ClassReset})
	r.everything(meta)

	dump := fmt.Sprintf("%+v", r.spans.GetSpans())
	for _, m := range r.collect() {
		dump += fmt.Sprintf("%+v", m)
		for _, p := range points(t, m) {
			dump += fmt.Sprint(p.attrs.ToSlice())
		}
	}
	if !strings.Contains(dump, "https://REDACTED:REDACTED@api.example.com/a?REDACTED") {
		t.Error("the redacted URL is not in the spans: the check below would find nothing")
	}
	for _, s := range secrets {
		if i := strings.Index(dump, s); i >= 0 {
			t.Errorf("%q is in the telemetry: ...%s...", s, dump[max(0, i-80):min(len(dump), i+80)])
		}
	}
}
