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
	passed := 0
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
		switch results[name] {
		case "PASS", "SKIP":
			passed++
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
		if alone[name] == "PASS" {
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
		if result[name] == "PASS" {
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
	fmt.Printf("%d of %d harness tests of net/http pass over the pool, %d are known not to\n", passed, len(names), known)
	return ok, nil
}

var verdict = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\S+)`)

// exec runs tests in one process and returns the verdicts it has printed. A
// process that crashed or hung has none for the test that it died in.
func (r *runner) exec(names []string, timeout time.Duration) (map[string]string, string, error) {
	if len(names) == 0 {
		return nil, "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.build.binary, "-test.v", "-test.short",
		"-test.timeout", timeout.String(), "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir = filepath.Join(r.build.goroot, "src", "net", "http") // for testdata
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	verdicts := map[string]string{}
	for _, m := range verdict.FindAllStringSubmatch(string(out), -1) {
		verdicts[m[2]] = m[1]
	}
	return verdicts, string(out), nil
}

// indent shortens and indents the output of a test.
func indent(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) > 60 {
		lines = append(lines[:60], "...")
	}
	return "\t" + strings.Join(lines, "\n\t")
}
