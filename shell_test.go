package plimsoll_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A block is one fenced part of a page.
type block struct {
	language string
	text     string
	line     int    // of its first line
	excuse   string // why it isn't run, from a comment right above: <!-- not run: … -->
}

var notRun = regexp.MustCompile(`^<!-- not run: (.{10,}) -->$`)

// blocks returns the fenced parts of a page.
func blocks(page string) []block {
	var found []block
	var open *block
	above := ""
	for i, line := range strings.Split(page, "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case open == nil && fence:
			open = &block{language: strings.TrimSpace(strings.TrimPrefix(line, "```")), line: i + 2}
			if m := notRun.FindStringSubmatch(above); m != nil {
				open.excuse = m[1]
			}
		case open != nil && fence:
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
		if strings.TrimSpace(line) != "" {
			above = line
		}
	}
	return found
}

// commands returns the lines of a block of shell, without comments and prompts.
func (b block) commands() []string {
	var found []string
	text := strings.ReplaceAll(b.text, " \\\n", "")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, line)
		}
	}
	return found
}

var shells = []string{"sh", "bash", "shell", "console"}

func isShell(b block) bool { return slices.Contains(shells, b.language) }

// Every line in a block of shell is executed here, or the block says above why
// it isn't. Lines of make run in this folder, with a stand-in for go, since
// tests must not run themselves; the others run page by page in an empty folder.
func TestTheShellLinesOfThePagesRun(t *testing.T) {
	ran := 0
	for name, page := range markdown(t) {
		var s *scratch
		for _, b := range blocks(page) {
			if !isShell(b) || b.excuse != "" {
				continue
			}
			for _, command := range b.commands() {
				ran++
				if target, ok := strings.CutPrefix(command, "make "); ok {
					runMake(t, name, target)
					continue
				}
				if s == nil {
					s = newScratch(t, page)
				}
				s.run(t, name, command)
			}
		}
	}
	if ran < 4 {
		t.Errorf("only %d shell lines found", ran)
	}
}

func TestTheReadmeExcusesNoShellLine(t *testing.T) {
	for _, b := range blocks(markdown(t)["README.md"]) {
		if isShell(b) && b.excuse != "" {
			t.Errorf("line %d is not run: %s", b.line, b.excuse)
		}
	}
}

// goCalls has make run a target whose go is a stand-in, and returns what it was
// asked for. Only "go env" is answered.
func goCalls(t *testing.T, target string) []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED PART: the Makefile needs a POSIX shell")
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	goProgram, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	standIn := filepath.Join(dir, "go")
	script := "#!/bin/sh\nif [ \"$1\" = env ]; then exec '" + goProgram + "' \"$@\"; fi\necho \"$@\" >>'" + calls + "'\n"
	if err := os.WriteFile(standIn, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "GO="+standIn, target)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("make %s: %v\n%s", target, err, out)
	}
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Errorf("make %s calls no go: %v", target, err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// runMake runs a target and checks that what it asks of go can be had: the
// packages exist. The demonstration is played, in short.
func runMake(t *testing.T, page, target string) {
	t.Helper()
	calls := goCalls(t, target)
	switch target {
	case "demo":
		if len(calls) != 1 || calls[0] != "run ./cmd/plimsoll demo" {
			t.Fatalf("%s: make demo runs %q", page, calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", "run", "./cmd/plimsoll", "demo", "-duration", "5s")
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "500/500") || !strings.Contains(string(out), "Summary of orders") {
			t.Errorf("%s: make demo: %v\n%s", page, err, out)
		}
		checkDemoLines(t, string(out))
	case "test":
		modules, err := filepath.Glob("*/*/go.mod")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"."}
		for _, m := range append(modules, "bench/go.mod") {
			want = append(want, filepath.ToSlash(filepath.Dir(m)))
		}
		for _, module := range want {
			if !slices.ContainsFunc(calls, func(c string) bool {
				at := "."
				if rest, ok := strings.CutPrefix(c, "test -C "); ok {
					at, _, _ = strings.Cut(rest, " ")
				}
				return at == module && strings.HasSuffix(c, " ./...")
			}) {
				t.Errorf("%s: make test does not test %s: %q", page, module, calls)
			}
		}
	default:
		for _, call := range calls {
			checkGoCall(t, page, call)
		}
	}
}

var demoLine = regexp.MustCompile(`^ *[0-9]+s ([a-z0-9 ]+?) +orders \[[#.]{10}\] [0-9]+/500 retries [0-9]+ skipped (0|[a-z]+:[0-9]+(,[a-z]+:[0-9]+)*) recoveries [0-9]+ escapes [0-9]+`)

// checkDemoLines holds the lines of the README against those of the
// demonstration: they have its form, and the phases that they name are played.
func checkDemoLines(t *testing.T, out string) {
	t.Helper()
	played := map[string]bool{"healthy": true} // in the short play that is over before the first line
	for line := range strings.Lines(out) {
		if m := demoLine.FindStringSubmatch(line); m != nil {
			played[m[1]] = true
		}
	}
	for _, b := range blocks(markdown(t)["README.md"]) {
		if b.language != "text" {
			continue
		}
		for line := range strings.Lines(b.text) {
			m := demoLine.FindStringSubmatch(line)
			switch {
			case m == nil:
				t.Errorf("README.md: no line of the demonstration looks like %q", line)
			case !played[m[1]]:
				t.Errorf("README.md: the demonstration has no phase %q, only %v", m[1], played)
			}
		}
	}
}

// checkGoCall lists the package that a call of go runs or tests.
func checkGoCall(t *testing.T, page, call string) {
	t.Helper()
	dir := "."
	words := strings.Fields(call)
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-C":
			dir = words[i+1]
			i++
		case strings.HasPrefix(w, "./") || w == ".":
			cmd := exec.CommandContext(t.Context(), "go", "list", "-C", dir, w)
			cmd.Env = append(os.Environ(), "GOWORK=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: go %s: %v\n%s", page, call, err, out)
			}
			return
		}
	}
}

