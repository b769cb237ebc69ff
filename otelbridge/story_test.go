package otelbridge_test

import (
	"context"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// everything drives every event, with every value of every closed set, by hand.
func (r *rig) everything(m events.Meta) {
	r.calls(m)
	r.waits(m)
	r.conns(m)
	r.breakers(m)
	r.streams(m)
	all := sources(m)
	all.Breakers = func(yield func(otelbridge.BreakerLevel) bool) {
		level := otelbridge.BreakerLevel{Origin: m.Origin, Partition: m.Partition, Cooldown: time.Minute}
		for _, level.State = range events.BreakerStates() {
			yield(level)
			level.Partition = "tenant after " + level.State.String()
		}
	}
	r.observed(m.Client, all)
}

func (r *rig) calls(m events.Meta) {
	h, bg := r.hooks, r.t.Context()
	for i, outcome := range events.Outcomes() {
		ctx := orSame(bg, h.CallStarted(bg, events.CallStarted{Meta: m, Method: "BREW", URL: events.URLOf(mustURL(r.t, origin))}))
		inner := orSame(ctx, h.AttemptStarted(ctx, events.AttemptStarted{
			Meta: m, Attempt: 1, Method: "BREW", URL: events.URLOf(mustURL(r.t, origin+"/x?y=z")), Route: "/x", Header: http.Header{},
		}))
		h.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Resend: i, Status: 200 + i*100, Protocol: "2", Duration: time.Second})
		h.CallDone(ctx, events.CallDone{
			Meta: m, Method: "BREW", Outcome: outcome, Attempts: 2, Recoveries: i, Status: 503, Class: classOf(outcome), Duration: time.Second,
		})
	}
	for _, skip := range append([]events.SkipReason{""}, events.SkipReasons()...) {
		ctx := orSame(bg, h.CallStarted(bg, events.CallStarted{Meta: m, Method: http.MethodGet}))
		h.CallDone(ctx, events.CallDone{Meta: m, Method: http.MethodGet, Outcome: events.OutcomeEscaped, Status: 503, Skipped: skip})
	}
	for i, method := range catalog.Methods() {
		versions := catalog.ProtocolVersions()
		ctx := orSame(bg, h.CallStarted(bg, events.CallStarted{Meta: m, Method: method}))
		inner := orSame(ctx, h.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: method}))
		h.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: 200, Protocol: versions[i%len(versions)]})
		h.CallDone(ctx, events.CallDone{Meta: m, Method: method, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
	}
	for _, class := range events.ErrorClasses() {
		ctx := orSame(bg, h.CallStarted(bg, events.CallStarted{Meta: m, Method: http.MethodGet}))
		inner := orSame(ctx, h.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet}))
		h.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Class: class})
		h.CallDone(ctx, events.CallDone{Meta: m, Method: http.MethodGet, Outcome: events.OutcomeEscaped, Class: class})
	}
}

func classOf(o events.Outcome) events.ErrorClass {
	switch o {
	case events.OutcomeCanceled:
		return events.ClassCanceled
	case events.OutcomeRejected:
		return events.ClassBreaker
	case events.OutcomeOK, events.OutcomeRecovered, events.OutcomeEscaped:
	}
	return ""
}

// inCall runs f inside a call and its attempt.
func (r *rig) inCall(m events.Meta, f func(call, attempt context.Context)) {
	bg := r.t.Context()
	ctx := orSame(bg, r.hooks.CallStarted(bg, events.CallStarted{Meta: m, Method: http.MethodGet}))
	inner := orSame(ctx, r.hooks.AttemptStarted(ctx, events.AttemptStarted{Meta: m, Attempt: 1, Method: http.MethodGet}))
	f(ctx, inner)
	r.hooks.AttemptDone(inner, events.AttemptDone{Meta: m, Attempt: 1, Status: 200})
	r.hooks.CallDone(ctx, events.CallDone{Meta: m, Method: http.MethodGet, Outcome: events.OutcomeOK, Attempts: 1, Status: 200})
}

func (r *rig) waits(m events.Meta) {
	h := r.hooks
	r.inCall(m, func(ctx, _ context.Context) {
		for _, cause := range events.RetryCauses() {
			h.RetryArmed(ctx, events.RetryArmed{Meta: m, Attempt: 1, Next: 2, Waited: time.Second, Cause: cause, Cost: 10, Level: 490})
		}
		h.RetryArmed(ctx, events.RetryArmed{Meta: m, Attempt: 1, Next: 2, Waited: time.Second, Cause: events.CauseForced}) // without a budget
		for _, reason := range events.SkipReasons() {
			h.RetrySkipped(ctx, events.RetrySkipped{
				Meta: m, Reason: reason, Attempt: 1, Status: 503, Level: 3, Needed: 10, Remaining: time.Second, Delay: time.Minute,
			})
		}
		h.RetrySkipped(ctx, events.RetrySkipped{Meta: m, Reason: events.SkipBody, Attempt: 1, Class: events.ClassReset})
		h.BudgetReserved(ctx, events.BudgetReserved{Meta: m, Reserved: 10, Level: 490})
		for _, s := range events.Settlements() {
			refunded := 10
			if s == events.SettledCharge {
				refunded = 0
			}
			h.BudgetSettled(ctx, events.BudgetSettled{Meta: m, Outcome: s, Reserved: 15, Kept: 15 - refunded, Refunded: refunded, Level: 495})
		}
		h.BudgetReplenished(ctx, events.BudgetReplenished{Meta: m, Added: 1, Level: 500})
		h.ThrottleRecorded(ctx, events.ThrottleRecorded{Meta: m, Key: m.Partition, Until: time.Now(), Delay: time.Second})
		for _, cut := range []bool{false, true} {
			h.ThrottleWaited(ctx, events.ThrottleWaited{Meta: m, Key: m.Partition, Wait: time.Second, Truncated: cut})
		}
	})
}

