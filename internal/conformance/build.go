package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is what the pool's sources import each other by; internalPath is
// where they are as a part of the standard library.
const (
	modulePath   = "github.com/plimsoll-http/plimsoll/"
	internalPath = "net/http/internal/plimsoll/"
)

// build makes the test binary.
type build struct {
	root    string            // of this module
	tmp     string            // for everything made
	goroot  string            // of the go command on PATH
	replace map[string]string // overlay: path in GOROOT to path of its content
	tests   []string          // names of the harness tests
	binary  string
}

func goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
		}
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func moduleRoot() (string, error) {
	mod, err := goCommand("env", "GOMOD")
	if err != nil {
		return "", err
	}
	root := filepath.Dir(mod)
	if _, err := os.Stat(filepath.Join(root, "pool")); err != nil {
		return "", fmt.Errorf("%s is not the root of plimsoll: run this from there", root)
	}
	return root, nil
}

func (b *build) make() error {
	var err error
	if b.goroot, err = goCommand("env", "GOROOT"); err != nil {
		return err
	}
	for _, pkg := range []string{"events", "pool"} {
		if err := b.addPackage(pkg); err != nil {
			return err
		}
	}
	for _, name := range []string{"transport_test.go", "client_test.go", "clientserver_test.go"} {
		path := filepath.Join(b.goroot, "src", "net", "http", name)
		src, tests, err := rewrite(path)
		if err != nil {
			return err
		}
		b.tests = append(b.tests, tests...)
		if err := b.put(path, src); err != nil {
			return err
		}
	}
	if err := b.put(filepath.Join(b.goroot, "src", "net", "http", "plimsoll_test.go"), []byte(harness)); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": b.replace})
	if err != nil {
		return err
	}
	file := filepath.Join(b.tmp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	b.binary = filepath.Join(b.tmp, "http.test")
	_, err = goCommand("test", "-c", "-vet=off", "-overlay="+file, "-o", b.binary, "net/http")
	return err
}

// addPackage puts a package of this module into the standard library.
func (b *build) addPackage(pkg string) error {
	files, err := filepath.Glob(filepath.Join(b.root, pkg, "*.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		src = []byte(strings.ReplaceAll(string(src), `"`+modulePath, `"`+internalPath))
		to := filepath.Join(b.goroot, "src", filepath.FromSlash(internalPath), pkg, filepath.Base(f))
		if err := b.put(to, src); err != nil {
			return err
		}
	}
	return nil
}

// put adds a file to the overlay.
func (b *build) put(path string, content []byte) error {
	file := filepath.Join(b.tmp, fmt.Sprintf("%d_%s", len(b.replace), filepath.Base(path)))
	b.replace[path] = file
	return os.WriteFile(file, content, 0o600)
}
