// Command readme rewrites the generated parts of README.md: the table of events
// from the catalogue, and the tables that other generators left in docs/.
//
// A generated part stands between the lines
//
//	<!-- generated: NAME -->
//	<!-- end of generated -->
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

const (
	file = "README.md"
	end  = "<!-- end of generated -->\n"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("readme: ")
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range []struct {
		name  string
		lines func() (string, error)
	}{
		{"events", events},
		{"lead times", leadTimes},
		{"benchmarks", comparison},
	} {
		lines, err := part.lines()
		if err != nil {
			log.Fatalf("%s: %v", part.name, err)
		}
		if text, err = replace(text, part.name, lines); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a public document
		log.Fatal(err)
	}
}

// replace puts lines between the marks of the part called name.
func replace(text []byte, name, lines string) ([]byte, error) {
	begin := "<!-- generated: " + name + " -->\n"
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return nil, fmt.Errorf("%s has no part %q: put %q and %q in it", file, name, begin, end)
	}
	return bytes.Join([][]byte{before, []byte(begin), []byte("\n" + lines + "\n"), []byte(end), after}, nil), nil
}

// events is the table event → span → metric.
func events() (string, error) {
	var b strings.Builder
	b.WriteString("| event | in the trace | metrics |\n| --- | --- | --- |\n")
	for _, e := range catalog.Events() {
		span := e.Form.String()
		if e.Span != "" {
			span += " `" + e.Span + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", e.Name, span, strings.Join(e.Metrics, "`, `"))
	}
	return b.String(), nil
}

// leadTimes is the table that the proof of the alerts measured.
func leadTimes() (string, error) {
	text, err := os.ReadFile("dashboards/generated/lead-times.md")
	if err != nil {
		return "", err
	}
	_, table, found := strings.Cut(string(text), "\n|")
	if !found {
		return "", errors.New("dashboards/generated/lead-times.md holds no table: run go generate in internal/proof")
	}
	table, _, _ = strings.Cut("|"+table, "\n\n")
	return strings.TrimRight(table, "\n") + "\n", nil
}

// comparison is the summary of the comparison with peers: what callers see when
// parked connections have died, and what the targets came to.
func comparison() (string, error) {
	text, err := os.ReadFile("docs/benchmarks.md")
	if err != nil {
		return "", err
	}
	head, summary, found := strings.Cut(string(text), "\n<!-- summary -->\n\n")
	summary, _, closed := strings.Cut(summary, "\n<!-- end of summary -->")
	targets, poisoned, both := strings.Cut(summary, "\nA poisoned pool: ")
	if !found || !closed || !both {
		return "", errors.New("docs/benchmarks.md has no summary: run make bench")
	}
	machine := strings.TrimSpace(head[strings.LastIndex(strings.TrimRight(head, "\n"), "\n\n")+1:])
	return machine + "\n\nA poisoned pool: " + strings.TrimRight(poisoned, "\n") + "\n\n" + strings.TrimRight(targets, "\n") + "\n", nil
}
