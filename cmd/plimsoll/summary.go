package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
)

// tally adds up the calls of a command.
type tally struct {
	requests   int // that the command sent, each a chain of redirects
	failed     int
	attempts   int
	retries    int
	recoveries int
	bytes      int64
	times      []time.Duration // of whole requests
	status     int             // of the last answer; 0: none
	protocol   string
	skipped    events.SkipReason // of the last request
	statuses   map[string]int    // by what came: a status, or an error's class
	err        string
	exit       int // of the first failure
}

// add counts one request.
func (t *tally) add(calls []*callRecord, took time.Duration, failed bool) {
	t.requests++
	t.times = append(t.times, took)
	if failed {
		t.failed++
	}
	t.skipped, t.status = "", 0
	came := "error"
	for _, c := range calls {
		t.skipped, t.status = c.skipped.Reason, c.status
		before := t.attempts
		for _, st := range c.steps {
			if a := st.attempt; a != nil {
				t.attempts++
				t.recoveries += a.recoveries
				t.protocol = a.protocol
				came = "error " + string(a.class)
			}
		}
		t.retries += max(0, t.attempts-before-1)
		if c.rejected && before == t.attempts {
			came = "not sent: breaker open"
		}
	}
	if t.status != 0 {
		came = fmt.Sprint(t.status)
	}
	if t.statuses == nil {
		t.statuses = map[string]int{}
	}
	t.statuses[came]++
}

// text writes what became of the requests.
func (t *tally) text(s screen) string {
	var b strings.Builder
	if t.requests == 1 {
		if t.status != 0 {
			color := green
			if t.status >= 400 {
				color = red
			}
			fmt.Fprintf(&b, "%s  ", s.paint(color, strings.TrimSpace(fmt.Sprintf("%d %s", t.status, http.StatusText(t.status)))))
			if t.protocol != "" {
				fmt.Fprintf(&b, "HTTP/%s  ", t.protocol)
			}
			b.WriteString(quantity(t.bytes, "byte") + "  ")
		}
		fmt.Fprintf(&b, "%s  %s\n", brief(t.times[0]), t.counts())
		return b.String()
	}
	if t.requests == 0 {
		return ""
	}
	fmt.Fprintf(&b, "%d requests, %d failed: ", t.requests, t.failed)
	for i, came := range slices.Sorted(maps.Keys(t.statuses)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d)", came, t.statuses[came])
	}
	sorted := slices.Sorted(slices.Values(t.times))
	fmt.Fprintf(&b, "\nfastest %s, median %s, slowest %s; %s, %s\n",
		brief(sorted[0]), brief(sorted[len(sorted)/2]), brief(sorted[len(sorted)-1]), quantity(t.bytes, "byte"), t.counts())
	return b.String()
}

func (t *tally) counts() string {
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{{t.attempts, "attempt", "attempts"}, {t.retries, "retry", "retries"}, {t.recoveries, "recovery", "recoveries"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.one)
		case p.n > 1 || p.one == "attempt":
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.many))
		}
	}
	return strings.Join(parts, ", ")
}

// gauges writes the state of budget and breaker.
func gauges(o *getOptions, stats client.Stats, s screen) string {
	var b strings.Builder
	const width = 20
	for _, key := range slices.Sorted(maps.Keys(stats.Budget)) {
		l := stats.Budget[key]
		color := green
		if l.Tokens*2 < l.Capacity {
			color = yellow
		}
		if l.Tokens*5 < l.Capacity {
			color = red
		}
		full, empty := '█', '·'
		if !s.utf8 {
			full, empty = '#', '.'
		}
		fmt.Fprintf(&b, "budget   %s %d of %d tokens  %s\n", s.paint(color, bar(int64(l.Tokens), int64(l.Capacity), width, full, empty)), l.Tokens, l.Capacity, printable(key))
	}
	if len(stats.Budget) == 0 {
		fmt.Fprintf(&b, "budget   %d of %d tokens: nothing was sent\n", o.budget, o.budget)
	}
	for _, key := range slices.Sorted(maps.Keys(stats.Breaker)) {
		g := stats.Breaker[key]
		fmt.Fprintf(&b, "breaker  %s  %s", g.State, printable(key))
		switch {
		case g.Left > 0:
			fmt.Fprintf(&b, ", a probe is let through in %s", brief(g.Left))
		case g.Streak > 0:
			fmt.Fprintf(&b, ", %d of %d failures in a row", g.Streak, o.breaker)
		}
		b.WriteString("\n")
	}
	if o.breaker == 0 {
		b.WriteString("breaker  none (--breaker N)\n")
	} else if len(stats.Breaker) == 0 {
		b.WriteString("breaker  closed\n")
	}
	return b.String()
}
