package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runner runs the tests and compares them with what is expected.
type runner struct {
	build    *build
	expected map[string]string
	verbose  bool
}

// readExpected reads the list of tests that do not pass.
func readExpected(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	expected := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); !ok || reason == "" {
			return nil, fmt.Errorf("%s: %s is listed without a reason", filepath.Base(file), name)
		}
		expected[name] = reason
	}
	return expected, lines.Err()
}

// run runs the tests: those that should pass in one process, the others each
// in one of its own, since they may crash or hang.
func (r *runner) run(names []string) (ok bool, err error) {
	var should []string
	failed := map[string]string{} // name to output
	passed, skipped := 0, 0
	for _, name := range names {
		if _, listed := r.expected[name]; !listed {
			should = append(should, name)
		}
	}
	results, out, err := r.exec(should, 5*time.Minute)
	if err != nil {
		return false, err
	}
	for _, name := range should {
		switch v := results[name]; {
		case v.passes():
			passed++
		case v.result == "SKIP" || v.result == "PASS":
			skipped++
		default:
			failed[name] = out
		}
	}
	ok = true
	for name := range failed {
		// Alone, so that a crash of one is not blamed on all.
		alone, out, err := r.exec([]string{name}, time.Minute)
		if err != nil {
			return false, err
		}
		if alone[name].passes() {
			out += "\n(it passes alone)"
		}
		failed[name] = out
		fmt.Printf("FAIL %s\n%s\n", name, indent(out))
		ok = false
	}
	known := 0
	for _, name := range names {
		reason, listed := r.expected[name]
		if !listed {
			continue
		}
		result, out, err := r.exec([]string{name}, 20*time.Second)
		if err != nil {
			return false, err
		}
		if result[name].passes() {
			fmt.Printf("UNEXPECTED PASS %s: take it off the list (%s)\n", name, reason)
			ok = false
			continue
		}
		known++
		fmt.Printf("known %s: %s\n", name, reason)
		if r.verbose {
			fmt.Println(indent(out))
		}
	}
	for name := range r.expected {
		if !slices.Contains(r.build.tests, name) {
			fmt.Printf("UNKNOWN %s is listed and is no harness test of this Go\n", name)
			ok = false
		}
	}
	fmt.Printf("%d of %d harness tests of net/http pass over the pool, %d are known not to, %d skip on this machine\n", passed, len(names), known, skipped)
	return ok, nil
}

// exec runs tests in one process, with -short, and those of which that skips a
// part again without. It returns the verdicts that were printed: a process that
// crashed or hung has none for the test that it died in.
func (r *runner) exec(names []string, timeout time.Duration) (map[string]verdict, string, error) {
	verdicts, out, err := r.execOnce(names, timeout, "-test.short")
	if err != nil {
		return nil, "", err
	}
	var again []string
	for name, v := range verdicts {
		if v.result == "PASS" && v.skipped > 0 || v.result == "SKIP" {
			again = append(again, name)
		}
	}
	long, more, err := r.execOnce(again, timeout)
	for _, name := range again {
		verdicts[name] = long[name] // the zero verdict if it died
	}
	return verdicts, out + more, err
}

func (r *runner) execOnce(names []string, timeout time.Duration, flags ...string) (map[string]verdict, string, error) {
	if len(names) == 0 {
		return nil, "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout+10*time.Second)
	defer cancel()
	args := []string{"-test.v", "-test.timeout", timeout.String(), "-test.run", "^(" + strings.Join(names, "|") + ")$"}
	cmd := exec.CommandContext(ctx, r.build.binary, append(args, flags...)...)
	cmd.Dir = filepath.Join(r.build.goroot, "src", "net", "http") // for testdata
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	return verdicts(string(out)), string(out), nil
}

// verdict is what became of a test.
type verdict struct {
	result          string // PASS, FAIL, SKIP; "": none
	passed, skipped int    // subtests, of every depth
}

// passes reports whether the test has passed in at least one of its modes, and
// failed in none.
func (v verdict) passes() bool { return v.result == "PASS" && (v.passed > 0 || v.skipped == 0) }

var verdictLine = regexp.MustCompile(`(?m)^( *)--- (PASS|FAIL|SKIP): ([^\s/]+)`)

func verdicts(out string) map[string]verdict {
	vs := map[string]verdict{}
	for _, m := range verdictLine.FindAllStringSubmatch(out, -1) {
		nested, result, name := m[1] != "", m[2], m[3]
		v := vs[name]
		switch {
		case !nested:
			v.result = result
		case result == "PASS":
			v.passed++
		case result == "SKIP":
			v.skipped++
		}
		vs[name] = v
	}
	return vs
}

// indent shortens and indents the output of a test.
func indent(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) > 60 {
		lines = append(lines[:60], "...")
	}
	return "\t" + strings.Join(lines, "\n\t")
}
