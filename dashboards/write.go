package dashboards

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write writes the standard dashboards into dir, with the files by which
// Grafana provisions them: see [Set.Write].
func Write(dir string, o Options) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.Write(dir)
}

// WriteRules writes the standard rules into dir: see [Set.WriteRules].
func WriteRules(dir string, o Options) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.WriteRules(dir)
}

// Check reports whether dir holds what [Write] would write: see [Set.Check].
func Check(dir string, o Options) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.Check(dir)
}

// CheckRules reports whether dir holds what [WriteRules] would write: see
// [Set.CheckRules].
func CheckRules(dir string, o Options) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.CheckRules(dir)
}

// Write writes the files of [Set.DashboardFiles] into dir, which it creates.
// Nothing is written before everything is rendered; each file is written
// beside its place and then renamed, so that a reader sees the old or the new
// one. Other files in dir stay.
func (s *Set) Write(dir string) error {
	files, err := s.DashboardFiles()
	if err != nil {
		return err
	}
	return writeFiles(dir, files)
}

// WriteRules writes the files of [Set.RuleFiles] into dir as [Set.Write] does.
func (s *Set) WriteRules(dir string) error {
	files, err := s.RuleFiles()
	if err != nil {
		return err
	}
	return writeFiles(dir, files)
}

// Check returns a [*DriftError] if dir does not hold what [Set.Write] would
// write now. Other files in dir are not looked at.
func (s *Set) Check(dir string) error {
	files, err := s.DashboardFiles()
	if err != nil {
		return err
	}
	return checkFiles(dir, files)
}

// CheckRules returns a [*DriftError] if dir does not hold what
// [Set.WriteRules] would write now.
func (s *Set) CheckRules(dir string) error {
	files, err := s.RuleFiles()
	if err != nil {
		return err
	}
	return checkFiles(dir, files)
}

// DriftError says which files of a folder are not what would be written.
type DriftError struct {
	Dir     string   // the folder that was compared
	Missing []string // names of files that are not there
	Changed []string // names of files with other contents
}

// Error names the files.
func (e *DriftError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(e.Missing, ", "))
	}
	if len(e.Changed) > 0 {
		parts = append(parts, "different: "+strings.Join(e.Changed, ", "))
	}
	return fmt.Sprintf("dashboards: %s is not up to date (%s): write it anew with the same options", e.Dir, strings.Join(parts, "; "))
}

func checkFiles(dir string, files []File) error {
	drift := &DriftError{Dir: dir}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			drift.Missing = append(drift.Missing, f.Name)
		case err != nil:
			return fmt.Errorf("dashboards: check: %w", err)
		case !bytes.Equal(got, f.Data):
			drift.Changed = append(drift.Changed, f.Name)
		}
	}
	if drift.Missing != nil || drift.Changed != nil {
		return drift
	}
	return nil
}

// writeFiles writes all files beside their places before it renames the first
// one: a full disk leaves the old files.
func writeFiles(dir string, files []File) (err error) {
	if dir == "" {
		return errors.New("dashboards: the folder to write to is empty: give one, such as ./grafana")
	}
	written := map[string]string{} // from what is beside a place to the place
	defer func() {
		if err != nil {
			err = fmt.Errorf("dashboards: write: %w", err)
		}
		for beside := range written {
			os.Remove(beside) // fails for what was renamed
		}
	}()
	var order []string
	for _, f := range files {
		place := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(place), 0o777); err != nil {
			return err
		}
		beside, err := writeBeside(place, f.Data)
		if beside != "" {
			written[beside] = place
			order = append(order, beside)
		}
		if err != nil {
			return err
		}
	}
	for _, beside := range order {
		if err := os.Rename(beside, written[beside]); err != nil {
			return err
		}
		delete(written, beside)
	}
	return nil
}

// writeBeside writes data to a new file in the folder of place and returns its
// name, even if writing failed.
func writeBeside(place string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644) // Grafana and Prometheus run as other users
	}
	if err == nil {
		err = f.Sync()
	}
	return f.Name(), errors.Join(err, f.Close())
}
