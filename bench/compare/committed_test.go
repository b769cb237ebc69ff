package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// committed returns the rows of a table: its cells, without the heads.
func committed(section string) (rows [][]string) {
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | "))
	}
	return rows
}

// The page and the raw samples are of one run, and nobody has edited the one or
// the other: what both hold is the same.
func TestTheCommittedPageIsOfTheRunOfTheRawSamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := os.ReadFile("../raw.txt")
	if err != nil {
		t.Fatal(err)
	}
	raw := map[string]string{} // "… B/op\t… allocs/op", where they are given
	for line := range strings.Lines(string(samples)) {
		if name, rest, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
			_, rest, _ = strings.Cut(rest, "\t")
			_, counted, _ := strings.Cut(rest, "\t")
			raw[name[:strings.LastIndexByte(name, '-')]] = counted
		}
	}
	_, page, _ := strings.Cut(string(text), "\n## A poisoned pool in full\n")
	for _, c := range cells() {
		_, section, found := strings.Cut(page, fmt.Sprintf("\n### %s, %s, %s\n", c.World, c.health(), inWords(c.Goroutines)))
		section, _, _ = strings.Cut(section, "\n#")
		rows := committed(section)
		want := 0
		for _, who := range contestants() {
			if who.wire && c.World == "memory" {
				continue
			}
			name := who.name
			if c.World != "memory" {
				name = nameOn(name)
			}
			series := "Benchmark" + benchmark("Call", "world", c.World, "percent", c.Percent, "goroutines", c.Goroutines) + benchmark("", "client", who.name)
			if want++; len(rows) < want || len(rows[want-1]) != 8 || rows[want-1][0] != name {
				t.Fatalf("%s: row %d is not %s with 8 columns: %q", c.name(), want, name, rows)
			}
			bytes, _ := strconv.ParseFloat(rows[want-1][2], 64)
			allocs, _ := strconv.ParseFloat(rows[want-1][3], 64)
			var b, a float64
			if _, err := fmt.Sscanf(raw[series], "%g B/op\t%g allocs/op", &b, &a); err != nil || b != bytes || allocs < a-0.56 || allocs > a+0.56 {
				t.Errorf("%s, %s: %.0f bytes and %.1f allocations, the raw samples say %q", c.name(), name, bytes, allocs, raw[series])
			}
		}
		if !found || len(rows) != want {
			t.Errorf("%s: %d rows, want %d", c.name(), len(rows), want)
		}
	}
	summary, _, _ := strings.Cut(string(text), "\n<!-- end of summary -->")
	_, summary, _ = strings.Cut(summary, "\nA poisoned pool: ")
	inSummary := committed(summary)
	for i, who := range contestants() {
		column := 0
		var errs []string
		for _, c := range poisonedCases() {
			_, section, _ := strings.Cut(page, fmt.Sprintf("\n### %s %s, %s\n", c.Protocol, c.Method, inWords(c.Goroutines)))
			section, _, _ = strings.Cut(section, "\n#")
			rows := committed(section)
			if len(rows) != len(contestants()) || rows[i][0] != nameOn(who.name) || len(rows[i]) != 7 {
				t.Fatalf("%s: row %d is not %s with 7 columns: %q", c.name(), i+1, who.name, rows)
			}
			if _, found := raw["Benchmark"+benchmark("Poisoned", "protocol", c.Protocol, "method", c.Method, "goroutines", c.Goroutines)+benchmark("", "client", nameOn(who.name))]; !found {
				t.Errorf("%s, %s: no raw samples", c.name(), who.name)
			}
			if strings.HasPrefix(who.name, "plimsoll") && rows[i][6] != "0" {
				t.Errorf("%s, %s: %s errors", c.name(), who.name, rows[i][6])
			}
			if errs = append(errs, rows[i][6]); len(errs) < len(concurrency) {
				continue
			}
			column++
			if len(inSummary) != len(contestants()) || inSummary[i][0] != nameOn(who.name) || inSummary[i][column] != strings.Join(errs, " / ") {
				t.Errorf("%s, %s: the summary says %q, the tables below %v", c.name(), who.name, inSummary[i], errs)
			}
			errs = nil
		}
	}
}
