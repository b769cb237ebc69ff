package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDashboardsAndRulesAreWrittenAndChecked(t *testing.T) {
	for _, name := range []string{"dashboards", "rules"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "folder")
			ctx := context.Background()
			options := []string{"-datasource", "mimir", "-title-prefix", "Shop ", "-label", "cluster=eu-1", "-label", "team=web"}
			if got := runIt(ctx, append([]string{name, "-out", dir}, options...)...); got.status != exitOK || !strings.Contains(got.stdout, dir) {
				t.Fatalf("%+v", got)
			}
			var all strings.Builder
			var first string
			err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
				if err != nil || info.IsDir() {
					return err
				}
				first = path
				data, err := os.ReadFile(path)
				all.Write(data)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"mimir", "Shop ", "cluster", "eu-1", "plimsoll_retry_budget_tokens"} {
				if !strings.Contains(all.String(), want) {
					t.Errorf("%q is in no file", want)
				}
			}
			if got := runIt(ctx, append([]string{name, "-check", dir}, options...)...); got.status != exitOK {
				t.Errorf("current: %+v", got)
			}
			if got := runIt(ctx, name, "-check", dir); got.status != exitFailed || !strings.Contains(got.stderr, "not up to date") {
				t.Errorf("other options: %+v", got)
			}
			if err := os.WriteFile(first, []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := runIt(ctx, append([]string{name, "-check", dir}, options...)...); got.status != exitFailed || !strings.Contains(got.stderr, filepath.Base(first)) {
				t.Errorf("a changed file: %+v", got)
			}
		})
	}
}

func TestBadOptionsOfDashboardsAndRulesLeaveNothing(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dashboards", "rules"} {
		for _, row := range []struct {
			args []string
			says string
		}{
			{nil, "give one of them"},
			{[]string{"-out", parent + "/x", "-check", parent + "/x"}, "give one of them"},
			{[]string{"-out", parent + "/x", "-label", "cluster"}, "use key=value"},
			{[]string{"-out", parent + "/x", "-label", "a=b", "-label", "a=c"}, "given twice"},
			{[]string{"-out", parent + "/x", "-label", "no such=b"}, "no such"},
			{[]string{"-out", parent + "/x", "-capacity", "-5"}, "-5"},
			{[]string{"-out", parent + "/x", "-colour"}, "no flag --colour"},
			{[]string{"-out", parent + "/x", "more"}, "1 argument given, at most 0 taken"},
			{[]string{"-out", filepath.Join(file, "below")}, "not a directory"},
		} {
			got := runIt(context.Background(), append([]string{name}, row.args...)...)
			if got.status != exitUsage || !strings.Contains(got.stderr, row.says) {
				t.Errorf("%s %v: %+v", name, row.args, got)
			}
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
