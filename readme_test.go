package plimsoll_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
