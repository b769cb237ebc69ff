package dashboards_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/internal/ruletest"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

func alerts(set *dashboards.Set) []dashboards.Alert {
	var out []dashboards.Alert
	for _, g := range set.Groups {
		out = append(out, g.Alerts...)
	}
	return out
}

func TestTheStandardAlertsAreTen(t *testing.T) {
	var got []string
	for _, a := range alerts(standard(t, dashboards.Options{})) {
		got = append(got, a.Name)
	}
	want := []string{
		dashboards.BudgetDraining, dashboards.BudgetLow, dashboards.RetriesDenied, dashboards.Escapes, dashboards.DeadlineSkips,
		dashboards.BreakerOpen, dashboards.BreakerFlapping, dashboards.RecoveryStorm, dashboards.PoolSaturated, dashboards.Throttled,
	}
	if !slices.Equal(got, want) {
		t.Errorf("alerts %q, want %q", got, want)
	}
}

func TestEveryAlertIsInBothKindsOfFiles(t *testing.T) {
	set := standard(t, dashboards.Options{})
	files := ruleFiles(t, set)
	rules, grafana := file(t, files, "plimsoll-alerts.yaml"), file(t, files, "provisioning/alerting/plimsoll.yaml")
	for _, a := range alerts(set) {
		for _, want := range []string{"alert: " + a.Name, a.Runbook + ".md"} {
			if !strings.Contains(rules, want) {
				t.Errorf("%s: the rule file has no %q", a.Name, want)
			}
		}
		for _, want := range []string{"title: " + a.Name, a.Runbook + ".md", "dashboardUid: " + a.Board} {
			if !strings.Contains(grafana, want) {
				t.Errorf("%s: Grafana's file has no %q", a.Name, want)
			}
		}
	}
	if strings.Contains(grafana, "panelId: 0") {
		t.Error("an alert points to no panel")
	}
	if strings.Contains(grafana, "{{ $value") || strings.Contains(grafana, "$value }}") {
		t.Error("Grafana's $value is no number: its name there is $values.A.Value")
	}
}

func TestDeniedLooksAtTheBucketAlone(t *testing.T) {
	expr := standard(t, dashboards.Options{}).Alert(dashboards.RetriesDenied).Expr.String()
	if !strings.Contains(expr, `plimsoll_skip_reason="bucket"`) {
		t.Error(expr)
	}
}

// promtool runs in dir and fails the test with what it says.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), require.Tool(t, "promtool"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	promtool(t, "generated", "check", "rules", "plimsoll-alerts.yaml", "plimsoll-recordings.yaml")
	dir := t.TempDir()
	if err := dashboards.WriteRules(dir, adapted()); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) != 2 {
		t.Fatalf("rule files %q, %v", names, err)
	}
	promtool(t, dir, append([]string{"check", "rules"}, names...)...)
}

func TestPromtoolSeesTheAlertsFireWhereTheyMust(t *testing.T) {
	promtool(t, "generated/promtool", "test", "rules", ruletest.Name)
}

func TestEveryAlertIsTestedBothWays(t *testing.T) {
	set := standard(t, dashboards.Options{})
	data, err := ruletest.File(set, "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts(set) {
		_, after, _ := strings.Cut(string(data), `alertname="`+a.Name+`"`)
		fires, quiet := false, false
		for after != "" {
			var check string
			check, after, _ = strings.Cut(after, `alertname="`+a.Name+`"`)
			check, _, _ = strings.Cut(check, "expr:")
			fires = fires || strings.Contains(check, "value: 1")
			quiet = quiet || strings.Contains(check, "exp_samples: []")
		}
		if !fires || !quiet {
			t.Errorf("%s: tested to fire: %v, to be quiet: %v", a.Name, fires, quiet)
		}
	}
}

func TestTheCommittedFilesAreWhatTheSetGives(t *testing.T) {
	set := standard(t, dashboards.Options{})
	if err := set.Check("generated"); err != nil {
		t.Errorf("%v (go generate ./dashboards)", err)
	}
	if err := set.CheckRules("generated"); err != nil {
		t.Errorf("%v (go generate ./dashboards)", err)
	}
	want, err := ruletest.File(set, "../plimsoll-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join("generated/promtool", ruletest.Name)); err != nil || string(got) != string(want) {
		t.Errorf("the tests of the rules are not up to date (go generate ./dashboards): %v", err)
	}
}
