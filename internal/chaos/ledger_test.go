package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// ledger is the events that belong to no call.
type ledger struct {
	mu     sync.Mutex
	conns  map[uint64]int            // opened less closed, where that is not 0; guarded by mu
	tokens map[string]map[string]int // by partition: reserved, settled, kept, added; guarded by mu
}

func (l *ledger) reset() {
	l.conns, l.tokens = map[uint64]int{}, map[string]map[string]int{}
}

func (l *ledger) conn(n uint64, change int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[n] += change
	now := l.conns[n]
	if now == 0 {
		delete(l.conns, n)
	}
	return now
}

func (l *ledger) token(partition, what string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens[partition] == nil {
		l.tokens[partition] = map[string]int{}
	}
	l.tokens[partition][what] += n
}

// hooks writes into the states of calls and into the ledger.
func (p *party) hooks() *events.Hooks {
	l := &p.ledger
	tell := func(ctx context.Context, e any) {
		w := p.world.Load()
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, secret) {
			w.breach("an event shows a credential: %.200s", text)
		}
	}
	record := func(ctx context.Context, m events.Meta, e any, change func(*hop)) {
		tell(ctx, e)
		st := stateOf(ctx)
		if st == nil {
			p.world.Load().breach("%T of nobody's call %d", e, m.Call)
			return
		}
		st.record(m.Call, change)
	}
	count := func(what string) { p.world.Load().tally.add(what, 1) }
	return &events.Hooks{
		CallStarted: func(ctx context.Context, e events.CallStarted) context.Context {
			record(ctx, e.Meta, e, func(h *hop) {
				h.started++
				h.method = e.Method
				h.number = strings.Count(e.URL.String(), "/1?")
			})
			return nil
		},
		CallDone: func(ctx context.Context, e events.CallDone) {
			record(ctx, e.Meta, e, func(h *hop) { h.done = append(h.done, e) })
		},
		AttemptStarted: func(ctx context.Context, e events.AttemptStarted) context.Context {
			record(ctx, e.Meta, e, func(h *hop) { h.attempts++ })
			// The report's owner is this goroutine, for now.
			r, _ := client.ReportOf(&http.Response{Request: new(http.Request).WithContext(ctx)})
			return context.WithValue(ctx, generationKey{}, r.Generation)
		},
		AttemptDone: func(ctx context.Context, e events.AttemptDone) {
			record(ctx, e.Meta, e, func(h *hop) { h.ended++; h.resent += e.Recoveries })
		},
		RetryArmed: func(ctx context.Context, e events.RetryArmed) {
			record(ctx, e.Meta, e, func(h *hop) {
				h.armed++
				if e.Cause == events.CauseForced {
					h.forced++
				}
			})
		},
		RetrySkipped: func(ctx context.Context, e events.RetrySkipped) {
			record(ctx, e.Meta, e, func(h *hop) { h.skips = append(h.skips, e.Reason) })
		},
		BudgetReserved: func(ctx context.Context, e events.BudgetReserved) {
			l.token(e.Partition, "reserved", e.Reserved)
			record(ctx, e.Meta, e, func(h *hop) { h.reserved += e.Reserved })
		},
		BudgetSettled: func(ctx context.Context, e events.BudgetSettled) {
			l.token(e.Partition, "settled", e.Reserved)
			l.token(e.Partition, "kept", e.Kept)
			record(ctx, e.Meta, e, func(h *hop) { h.settled += e.Kept + e.Refunded; h.kept += e.Kept })
		},
		BudgetReplenished: func(ctx context.Context, e events.BudgetReplenished) {
			l.token(e.Partition, "added", e.Added)
			tell(ctx, e)
		},
		ThrottleRecorded: func(ctx context.Context, e events.ThrottleRecorded) { tell(ctx, e); count("throttles") },
		ThrottleWaited:   func(ctx context.Context, e events.ThrottleWaited) { tell(ctx, e) },
		ConnOpened: func(ctx context.Context, e events.ConnOpened) {
			tell(ctx, e)
			count("connections")
			// In the background the two may come in either order.
			if n := l.conn(e.Conn, 1); n > 1 {
				p.world.Load().breach("connection %d was opened twice", e.Conn)
			}
		},
		ConnClosed: func(ctx context.Context, e events.ConnClosed) {
			tell(ctx, e)
			if n := l.conn(e.Conn, -1); n < -1 {
				p.world.Load().breach("connection %d was closed twice", e.Conn)
			}
		},
		ConnAcquired:  func(ctx context.Context, e events.ConnAcquired) { tell(ctx, e) },
		ConnReleased:  func(ctx context.Context, e events.ConnReleased) { tell(ctx, e) },
		ConnStale:     func(ctx context.Context, e events.ConnStale) { tell(ctx, e); count("stale connections") },
		ConnRecovered: func(ctx context.Context, e events.ConnRecovered) { tell(ctx, e) },
		BreakerChanged: func(ctx context.Context, e events.BreakerChanged) {
			tell(ctx, e)
			if e.To == events.BreakerOpen {
				count("breaker openings")
			}
		},
		BreakerRejected: func(ctx context.Context, e events.BreakerRejected) { tell(ctx, e) },
		BreakerProbe:    func(ctx context.Context, e events.BreakerProbe) { tell(ctx, e) },
		StreamOpened: func(ctx context.Context, e events.StreamOpened) {
			tell(ctx, e)
			if e.Reconnects == 0 {
				count("streams")
			}
		},
		StreamClosed: func(ctx context.Context, e events.StreamClosed) { tell(ctx, e) },
		Reloaded:     func(ctx context.Context, e events.Reloaded) { tell(ctx, e); count("reloads") },
	}
}
