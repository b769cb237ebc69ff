package client

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func typeName(e any) string { return fmt.Sprintf("%T", e) }

// always is a RetryIf that answers Retry for statuses from the given one on.
func always(from int) func(context.Context, Try) Verdict {
	return func(_ context.Context, t Try) Verdict {
		if t.Response != nil && t.Response.StatusCode >= from {
			return Retry
		}
		return Default
	}
}

func TestAccountingOfOneOrMoreCalls(t *testing.T) {
	only418 := func(_ context.Context, t Try) Verdict {
		if t.Response != nil && t.Response.StatusCode == http.StatusTeapot {
			return Retry
		}
		return Default
	}
	for _, row := range []struct {
		name     string
		level    int // to begin with
		capacity int
		profile  budget.Config // zero: the default one
		policy   RetryPolicy
		answers  []string
		calls    int
		hits     int
		levels   []int               // after each call
		skips    []events.SkipReason // of all calls
		status   int                 // of the last call
	}{
		{
			name: "a forced retry that keeps failing is charged by half", level: 10, capacity: 10,
			policy: RetryPolicy{MaxRetries: 3, RetryIf: only418}, answers: []string{"418"},
			calls: 1, hits: 2, levels: []int{5}, skips: []events.SkipReason{events.SkipBucket}, status: 418,
		},
		{
			name: "the last retry that fails is charged by half", level: 10, capacity: 10,
			policy: RetryPolicy{MaxRetries: 1}, answers: []string{"503"},
			calls: 2, hits: 3, levels: []int{5, 5}, skips: []events.SkipReason{events.SkipAttempts, events.SkipBucket}, status: 503,
		},
		{
			name: "a terminal status outside 200 to 399 after a forced retry", level: 10, capacity: 10,
			policy: RetryPolicy{MaxRetries: 1, RetryIf: always(400)}, answers: []string{"503", "418"},
			calls: 1, hits: 2, levels: []int{5}, status: 418,
		},
		{
			name: "a success adds one, a 404 does not", level: 10, capacity: 20,
			answers: []string{"404", "200"}, calls: 2, hits: 2, levels: []int{10, 11}, status: 200,
		},
		{
			name: "a retry that helps is free", level: 10, capacity: 20,
			answers: []string{"503", "200"}, calls: 1, hits: 2, levels: []int{10}, status: 200,
		},
		{
			// aws-sdk-go-v2#3186
			name: "a retried attempt that gets a 4xx which is not retryable is refunded", level: 10, capacity: 20,
			answers: []string{"503", "404"}, calls: 1, hits: 2, levels: []int{10}, status: 404,
		},
		{
			name: "two failed retries cost ten", level: 20, capacity: 20,
			answers: []string{"503", "503", "503", "200"}, calls: 1, hits: 4, levels: []int{10}, status: 200,
		},
		{
			name: "a terminal failure that RetryIf never asked for", level: 20, capacity: 20,
			policy: RetryPolicy{MaxRetries: 1}, answers: []string{"503", "404"}, calls: 1, hits: 2, levels: []int{20}, status: 404,
		},
		{
			name: "AWS: a failed retry keeps everything", level: 500, profile: budget.AWS2026(),
			policy: RetryPolicy{MaxRetries: 2}, answers: []string{"503"}, calls: 1, hits: 3, levels: []int{472},
			skips: []events.SkipReason{events.SkipAttempts}, status: 503,
		},
		{
			name: "AWS: one that helps gives its own back", level: 500, profile: budget.AWS2026(),
			answers: []string{"503", "503", "200"}, calls: 1, hits: 3, levels: []int{486}, status: 200,
		},
		{
			name: "AWS: throttled retries cost less", level: 500, profile: budget.AWS2026(),
			policy: RetryPolicy{MaxRetries: 1}, answers: []string{"429"}, calls: 1, hits: 2, levels: []int{495},
			skips: []events.SkipReason{events.SkipAttempts}, status: 429,
		},
		{
			name: "AWS: a throttled retry that helps is free", level: 500, profile: budget.AWS2026(),
			answers: []string{"429", "200"}, calls: 1, hits: 2, levels: []int{500}, status: 200,
		},
		{
			name: "legacy: a retry that helps is charged", level: 500, profile: budget.Legacy(),
			answers: []string{"503", "200"}, calls: 1, hits: 2, levels: []int{490}, status: 200,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				bucket := capacity(t, max(row.capacity, 10))
				if row.profile != (budget.Config{}) {
					var err error
					if bucket, err = budget.New(row.profile); err != nil {
						t.Fatal(err)
					}
				}
				spend(t, bucket, bucket.Capacity()-row.level)
				r := newRig(t, Config{Budget: bucket, Retry: row.policy}, statuses(row.answers...))
				for i := range row.calls {
					resp, body, err := r.get()
					if err != nil {
						t.Fatal(err)
					}
					if got := r.level(); got != row.levels[i] {
						t.Errorf("call %d: level %d, want %d", i+1, got, row.levels[i])
					}
					if want := fmt.Sprintf("body of %d", resp.StatusCode); body != want {
						t.Errorf("call %d: body %q, want %q", i+1, body, want)
					}
					if i == row.calls-1 && resp.StatusCode != row.status {
						t.Errorf("status %d, want %d", resp.StatusCode, row.status)
					}
				}
				if got := len(r.requests()); got != row.hits {
					t.Errorf("%d hits, want %d", got, row.hits)
				}
				var skips []events.SkipReason
				for _, e := range eventstest.All[events.RetrySkipped](r.rec) {
					skips = append(skips, e.Reason)
				}
				if fmt.Sprint(skips) != fmt.Sprint(row.skips) {
					t.Errorf("skips %v, want %v", skips, row.skips)
				}
				balanced(t, r)
			})
		})
	}
}

// balanced checks that every reservation was settled once and every call ended
// once.
func balanced(t testing.TB, r *rig) {
	t.Helper()
	if a, b := eventstest.Count[events.BudgetReserved](r.rec), eventstest.Count[events.BudgetSettled](r.rec); a != b {
		t.Errorf("%d reservations, %d settlements", a, b)
	}
	if a, b := eventstest.Count[events.CallStarted](r.rec), eventstest.Count[events.CallDone](r.rec); a != b {
		t.Errorf("%d calls started, %d done", a, b)
	}
	if a, b := eventstest.Count[events.AttemptStarted](r.rec), eventstest.Count[events.AttemptDone](r.rec); a != b {
		t.Errorf("%d attempts started, %d done", a, b)
	}
	for key, l := range r.client.Stats().Budget {
		if l.Reserved != 0 {
			t.Errorf("%s: %d tokens still reserved", key, l.Reserved)
		}
	}
	if n := r.client.transport.gen.Load().targets.active(); n != 0 {
		t.Errorf("%d calls still running", n)
	}
}
