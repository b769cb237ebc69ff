package dashboards_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

// tree returns the names and contents of all files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWritingTwiceGivesTheSameBytes(t *testing.T) {
	for _, o := range []dashboards.Options{{}, adapted()} {
		var trees []map[string]string
		for range 2 {
			dir := filepath.Join(t.TempDir(), "not", "there", "yet")
			if err := errors.Join(dashboards.Write(dir, o), dashboards.WriteRules(dir, o)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(dashboards.Check(dir, o), dashboards.CheckRules(dir, o)); err != nil {
				t.Errorf("what was written is not up to date: %v", err)
			}
			trees = append(trees, tree(t, dir))
		}
		if len(trees[0]) != 10 {
			t.Errorf("%d files were written, want 10", len(trees[0]))
		}
		for name, data := range trees[0] {
			if trees[1][name] != data {
				t.Errorf("%s differs", name)
			}
			if !strings.HasSuffix(data, "\n") {
				t.Errorf("%s doesn't end with a line break", name)
			}
		}
	}
}

func TestCheckNamesWhatIsMissingAndWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	if err := dashboards.Write(dir, dashboards.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := dashboards.Check(dir, dashboards.Options{}); err != nil {
		t.Errorf("a file of the user's own is in the way: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "plimsoll-breaker.json")); err != nil {
		t.Fatal(err)
	}
	overview := filepath.Join(dir, "plimsoll-overview.json")
	data, err := os.ReadFile(overview)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overview, bytes.Replace(data, []byte("Overview"), []byte("Overlook"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	var drift *dashboards.DriftError
	err = dashboards.Check(dir, dashboards.Options{})
	if !errors.As(err, &drift) || !slices.Equal(drift.Missing, []string{"plimsoll-breaker.json"}) || !slices.Equal(drift.Changed, []string{"plimsoll-overview.json"}) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{dir, "missing: plimsoll-breaker.json", "different: plimsoll-overview.json"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q has no %q", err, want)
		}
	}
	if err := dashboards.CheckRules(dir, dashboards.Options{}); !errors.As(err, &drift) || len(drift.Missing) != 3 {
		t.Errorf("without rules: %v", err)
	}
}

func TestNothingIsHalfWritten(t *testing.T) {
	dir := t.TempDir()
	if err := dashboards.Write(dir, dashboards.Options{}); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	// The folder of the last file cannot be made: a file has its name.
	if err := os.RemoveAll(filepath.Join(dir, "provisioning", "datasources")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "provisioning", "datasources"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	delete(before, "provisioning/datasources/plimsoll.yaml")
	before["provisioning/datasources"] = ""
	err := dashboards.Write(dir, dashboards.Options{Capacity: 7})
	if err == nil || !strings.HasPrefix(err.Error(), "dashboards: ") {
		t.Fatalf("writing below a file: %v", err)
	}
	after := tree(t, dir)
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s was left behind", name)
		}
	}
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s was changed", name)
		}
	}
	if err := dashboards.Write("", dashboards.Options{}); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("writing nowhere: %v", err)
	}
}

func TestWrittenFilesCanBeReadByOthers(t *testing.T) {
	dir := t.TempDir()
	if err := dashboards.WriteRules(dir, dashboards.Options{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "plimsoll-alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if os.PathSeparator == '/' && info.Mode().Perm() != 0o644 {
		t.Errorf("its mode is %v", info.Mode())
	}
}
