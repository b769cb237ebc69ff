package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/require"
)

func TestABuildWithoutDashboardsLinksNoGrafanaAndPlaysTheDemo(t *testing.T) {
	const tags = "-tags=nodashboards"
	t.Setenv("GOWORK", "off")
	toolchain := require.Tool(t, "go")
	if out, err := exec.CommandContext(t.Context(), toolchain, "list", "-deps", tags, ".").CombinedOutput(); err != nil || strings.Contains(string(out), "grafana") || !strings.Contains(string(out), "/internal/story") {
		t.Errorf("%v: it links\n%s", err, out)
	}
	program := filepath.Join(t.TempDir(), "plimsoll.exe")
	if out, err := exec.CommandContext(t.Context(), toolchain, "build", tags, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := runIt(t.Context(), "demo", "--help").stdout
	if out, err := exec.CommandContext(t.Context(), program, "demo", "--help").Output(); err != nil || string(out) != whole {
		t.Errorf("%v: the demo differs:\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program, "dashboards").CombinedOutput(); err == nil || !strings.Contains(string(out), `no command "dashboards": use one of get, demo, completion, help, version`) {
		t.Errorf("%v: %s", err, out)
	}
}
