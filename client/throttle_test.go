package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
)

func TestAnEndless429(t *testing.T) {
	for _, row := range []struct {
		name    string
		overrun Overrun
		ceiling time.Duration
		hits    int
		took    time.Duration
	}{
		{"Return returns at once", Return, time.Hour, 1, 0},
		{"Send goes when the total retry time is over", Send, time.Hour, 2, 10 * time.Second},
		{"Return, above the ceiling", Return, 0, 1, 0},
		{"Send, above the ceiling, but the rest is below it", Send, 0, 2, 10 * time.Second},
		{"Send, and the rest is above the ceiling", Send, 5 * time.Second, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{
					MaxTotalRetryDuration: 10 * time.Second, RetryAfterCeiling: row.ceiling, Retry: RetryPolicy{Overrun: row.overrun},
				}, statuses("429 Retry-After: 300"))
				start := time.Now()
				resp, _, err := r.get()
				if err != nil || resp.StatusCode != 429 {
					t.Fatalf("got %v, %v", resp, err)
				}
				if took := time.Since(start); took != row.took {
					t.Errorf("took %v, want %v", took, row.took)
				}
				if got := len(r.requests()); got != row.hits {
					t.Errorf("%d hits, want %d", got, row.hits)
				}
				if skip := eventstest.One[events.RetrySkipped](t, r.rec); skip.Reason != events.SkipDeadline {
					t.Errorf("skip %+v", skip)
				}
				balanced(t, r)
			})
		})
	}
}

func TestARecordedThrottle(t *testing.T) {
	for _, row := range []struct {
		name      string
		total     time.Duration
		context   time.Duration
		overrun   Overrun
		hits      int
		from, to  time.Duration // of the wait
		throttled bool
		truncated bool
	}{
		{name: "is waited out where it fits", total: 10 * time.Second, hits: 1, from: 4 * time.Second, to: 4400 * time.Millisecond},
		{name: "is refused where it does not", total: time.Second, throttled: true},
		{name: "is cut short by Send", total: time.Second, overrun: Send, hits: 1, from: time.Second, to: time.Second, truncated: true},
		{name: "is refused where the context ends first", total: 10 * time.Second, context: time.Second, throttled: true},
		{name: "is refused by Send too where the context ends first", total: 10 * time.Second, context: time.Second, overrun: Send, throttled: true},
		{name: "is refused by Send where the context ends before the total", total: 2 * time.Second, context: time.Second, overrun: Send, throttled: true},
		{name: "is waited out without a total", total: -1, hits: 1, from: 4 * time.Second, to: 4400 * time.Millisecond},
		{name: "is refused without a total where the context ends first", total: -1, context: time.Second, throttled: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, Config{MaxTotalRetryDuration: row.total, Retry: RetryPolicy{Overrun: row.overrun}}, statuses("200"))
				r.client.transport.throttles.Record(partition, time.Now().Add(4*time.Second))
				ctx := context.Background()
				if row.context > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.context)
					defer cancel()
				}
				start := time.Now()
				resp, _, err := r.do(ctx, http.MethodGet, nil)
				took := time.Since(start)
				var throttled *ThrottledError
				if errors.As(err, &throttled) != row.throttled || (err != nil) != row.throttled {
					t.Fatalf("error %v, throttled wanted %v", err, row.throttled)
				}
				if took < row.from || took > row.to {
					t.Errorf("took %v, want %v to %v", took, row.from, row.to)
				}
				if got := len(r.requests()); got != row.hits {
					t.Errorf("%d hits, want %d", got, row.hits)
				}
				if row.throttled {
					if throttled.Key != partition || throttled.Until.Sub(start) != 4*time.Second {
						t.Errorf("error %+v", throttled)
					}
					if done := eventstest.One[events.CallDone](t, r.rec); done.Outcome != events.OutcomeRejected || done.Class != events.ClassThrottled {
						t.Errorf("CallDone %+v", done)
					}
				} else {
					waited := eventstest.One[events.ThrottleWaited](t, r.rec)
					if waited.Truncated != row.truncated || waited.Wait != took {
						t.Errorf("ThrottleWaited %+v, took %v", waited, took)
					}
					if report, _ := ReportOf(resp); report.Throttled != took {
						t.Errorf("report %+v", report)
					}
				}
				balanced(t, r)
			})
		})
	}
}

