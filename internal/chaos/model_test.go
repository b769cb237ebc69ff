package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// judge compares what became of the calls with what may become of them.
func (w *world) judge() {
	excused := w.excused()
	for _, s := range w.states {
		if !s.ran {
			w.breach("call %d was not made", s.n)
			continue
		}
		s.checkEvents()
		s.checkArrivals(excused)
		s.checkAnswer()
		s.checkPanic()
		s.checkBodies()
	}
}

// place is a stream's place on its connection.
type place struct{ host, conn int }

// excused returns for each connection the stream from which on a GOAWAY has said
// that nothing was processed.
func (w *world) excused() map[place]uint32 {
	from := map[place]uint32{}
	for _, s := range w.states {
		for _, as := range s.arrivals {
			for _, a := range as {
				at := place{a.host, a.conn}
				if first, ok := from[at]; a.fault == refusedByGoAway && (!ok || a.stream < first) {
					from[at] = a.stream
				}
			}
		}
	}
	return from
}

// checkEvents holds the events of the call's parts against each other.
func (s *state) checkEvents() {
	w := s.w
	s.mu.Lock()
	hops := s.hops
	s.mu.Unlock()
	least, most := 1, 1
	if s.shape == redirected {
		most = 2
	}
	if errors.Is(s.err, client.ErrClosed) || s.via == viaStream && s.err != nil {
		least = 0
	}
	if len(hops) < least || len(hops) > most && s.via != viaStream {
		w.breach("call %d was %d calls of the client: %s", s.n, len(hops), s.story())
	}
	for _, h := range hops {
		if h.started != 1 || len(h.done) != 1 {
			w.breach("call %d: %d CallStarted, %d CallDone: %s", s.n, h.started, len(h.done), s.story())
			continue
		}
		done := h.done[0]
		w.count(s, h, &done)
		armed := max(0, h.attempts-1)
		skipped := events.SkipReason("")
		if len(h.skips) > 0 {
			skipped = h.skips[len(h.skips)-1]
		}
		switch {
		case h.attempts != h.ended:
			w.breach("call %d: %d AttemptStarted, %d AttemptDone: %s", s.n, h.attempts, h.ended, s.story())
		case h.attempts != done.Attempts:
			w.breach("call %d: %d attempts, CallDone says %d: %s", s.n, h.attempts, done.Attempts, s.story())
		case h.armed != armed && s.via != viaStream, h.armed < armed || h.armed > h.attempts:
			w.breach("call %d: %d attempts, %d RetryArmed: %s", s.n, h.attempts, h.armed, s.story())
		case h.reserved != h.settled:
			w.breach("call %d: %d tokens reserved, %d settled: %s", s.n, h.reserved, h.settled, s.story())
		case h.resent != done.Recoveries:
			w.breach("call %d: %d recoveries, CallDone says %d: %s", s.n, h.resent, done.Recoveries, s.story())
		case len(h.skips) > 1 || done.Skipped != skipped:
			w.breach("call %d: skips %v, CallDone says %q: %s", s.n, h.skips, done.Skipped, s.story())
		case done.Outcome == events.OutcomeCanceled && s.stopAt.IsZero() && !s.panicked:
			w.breach("call %d is canceled, and nobody did: %s", s.n, s.story())
		case s.via != viaStream && (done.Outcome == events.OutcomeOK || done.Outcome == events.OutcomeRecovered) && done.Class != "":
			w.breach("call %d: outcome %s, class %s", s.n, done.Outcome, done.Class)
		}
	}
}

// count adds a call of the client to the round's figures.
func (w *world) count(s *state, h *hop, done *events.CallDone) {
	t := &w.tally
	t.add("calls", 1)
	t.add(string(done.Outcome), 1)
	t.add("attempts", h.attempts)
	t.add("retries", h.armed)
	t.add("recoveries", h.resent)
	t.add("skipped", len(h.skips))
	if s.panicked {
		t.add("panics", 1)
	}
}

// checkArrivals holds what the servers saw against what the client may send.
func (s *state) checkArrivals(excused map[place]uint32) {
	w := s.w
	sends, forced := [2]int{}, [2]int{}
	for _, h := range s.hops {
		for _, done := range h.done {
			sends[h.number] += done.Attempts + done.Recoveries
			forced[h.number] += h.forced
		}
	}
	for hop := range sends {
		arrivals := s.arrivals[hop]
		if len(arrivals) > sends[hop] {
			w.breach("call %d: %d attempts and recoveries, %d arrivals: %s", s.n, sends[hop], len(arrivals), s.story())
		}
		once, written := 0, s.written[hop]
		for _, a := range arrivals {
			first, ok := excused[place{a.host, a.conn}]
			if s.idempotent(a.method) || w.anything {
				written = 0
				break
			}
			if !a.refused && !(ok && a.stream >= first) {
				once++
			}
		}
		if once > 1+forced[hop] {
			w.breach("call %d is not idempotent and arrived %d times: %s", s.n, once, s.story())
		}
		if hop == 0 && s.idempotent(s.method) || w.anything {
			written = 0
		}
		if written > 1+forced[hop] {
			w.breach("call %d is not idempotent and was begun on %d sockets: %s", s.n, written, s.story())
		}
	}
}

