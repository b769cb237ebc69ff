package plimsoll_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A publicPackage is a package that users import, as go doc shows it, with the
// examples of its test files.
type publicPackage struct {
	folder string
	doc    *doc.Package
	fset   *token.FileSet
}

// publicPackages returns this module's packages without commands and without
// what lies below a folder internal.
func publicPackages(t *testing.T) []publicPackage {
	t.Helper()
	folders := map[string]bool{}
	for folder := range sources(t) {
		if folder != "." && !slices.Contains(strings.Split(folder, "/"), "internal") {
			folders[folder] = true
		}
	}
	var found []publicPackage
	for folder := range folders {
		names, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		isProgram := false
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(fset, filepath.ToSlash(name), text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			isProgram = isProgram || f.Name.Name == "main"
			files = append(files, f)
		}
		if isProgram {
			continue
		}
		p, err := doc.NewFromFiles(fset, files, path.Join(module, folder))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, publicPackage{folder: folder, doc: p, fset: fset})
	}
	slices.SortFunc(found, func(a, b publicPackage) int { return strings.Compare(a.folder, b.folder) })
	if len(found) < 10 {
		t.Fatalf("only %d public packages found", len(found))
	}
	return found
}

// makes are the first words of the names of constructors.
var makes = []string{"New", "Open", "Start", "Load", "Watch"}

// constructors returns p's exported functions that make a value of one of its
// exported types, or of another package's where they are called New.
func (p publicPackage) constructors() []string {
	var names []string
	for _, t := range p.doc.Types {
		for _, f := range t.Funcs {
			if slices.ContainsFunc(makes, func(m string) bool { return strings.HasPrefix(f.Name, m) }) {
				names = append(names, f.Name)
			}
		}
	}
	for _, f := range p.doc.Funcs {
		if strings.HasPrefix(f.Name, "New") {
			names = append(names, f.Name)
		}
	}
	return names
}

// examples returns the examples with checked output by what they belong to:
// "" for the package, "Type" or "Type_Method" or "Func".
func (p publicPackage) examples() map[string]int {
	found := map[string]int{}
	add := func(of string, examples []*doc.Example) {
		for _, e := range examples {
			if e.Output != "" || e.EmptyOutput {
				found[of]++
			}
		}
	}
	add("", p.doc.Examples)
	for _, f := range p.doc.Funcs {
		add(f.Name, f.Examples)
	}
	for _, t := range p.doc.Types {
		add(t.Name, t.Examples)
		for _, f := range slices.Concat(t.Funcs, t.Methods) {
			of := f.Name
			if f.Recv != "" {
				of = t.Name + "_" + f.Name
			}
			add(of, f.Examples)
		}
	}
	return found
}

func TestEveryConstructorHasAnExampleWithOutput(t *testing.T) {
	seen := 0
	for _, p := range publicPackages(t) {
		examples := p.examples()
		for _, name := range p.constructors() {
			seen++
			if examples[name] == 0 {
				t.Errorf("%s.%s has no Example%s with an // Output: comment", p.folder, name, name)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d constructors found", seen)
	}
}

// What a reader looks for first, and where it is shown.
func TestTheUsualTasksHaveExamples(t *testing.T) {
	tasks := []struct{ task, folder, example string }{
		{"adding plimsoll to an existing client", "client", "New"},
		{"the client as an http.RoundTripper", "client", "NewTransport"},
		{"another RoundTripper as Base", "client", "Config"},
		{"only the pool", "pool", "New"},
		{"only the budget", "budget", ""},
		{"only the breaker", "breaker", ""},
		{"a custom RetryIf", "client", "RetryPolicy"},
		{"a worker that respects Retry-After", "client", "ThrottledError"},
		{"a bounded retry of a body", "client", "Buffered"},
		{"streams", "client", "Client_Stream"},
		{"reload on certificate rotation", "client", "Client_Reload"},
		{"per-call overrides", "client", "WithRetry"},
		{"per-call overrides", "client", "WithTotalRetryDuration"},
		{"per-call overrides", "client", "WithRoute"},
		{"why a retry was refused", "client", "ReportOf"},
		{"tests with eventstest", "events/eventstest", "NewRecorder"},
		{"sizing connections behind a load balancer", "pool", "Config"},
		{"logs without OpenTelemetry", "otelbridge/logbridge", "New"},
		{"fewer series", "otelbridge/views", "Lean"},
		{"fewer series", "otelbridge/views", "Of"},
	}
	byFolder := map[string]map[string]int{}
	for _, p := range publicPackages(t) {
		byFolder[p.folder] = p.examples()
	}
	for _, task := range tasks {
		if byFolder[task.folder][task.example] == 0 {
			t.Errorf("%s: %s has no Example%s with output", task.task, task.folder, task.example)
		}
	}
}

// The check above must be able to fail.
func TestAMissingExampleIsFound(t *testing.T) {
	const source = `package p
type T struct{}
func NewT() *T { return nil }
func OpenT() *T { return nil }
func Of() *T { return nil }
func New() int { return 0 }
`
	const tests = `package p
func ExampleNewT() {
	// Output: 1
}
func ExampleOpenT() {}
`
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{"p.go": source, "p_test.go": tests} {
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	d, err := doc.NewFromFiles(fset, files, "p")
	if err != nil {
		t.Fatal(err)
	}
	p := publicPackage{folder: "p", doc: d, fset: fset}
	if got := p.constructors(); !slices.Equal(got, []string{"NewT", "OpenT", "New"}) {
		t.Errorf("constructors: %q", got)
	}
	if got := p.examples(); got["NewT"] != 1 || got["OpenT"] != 0 {
		t.Errorf("examples with output: %v", got)
	}
}
