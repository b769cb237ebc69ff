package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/require"
)

func TestCompletionKnowsEveryFlagOfEveryCommand(t *testing.T) {
	for _, shell := range shells() {
		script := runIt(t.Context(), "completion", shell).stdout
		for _, c := range commands() {
			f := newFlagSet(c.name)
			c.flags(f)
			for _, one := range f.all() {
				name := "--" + one.Name
				switch {
				case len(one.Name) == 1:
					name = "-" + one.Name
				case shell == "fish":
					name = "-l " + one.Name
				}
				if shell == "fish" && len(one.Name) == 1 {
					name = "-s " + one.Name
				}
				if !strings.Contains(script, name) {
					t.Errorf("%s does not know %s of %s", shell, name, c.name)
				}
			}
		}
	}
}

func completionScript(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "completion")
	got := runIt(t.Context(), "completion", name)
	if got.status != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	if err := os.WriteFile(file, []byte(got.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheShellsAcceptTheirCompletion(t *testing.T) {
	for _, name := range shells() {
		t.Run(name, func(t *testing.T) {
			path := require.Tool(t, name)
			if out, err := exec.CommandContext(t.Context(), path, "-n", completionScript(t, name)).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestBashCompletes(t *testing.T) {
	path := require.Tool(t, "bash")
	script := completionScript(t, "bash")
	dir := t.TempDir()
	for _, name := range []string{"a file", "another"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		words []string // the last one is completed
		want  string   // | between
	}{
		{[]string{"de"}, "demo"},
		{[]string{"get", "--max"}, "--max-redirs"},
		{[]string{"get", "http://a.test/", "--ti"}, "--timeout"},
		{[]string{"get", "--color", ""}, "auto|always|never"},
		{[]string{"get", "--color", "="}, "auto|always|never"},
		{[]string{"get", "--color", "=", "al"}, "always"},
		{[]string{"get", "-o", "a f"}, "a file"},
		{[]string{"rules", "--out", "a"}, "a dir"},
		{[]string{"get", "-H", ""}, ""},
		{[]string{"completion", "z"}, "zsh"},
	} {
		run := exec.CommandContext(t.Context(), path, "--norc", "-c",
			`source "$0"; COMP_WORDS=(plimsoll "$@"); COMP_CWORD=$#; _plimsoll; IFS='|'; echo "${COMPREPLY[*]}"`)
		run.Args = append(append(run.Args, script), row.words...)
		run.Dir = dir
		out, err := run.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != row.want {
			t.Errorf("%q: %q, %v; want %q", row.words, got, err, row.want)
		}
	}
}
