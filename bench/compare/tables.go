package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/plimsoll-http/plimsoll/budget"
)

func (r *results) writeTargets(w io.Writer) {
	fmt.Fprintf(w, "Targets. Ratios are of the times above a bare RoundTripper in memory, medians with the upper end of their 95 %% interval, which the bound applies to; %d runs in a row (%s). go-retryablehttp is the RoundTripper that it offers, which holds an http.Client; its own Do, which needs no other, is among the calls.\n\n", len(r.targets), r.plan)
	fmt.Fprint(w, "| | bound |")
	for i := range r.targets {
		fmt.Fprintf(w, " run %d |", i+1)
	}
	fmt.Fprintln(w, " met |\n| --- | --- |"+strings.Repeat(" --- |", len(r.targets)+1))
	for i, first := range r.targets[0] {
		fmt.Fprintf(w, "| %s | ≤ %s |", first.Name, figure(first.Bound, first.Unit))
		met := 0
		for _, run := range r.targets {
			t := run[i]
			fmt.Fprintf(w, " %s |", t.Got.text(t.Unit))
			if t.met() {
				met++
			}
		}
		switch met {
		case len(r.targets):
			fmt.Fprintln(w, " yes |")
		case 0:
			fmt.Fprintln(w, " **no** |")
		default:
			fmt.Fprintf(w, " **%d of %d** |\n", met, len(r.targets))
		}
	}
}

// text gives the median and, where it differs, the upper end.
func (i interval) text(unit string) string {
	if i.Low == i.High {
		return figure(i.Mid, unit)
	}
	return fmt.Sprintf("%s (%s)", figure(i.Mid, unit), figure(i.High, ""))
}

func figure(v float64, unit string) string {
	switch unit {
	case "×":
		return fmt.Sprintf("%.2f×", v)
	case "":
		if v == math.Trunc(v) {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.2f", v)
	}
	if math.Abs(v) < 100 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

func (r *results) writePoisoned(w io.Writer) {
	var columns []poisonedCase // one per protocol and method; its goroutines say nothing
	for _, c := range poisonedCases() {
		if c.Goroutines == concurrency[0] && r.poisonedAt(c) != nil {
			columns = append(columns, c)
		}
	}
	at := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(concurrency)), " / "), "[]")
	fmt.Fprintf(w, "\nA poisoned pool: the connections that 8 calls have parked, or as many as there are goroutines, have died at the server; as many calls follow, and then anew. Errors that callers see in %d calls each by %s goroutines:\n\n| |", poisonedCalls, at)
	for _, c := range columns {
		fmt.Fprintf(w, " %s %s |", c.Protocol, c.Method)
	}
	fmt.Fprintln(w, "\n| --- |"+strings.Repeat(" --- |", len(columns)))
	for i, who := range contestants() {
		fmt.Fprintf(w, "| %s |", nameOn(who.name))
		for _, c := range columns {
			fmt.Fprintf(w, " %s |", strings.Join(r.poisonedAt(c)[i], " / "))
		}
		fmt.Fprintln(w)
	}
}

// poisonedAt returns, for each contestant, the errors at each number of
// goroutines with the case's protocol and method; nil if none was measured.
func (r *results) poisonedAt(c poisonedCase) [][]string {
	var errs [][]string
	for _, g := range concurrency {
		c.Goroutines = g
		for i, p := range r.poisoned[c] {
			if len(errs) <= i {
				errs = append(errs, nil)
			}
			errs[i] = append(errs[i], fmt.Sprint(p.Errors))
		}
	}
	return errs
}