// checkAnswer holds what the caller saw against the last call's end, and errors
// against what they may be.
func (s *state) checkAnswer() {
	w := s.w
	for _, err := range []error{s.err, s.bodyErr} {
		if err == nil {
			continue
		}
		if text := err.Error(); strings.Contains(text, secret) {
			w.breach("call %d: an error shows a credential: %s", s.n, text)
		}
		if errors.Is(err, context.Canceled) && s.stopAt.IsZero() {
			w.breach("call %d: %v, and nobody canceled: %s", s.n, err, s.story())
		}
	}
	if w.memory {
		end := s.began.Add(w.patience)
		if !s.stopAt.IsZero() && s.stopAt.Before(end) {
			end = s.stopAt
		}
		// A body drains for 50 ms; http.Client's own timer has up to a second.
		if late := s.ended.Sub(end); late > 1100*time.Millisecond {
			w.breach("call %d came back %v after its end: %v: %s", s.n, late, s.err, s.story())
		}
	}
	if errors.Is(s.err, client.ErrClosed) {
		w.tally.add("refused by a closed client", 1)
		if w.closing < 0 {
			w.breach("call %d: %v, and nobody closed the client: %s", s.n, s.err, s.story())
		}
		return // the last hop may have no events
	}
	if s.via == viaStream || s.panicked {
		return // the last hop may have no events
	}
	last := s.hops[len(s.hops)-1]
	if len(last.done) != 1 {
		return
	}
	done := last.done[0]
	failed := s.err != nil || s.bodyErr != nil
	var may []events.Outcome
	switch {
	case failed && s.err == nil:
		may = []events.Outcome{events.OutcomeEscaped}
	case failed:
		may = []events.Outcome{events.OutcomeEscaped, events.OutcomeRejected}
	case s.fallback:
		may = []events.Outcome{events.OutcomeRejected}
	case events.RetryableStatus(s.status):
		may = []events.Outcome{events.OutcomeEscaped}
	case done.Attempts > 1 || done.Recoveries > 0 || len(s.hops) > 1:
		may = []events.Outcome{events.OutcomeRecovered, events.OutcomeOK}
	default:
		may = []events.Outcome{events.OutcomeOK}
	}
	if !s.stopAt.IsZero() {
		may = append(may, events.OutcomeCanceled)
	}
	if slices.Contains(may, done.Outcome) {
		return
	}
	w.breach("call %d: outcome %s, want one of %v; status %d, error %v, body error %v: %s", s.n, done.Outcome, may, s.status, s.err, s.bodyErr, s.story())
}

// checkPanic checks that a callback's panic has reached the caller.
func (s *state) checkPanic() {
	if s.panicking.Load() && !s.panicked {
		s.w.breach("call %d: a callback panicked, and its caller did not see it: %s", s.n, s.story())
	}
}

// checkBodies checks that each request body was closed once.
func (s *state) checkBodies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.bodies {
		if n := b.closes.Load(); n != 1 && !(i == 0 && n == 2 && s.shape == redirected) { // http.Client closes it too
			s.w.breach("call %d: request body %d of %d was closed %d times: error %v: %s", s.n, i+1, len(s.bodies), n, s.err, s.storyLocked())
		}
	}
}

// checkRest checks that nothing is left of the round's calls: it returns what is,
// "" if nothing.
func (p *party) rest() string {
	for i, c := range p.clients {
		s := c.Stats().Pool
		if s.Requests+s.Waiting+s.Dialing+s.Active > 0 {
			return "client " + string(rune('1'+i)) + " holds something"
		}
	}
	return ""
}

// checkBalance checks tokens and leases.
func (p *party) checkBalance(w *world) {
	l := &p.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for partition, level := range p.budget.Levels() {
		t := l.tokens[partition]
		low := level.Capacity - t["kept"]
		high := min(level.Capacity, low+t["added"])
		switch {
		case level.Reserved != 0:
			w.breach("%s: %d tokens are still reserved", partition, level.Reserved)
		case t["reserved"] != t["settled"]:
			w.breach("%s: %d tokens reserved, %d settled", partition, t["reserved"], t["settled"])
		case level.Tokens < low || level.Tokens > high:
			w.breach("%s: level %d of %d after %d kept and %d added", partition, level.Tokens, level.Capacity, t["kept"], t["added"])
		}
	}
	if p.breaker != nil {
		for key, s := range p.breaker.Snapshots() {
			if s.Probing {
				w.breach("%s: a probe is still held", key)
			}
		}
	}
}
