// Command conformance runs Go's own net/http client tests over package pool.
//
// It takes transport_test.go, client_test.go and clientserver_test.go of the
// installed GOROOT, lets their server-and-client harness hand out a pool in
// place of an http.Transport, and builds them with the pool and the events as
// packages of the standard library (go test -c -overlay). Everything that it
// makes is in a temporary folder; nothing of Go's is copied into this module.
//
// A harness test is one that runs its body in the modes of that harness. Each
// must pass, but for those in expected.txt, one per line:
//
//	TestName  why: the private identifier that it needs, or the documented difference
//
// A test that fails without being listed, or is listed and passes, ends the
// program with status 1.
//
// Usage, from the module's root:
//
//	go run ./internal/conformance [-v] [-run regexp] [-keep]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	verbose := flag.Bool("v", false, "print the output of tests that fail, the expected ones too")
	run := flag.String("run", "", "run only the tests that match")
	keep := flag.Bool("keep", false, "keep the temporary folder and print its name")
	flag.Parse()
	ok, err := conform(*verbose, *run, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func conform(verbose bool, run string, keep bool) (ok bool, err error) {
	filter, err := regexp.Compile(run)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	expected, err := readExpected(filepath.Join(root, "internal", "conformance", "expected.txt"))
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return false, err
	}
	if keep {
		fmt.Println(tmp)
	} else {
		defer os.RemoveAll(tmp)
	}
	b := &build{root: root, tmp: tmp, replace: map[string]string{}}
	if err := b.make(); err != nil {
		return false, err
	}
	var names []string
	for _, name := range b.tests {
		if filter.MatchString(name) {
			names = append(names, name)
		}
	}
	r := &runner{build: b, expected: expected, verbose: verbose}
	return r.run(names)
}
