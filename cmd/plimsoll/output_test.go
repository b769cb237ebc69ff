package main

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// only fails unless the directory holds exactly the named files.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	var got []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %v, want %v", dir, got, names)
	}
}

func TestABigBodyArrivesWholeInItsFile(t *testing.T) {
	const size = 8 << 20
	s := faultserver.Start(t, faultserver.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(faultserver.Pattern(size)) })})
	dir := t.TempDir()
	got := runIt(t.Context(), "get", "-o", filepath.Join(dir, "big"), s.URL())
	data, err := os.ReadFile(filepath.Join(dir, "big"))
	if err != nil || got.status != exitOK || got.stdout != "" || sha256.Sum256(data) != sha256.Sum256(faultserver.Pattern(size)) {
		t.Errorf("%d bytes, %v, %+v", len(data), err, got)
	}
	inOrder(t, got.stderr, "200 OK", "8388608 bytes")
	only(t, dir, "big")
}

func TestAFailedDownloadLeavesWhatWasThere(t *testing.T) {
	for _, row := range []struct {
		script faultserver.Script
		args   []string
		status int
		says   string
	}{
		{faultserver.KillInBody(1<<20, faultserver.FIN), nil, exitTransfer, "unexpected EOF"},
		{faultserver.Respond(404, "none"), nil, exitHTTP, "is left as it was"},
		{faultserver.Do(faultserver.Header{}, faultserver.Hang{}), []string{"--timeout", "100ms"}, exitTimeout, "--timeout"},
	} {
		for _, before := range []string{"", "old"} {
			s := faultserver.Start(t, faultserver.Config{})
			s.Next(row.script)
			dir := t.TempDir()
			file := filepath.Join(dir, "file")
			var left []string
			if before != "" {
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
				left = append(left, "file")
			}
			got := runIt(t.Context(), append([]string{"get", "-o", file, s.URL()}, row.args...)...)
			if got.status != row.status || !strings.Contains(got.stderr, row.says) {
				t.Errorf("%+v, want status %d and %q", got, row.status, row.says)
			}
			only(t, dir, left...)
			if data, _ := os.ReadFile(file); string(data) != before {
				t.Errorf("it holds %d bytes", len(data))
			}
		}
	}
}

func TestOutputReplacesAFileAndKeepsItsModeAndItsLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED PART: modes and links are those of Unix")
	}
	s := faultserver.Start(t, faultserver.Config{})
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("a longer text than the answer"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if got := runIt(t.Context(), "get", "-o", link, s.URL()); got.status != exitOK {
		t.Errorf("%+v", got)
	}
	info, err := os.Lstat(file)
	data, _ := os.ReadFile(link)
	if err != nil || info.Mode() != 0o640 || string(data) != "ok" {
		t.Errorf("%v, %v, %q", info.Mode(), err, data)
	}
	only(t, dir, "file", "link")
	s.Next(faultserver.Respond(404, "none"))
	if got := runIt(t.Context(), "get", "--fail=false", "-o", file, s.URL()); got.status != exitOK {
		t.Errorf("%+v", got)
	}
	if data, _ := os.ReadFile(file); string(data) != "none" {
		t.Errorf("--fail=false: %q", data)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if got := runIt(t.Context(), "get", "-o", filepath.Join(dir, "dangling"), s.URL()); got.status != exitWrite || !strings.Contains(got.stderr, "a link to what does not exist") {
		t.Errorf("a dangling link: %+v", got)
	}
	if got := runIt(t.Context(), "get", "-o", filepath.Join(dir, strings.Repeat("n", 250)), s.URL()); got.status != exitOK {
		t.Errorf("a long name: %+v", got)
	}
	if got := runIt(t.Context(), "get", "-o", os.DevNull, s.URL()); got.status != exitOK {
		t.Errorf("a device: %+v", got)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device was replaced: %v %v", info, err)
	}
}

func TestAnOutputThatCannotBeWrittenIsFoundBeforeAnythingIsSent(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	dir := t.TempDir()
	for path, says := range map[string]string{
		dir:                                  "a directory",
		filepath.Join(dir, "no", "such"):     "its directory takes no new file",
		filepath.Join(dir, "nul\x00"):        "--output",
		filepath.Join("get_test.go", "file"): "--output",
	} {
		if got := runIt(t.Context(), "get", "-o", path, s.URL()); got.status != exitWrite || !strings.Contains(got.stderr, says) {
			t.Errorf("%q: %+v", path, got)
		}
	}
	if n := s.Stats().Requests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// fullWriter takes no bytes.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAFailureToWriteIsNoneOfTheServers(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	for _, args := range [][]string{{"get", s.URL()}, {"get", "--json", s.URL()}, {"get", "-n", "5", s.URL()}} {
		var stderr bytes.Buffer
		status := run(t.Context(), args, streams{in: strings.NewReader(""), out: fullWriter{}, err: &stderr, env: func(string) string { return "" }})
		if status != exitWrite || !strings.Contains(stderr.String(), "short write") {
			t.Errorf("%v: status %d, %s", args, status, stderr.String())
		}
	}
	if n := s.Stats().Requests; n != 3 {
		t.Errorf("%d requests were sent, want one each", n)
	}
}

func TestATerminalIsSparedBinaryData(t *testing.T) {
	for _, row := range []struct {
		data   string
		binary bool
	}{
		{"text\n\ttabs \x1b[1mbold\x1b[0m", false}, {"äöü €", false}, {strings.Repeat("€", 400), false}, {"", false},
		{"\x00", true}, {"\x1f\x8b\x08", true}, {"\x89PNG\r\n\x1a\n", true}, {"caf\xe9 au lait", true},
	} {
		var out, warn bytes.Buffer
		s := &screenOutput{w: &out, warn: &warn}
		n, err := s.Write([]byte(row.data))
		if n != len(row.data) || err != nil || (out.Len() == 0 && row.data != "") != row.binary || (warn.Len() > 0) != row.binary {
			t.Errorf("%q: %d, %v, %q, %q", row.data, n, err, out.String(), warn.String())
		}
	}
}