// scratch is an empty folder outside the repository, in which the lines of one
// page run one after the other.
type scratch struct {
	dir, root, bin string
	upstream       *httptest.Server
}

func newScratch(t *testing.T, page string) *scratch {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s := &scratch{dir: t.TempDir(), root: root, bin: t.TempDir()}
	s.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Seen", "yes")
	}))
	t.Cleanup(s.upstream.Close)
	for _, b := range blocks(page) {
		if b.language == "go" && strings.HasPrefix(b.text, "package main\n") { // the reader has pasted the first program
			program := strings.ReplaceAll(b.text, "https://example.com", s.upstream.URL)
			if err := os.WriteFile(filepath.Join(s.dir, "main.go"), []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if !strings.Contains(page, "\ngo mod init ") { // the reader's module is there
		s.run(t, "before the page", "go mod init example.com/reader")
	}
	return s
}

// run runs one line as it stands, but for the address of the example server.
func (s *scratch) run(t *testing.T, page, command string) {
	t.Helper()
	if strings.HasPrefix(command, "plimsoll ") && !exists(filepath.Join(s.bin, "plimsoll")) {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", s.bin+string(filepath.Separator), "./cmd/plimsoll")
		build.Env = append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", page, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(command, "https://example.com", s.upstream.URL)) //nolint:gosec // our own pages
	cmd.Dir = s.dir
	// What this module needs is in the module cache, since this test is built.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %q: %v\n%s", page, command, err, out)
	}
	if strings.HasPrefix(command, "go mod init ") { // this module comes from here, at this version
		edit := exec.CommandContext(ctx, "go", "mod", "edit", "-replace", module+"="+s.root)
		edit.Dir = s.dir
		if out, err := edit.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sums, err := os.ReadFile("go.sum")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "go.sum"), sums, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var makeTarget = regexp.MustCompile("`make ([a-z-]+)`")

// A target that a page names in a sentence exists.
func TestTheTargetsOfMakeThatThePagesNameExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, page := range markdown(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
			seen++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which the Makefile does not have", name, m[1])
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d targets found", seen)
	}
}

func TestBlocksAndTheirExcusesAreRead(t *testing.T) {
	const page = "a\n```sh\nmake x   # why\n# no command\n$ go run a \\\n  b\n```\n<!-- not run: it needs a cluster -->\n```console\nkubectl get pods\n```\n<!-- not run: no -->\n```sh\nls\n```\n"
	bs := blocks(page)
	if len(bs) != 3 || bs[0].excuse != "" || bs[1].excuse != "it needs a cluster" || bs[2].excuse != "" {
		t.Fatalf("%+v", bs)
	}
	if got := bs[0].commands(); !slices.Equal(got, []string{"make x", "go run a  b"}) {
		t.Errorf("%q", got)
	}
}
