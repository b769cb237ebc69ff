// Package require lets a test ask for a tool of the machine. A test whose tool
// is missing skips with one visible line; with PLIMSOLL_REQUIRE_ALL=1, as in
// continuous integration, the same test fails instead, so that a missing
// install step cannot hide behind a green run.
package require

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// All reports whether every optional part must run (PLIMSOLL_REQUIRE_ALL=1).
func All() bool { return os.Getenv("PLIMSOLL_REQUIRE_ALL") == "1" }

// Tool returns the path of the first of the named programs that is on PATH.
// If none is, the test skips, or fails when [All] reports true.
func Tool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "none of "+strings.Join(names, ", ")+" is on PATH; install one to run this test")
	return ""
}

// Missing skips the test because of reason, or fails it when [All] reports
// true.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if All() {
		t.Fatal("required part is missing: " + reason)
	}
	t.Skip("SKIPPED PART: " + reason)
}