func TestCallsThatWaitTogetherDoNotGoTogether(t *testing.T) {
	for _, row := range []struct{ wait, spread time.Duration }{
		{4 * time.Second, 400 * time.Millisecond},
		{40 * time.Second, time.Second},
	} {
		inBubble(t, func(t *testing.T) {
			r := newRig(t, Config{}, statuses("200"))
			r.client.transport.throttles.Record(partition, time.Now().Add(row.wait))
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { _, _, _ = r.get() })
			}
			wg.Wait()
			hits := r.requests()
			first, last := hits[0].at, hits[0].at
			for _, h := range hits {
				first, last = min(first, h.at), max(last, h.at)
			}
			if len(hits) != 50 || first < row.wait || last > row.wait+row.spread || last-first < row.spread/2 {
				t.Errorf("%d requests from %v to %v, want 50 from %v, spread over up to %v", len(hits), first, last, row.wait, row.spread)
			}
		})
	}
}

// The spread is no reason to give a wait up that fits.
func TestTheSpreadStaysWithinTheTotalRetryTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{MaxTotalRetryDuration: 4*time.Second + 1}, statuses("200"))
		for range 20 {
			r.client.transport.throttles.Record(partition, time.Now().Add(4*time.Second))
			start := time.Now()
			if _, _, err := r.get(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 4*time.Second+1 {
				t.Errorf("took %v", took)
			}
		}
	})
}

func TestASecondPartitionIsNotDelayed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Partition: func(req *http.Request) string { return req.URL.Path[1:2] }}, statuses("200"))
		r.client.transport.throttles.Record("b", time.Now().Add(4*time.Second))
		start := time.Now()
		if _, _, err := r.get(); err != nil { // the path begins with p
			t.Fatal(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestAStormDoesNotExtendTheFirstDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{Retry: RetryPolicy{MaxRetries: -1}}, statuses("429 Retry-After: 10"))
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 100 {
			wg.Go(func() {
				<-time.After(time.Duration(i) * 10 * time.Millisecond)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, _, _ = r.do(ctx, http.MethodGet, nil) // a 429 or a ThrottledError
			})
		}
		wg.Wait()
		until, ok := r.client.transport.throttles.Until(partition)
		if !ok || until.Sub(start) != 10*time.Second {
			t.Errorf("throttled until %v after the start, want 10s", until.Sub(start))
		}
	})
}

func TestACallThatGivesUpLeavesTheThrottleToOthers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, Config{MaxTotalRetryDuration: time.Second, Retry: RetryPolicy{Overrun: Send}}, statuses("200"))
		until := time.Now().Add(4 * time.Second)
		r.client.transport.throttles.Record(partition, until)
		if _, _, err := r.get(); err != nil {
			t.Fatal(err)
		}
		if got, ok := r.client.transport.throttles.Until(partition); !ok || !got.Equal(until) {
			t.Errorf("until %v %v, want %v", got, ok, until)
		}
	})
}

func TestTheWaitBeforeARetryIsTheLargerOfItsOwnAndTheThrottle(t *testing.T) {
	for _, row := range []struct {
		answer string
		want   time.Duration
	}{
		{"503", 3 * time.Second},
		{"503 Retry-After: 2", 2 * time.Second}, // the earlier deadline is the one that is remembered
		{"503 Retry-After: 5", 5 * time.Second},
	} {
		t.Run(row.answer, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				answers := statuses(row.answer, "200")
				var r *rig
				r = newRig(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if len(r.requests()) == 1 {
						// Another call hears of a throttle while this one is under way.
						r.client.transport.throttles.Record(partition, time.Now().Add(3*time.Second))
					}
					answers.ServeHTTP(w, req)
				}))
				start := time.Now()
				if _, _, err := r.get(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != row.want {
					t.Errorf("took %v, want %v", took, row.want)
				}
			})
		})
	}
}
