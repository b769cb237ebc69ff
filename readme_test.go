package plimsoll_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fenced returns the contents of README.md's code blocks in a language.
func fenced(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for rest := string(text); ; {
		_, after, found := strings.Cut(rest, "\n```"+language+"\n")
		if !found {
			return blocks
		}
		block, tail, _ := strings.Cut(after, "\n```\n")
		blocks = append(blocks, block+"\n")
		rest = "\n" + tail
	}
}

func TestTheProgramsOfTheReadmeCompileAndRun(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Seen", "yes")
	}))
	defer s.Close()
	programs := fenced(t, "go")
	if len(programs) < 2 {
		t.Fatalf("%d programs found", len(programs))
	}
	if n := strings.Count(programs[0], "\n"); n > 20 {
		t.Errorf("the first program has %d lines, more than 20", n)
	}
	for i, want := range []string{"X-Seen: yes", "200 after 1 attempts; 500 of 500 tokens left"} {
		program := strings.ReplaceAll(programs[i], "https://example.com", s.URL)
		if program == programs[i] {
			t.Fatalf("program %d does not ask https://example.com", i+1)
		}
		path := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "go", "run", path).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("program %d: %v\n%s\nwant %q", i+1, err, out, want)
		}
	}
}

func TestTheShellLinesOfTheReadmeAreTargetsOfMake(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	blocks := fenced(t, "sh")
	if len(blocks) == 0 {
		t.Fatal("no shell lines found")
	}
	for line := range strings.Lines(strings.Join(blocks, "")) {
		command, _, _ := strings.Cut(line, "#")
		target, ok := strings.CutPrefix(strings.TrimSpace(command), "make ")
		if !ok || !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("%q is no target of the Makefile", strings.TrimSpace(line))
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)

func TestEveryLinkToAFileResolves(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "node_modules" || path == "bin") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Errorf("only %d links found", seen)
	}
}