func (r *rig) conns(m events.Meta) {
	h := r.hooks
	r.inCall(m, func(_, ctx context.Context) {
		for _, version := range catalog.ConnProtocolVersions() {
			h.ConnOpened(ctx, events.ConnOpened{Meta: m, Conn: 1, Protocol: version, Duration: time.Millisecond})
			h.ConnAcquired(ctx, events.ConnAcquired{Meta: m, Conn: 1, Protocol: version, Reused: version == "2", Wait: time.Millisecond, Age: time.Second})
			h.ConnClosed(ctx, events.ConnClosed{Meta: m, Conn: 1, Protocol: version, Cause: events.ConnError, Age: time.Second})
		}
		for i, class := range events.ErrorClasses() {
			h.ConnStale(ctx, events.ConnStale{Meta: m, Conn: 1, Try: i + 1, Class: class})
			for _, fresh := range []bool{false, true} {
				h.ConnRecovered(ctx, events.ConnRecovered{Meta: m, Conn: 2, Recoveries: 1, Class: class, Fresh: fresh})
			}
		}
		for _, handedOn := range []bool{false, true} {
			h.ConnReleased(ctx, events.ConnReleased{Meta: m, Conn: 1, HandedOn: handedOn, Age: time.Second, Remaining: 1})
		}
	})
	for _, cause := range events.ConnCauses() {
		h.ConnClosed(r.t.Context(), events.ConnClosed{Meta: events.Meta{Client: m.Client, Origin: m.Origin}, Conn: 1, Protocol: "1.1", Cause: cause, Age: time.Minute})
	}
}

func (r *rig) breakers(m events.Meta) {
	h := r.hooks
	r.inCall(m, func(ctx, _ context.Context) {
		for _, from := range events.BreakerStates() {
			for _, to := range events.BreakerStates() {
				for _, cause := range events.BreakerCauses() {
					h.BreakerChanged(ctx, events.BreakerChanged{Meta: m, Key: m.Partition, From: from, To: to, Cause: cause, Cooldown: time.Minute, RetryAfter: time.Minute})
				}
			}
		}
		for _, state := range []events.BreakerState{events.BreakerOpen, events.BreakerHalfOpen} {
			h.BreakerRejected(ctx, events.BreakerRejected{Meta: m, Key: m.Partition, State: state, RetryAfter: time.Minute})
		}
		for _, released := range []bool{false, true} {
			h.BreakerProbe(ctx, events.BreakerProbe{Meta: m, Key: m.Partition, Released: released})
		}
	})
	for _, available := range []bool{false, true} {
		h.BreakerStoreChanged(r.t.Context(), events.BreakerStoreChanged{Meta: events.Meta{Client: m.Client}, Available: available})
	}
}

func (r *rig) streams(m events.Meta) {
	h, bg := r.hooks, r.t.Context()
	for _, n := range []int{0, 1} {
		h.StreamOpened(bg, events.StreamOpened{Meta: m, Reconnects: n})
	}
	for _, reason := range events.StreamReasons() {
		h.StreamClosed(bg, events.StreamClosed{Meta: m, Bytes: 100, Events: 10, Reconnects: 1, Reason: reason, Duration: time.Minute})
	}
	h.Reloaded(bg, events.Reloaded{Meta: events.Meta{Client: m.Client}, Generation: 2})
}

func (r *rig) observed(client string, s otelbridge.Sources) {
	stop, err := r.bridge.Observe(client, s)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := stop(); err != nil {
			r.t.Error(err)
		}
	})
}

func sources(m events.Meta) otelbridge.Sources {
	return otelbridge.Sources{
		Tokens: func(yield func(otelbridge.TokenLevel) bool) {
			yield(otelbridge.TokenLevel{Origin: m.Origin, Partition: m.Partition, Tokens: 490, Capacity: 500})
		},
		Conns: func(yield func(otelbridge.ConnCount) bool) {
			yield(otelbridge.ConnCount{Origin: m.Origin, Active: 2, Idle: 3, Waiting: 4})
		},
		Requests: func(yield func(otelbridge.RequestCount) bool) {
			yield(otelbridge.RequestCount{Origin: m.Origin, Partition: m.Partition, Active: 5})
		},
		Breakers: func(yield func(otelbridge.BreakerLevel) bool) {
			yield(otelbridge.BreakerLevel{Origin: m.Origin, Partition: m.Partition, State: events.BreakerOpen, Cooldown: time.Minute})
		},
		HookPanics: func() uint64 { return 7 },
	}
}