// writePoisonedCells writes all that was counted of the poisoned pools.
func (r *results) writePoisonedCells(w io.Writer) {
	fmt.Fprintf(w, "\n## A poisoned pool in full\n\nAs in the table above, %d calls each. Time per call of all goroutines together, median and upper end over the rounds; bytes and allocations per call, the server's share included; the connections that the server accepted for the calls, and the requests that it saw on dead and living ones. To failsafe-go a dead connection is a failure like any other: with many goroutines its retry budget and then its breaker refuse calls.\n", poisonedCalls)
	for _, c := range poisonedCases() {
		if r.poisoned[c] == nil {
			continue
		}
		fmt.Fprintf(w, "\n### %s %s, %s\n\n| | time | bytes | allocations | connections | requests | errors |\n| --- | --- | --- | --- | --- | --- | --- |\n", c.Protocol, c.Method, inWords(c.Goroutines))
		for _, p := range r.poisoned[c] {
			fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d |\n", nameOn(p.Name), p.Time.text("ns"),
				p.Bytes/uint64(p.Calls), p.Allocs/uint64(p.Calls), p.Conns, p.Requests, p.Errors) //nolint:gosec // counts
		}
	}
}

// inWords is a number of goroutines.
func inWords(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// nameOn is the name of a contestant over an http.Transport.
func nameOn(name string) string {
	if name == "base alone" {
		return "http.Transport"
	}
	return name
}

func (r *results) writeParts(w io.Writer) {
	fmt.Fprint(w, "\n## Parts\n\n| | goroutines | | time | bytes | allocations |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, p := range r.parts {
		for i, name := range p.Names {
			fmt.Fprintf(w, "| %s | %d | %s | %s | %.0f | %s |\n", p.Title, p.Goroutines, name, p.Times[i].text("ns"), p.Bytes[i], figure(p.Allocs[i], ""))
		}
	}
}

func (r *results) writeScale(w io.Writer) {
	fmt.Fprint(w, "\n## Scale\n\nNo telemetry; retry, budget and breaker. Calls go to all origins in turn.\n\n| origins | kept per idle origin without connections, its share of the client included | call to one of them, in memory |\n| --- | --- | --- |\n")
	for _, o := range r.origins {
		fmt.Fprintf(w, "| %d | %s | %s |\n", o.Origins, figure(o.Bytes, "B"), o.Time.text("ns"))
	}
	fmt.Fprintf(w, "\nA client, its budget and its breaker know %d origins each and forget others for new ones: with 10,000 in turn every call is one to a new origin and pays for that, and what is kept is what those that are known keep, divided by 10,000.\n", budget.Default().MaxPartitions) // the others' bounds are the same
	fmt.Fprint(w, "\n| goroutines | call in memory, no telemetry | SDK sampled |\n| --- | --- | --- |\n")
	for _, g := range r.routines {
		fmt.Fprintf(w, "| %d | %s | %s |\n", g.Goroutines, g.None.text("ns"), g.Sampled.text("ns"))
	}
	fmt.Fprintf(w, "\nAn idle connection keeps %s in the pool and %s in http.Transport, its goroutines' stacks and buffers included.\n", figure(r.idle[0], "B"), figure(r.idle[1], "B"))
}

func (r *results) writeCells(w io.Writer) {
	fmt.Fprintf(w, "\n## Calls\n\nEvery contestant sends GET through an http.Client or its own way of sending, and reads two bytes. Those that retry do so up to %d times without waiting. Time: median (upper end of the 95 %% interval) per call of all goroutines together. Counted over %d calls from the first on: bytes and allocations per call, the server's share included; TCP connections, and those that were left open until the context of the call ended; requests that the server saw; errors that callers saw.\n", retries, counted)
	for _, c := range r.cells {
		fmt.Fprintf(w, "\n### %s, %s, %s\n\n| | time | bytes | allocations | connections | left open | requests | errors |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", c.World, c.health(), inWords(c.Goroutines))
		for _, row := range c.rows {
			name := row.Name
			if c.World != "memory" {
				name = nameOn(name)
			}
			fmt.Fprintf(w, "| %s | %s | %.0f | %.1f | %d | %d | %d | %d |\n", name, row.Time.text("ns"), row.Bytes, row.Allocs, row.Conns, row.LeftOpen, row.Requests, row.Errors)
		}
	}
}
