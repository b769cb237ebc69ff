// Command generate writes the standard dashboards and rules, and the tests of
// the rules for promtool, into the folder generated. Run it by go generate in
// the folder dashboards.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/internal/ruletest"
)

func main() {
	if err := generate("generated"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	set, err := dashboards.New(dashboards.Options{})
	if err != nil {
		return err
	}
	if err := set.Write(dir); err != nil {
		return err
	}
	if err := set.WriteRules(dir); err != nil {
		return err
	}
	tests, err := ruletest.File(set, "../plimsoll-alerts.yaml")
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, "promtool")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, ruletest.Name), tests, 0o644)
}
