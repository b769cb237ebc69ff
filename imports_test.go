package plimsoll_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sources returns, for each folder of this module with non-test Go code, its
// imports and a file that has each, whatever the build constraints.
func sources(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, notRoot := os.Stat(filepath.Join(p, "go.mod"))
			hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || d.Name() == "bin"
			if p != "." && (notRoot == nil || hidden) {
				return fs.SkipDir // another module, or no packages
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(p))
		if found[folder] == nil {
			found[folder] = map[string]string{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[folder][imported] = filepath.ToSlash(p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// linked returns the imports of every package that the module's non-test code
// links on goos.
func linked(t *testing.T, goos string) map[string][]string {
	t.Helper()
	graph := map[string][]string{}
	out := json.NewDecoder(bytes.NewReader(goCommand(t, goos, "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")))
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := out.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		graph[pkg.ImportPath] = pkg.Imports
	}
	return graph
}

// goCommand returns the output of the go command for this module alone.
func goCommand(t *testing.T, goos string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if goos != "" {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "GOARCH=amd64")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}
