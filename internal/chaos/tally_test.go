package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// tally counts what rounds have gone through.
type tally struct {
	mu     sync.Mutex
	faults map[string]int // by name; guarded by mu
	counts map[string]int // by the words of order; guarded by mu
}

// inOrderName and the cuts are what a connection or a request meets besides the
// table's faults.
const (
	inOrderName = "none"
	cutReading  = "cut at a byte read"
	cutWriting  = "cut at a byte written"
)

// order is what a tally shows, and in which order.
var order = []string{
	"calls", "ok", "recovered", "escaped", "rejected", "canceled", "refused by a closed client", "attempts", "retries", "recoveries",
	"skipped", "streams", "breaker openings", "throttles", "reloads", "refused reloads", "closed clients", "connections", "stale connections", "panics",
}

func (t *tally) fault(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[string]int{}
	}
	t.faults[name]++
}

func (t *tally) add(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[name] += n
}

func (t *tally) count(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[name]
}

// merge adds o, which nobody changes any more.
func (t *tally) merge(o *tally) {
	for k, n := range o.counts {
		t.add(k, n)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[string]int{}
	}
	for k, n := range o.faults {
		t.faults[k] += n
	}
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, k := range order {
		if n := t.counts[k]; n > 0 {
			parts = append(parts, fmt.Sprint(k, " ", n))
		}
	}
	return strings.Join(parts, ", ")
}

// kinds are the faults met, a line per group of the table, and the sum.
func (t *tally) kinds() (lines []string, sum int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var groups []string
	names := map[string][]string{}
	for _, f := range append(faults(), fault{group: "A connection ends at some byte", name: cutReading}, fault{group: "A connection ends at some byte", name: cutWriting}) {
		if !slices.Contains(groups, f.group) {
			groups = append(groups, f.group)
		}
		if !slices.Contains(names[f.group], f.name) {
			names[f.group] = append(names[f.group], f.name)
		}
	}
	for _, g := range groups {
		n, parts := 0, []string(nil)
		for _, name := range names[g] {
			if k := t.faults[name]; k > 0 {
				n += k
				parts = append(parts, fmt.Sprint(name, ": ", k))
			}
		}
		sum += n
		lines = append(lines, fmt.Sprintf("%s: %d (%s)", g, n, strings.Join(parts, "; ")))
	}
	return lines, sum
}

// enough is after how many calls each thing must have happened.
const enough = 50_000

// missing returns what has never happened although there were enough calls.
func (t *tally) missing() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts["calls"] < enough {
		return nil
	}
	for _, k := range order {
		if t.counts[k] == 0 {
			names = append(names, k)
		}
	}
	for _, f := range faults() {
		if f.weight > 0 && t.faults[f.name] == 0 {
			names = append(names, f.name)
		}
	}
	return names
}
