package dashboards_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

// adapted sets every option, with characters that need care.
func adapted() dashboards.Options {
	return dashboards.Options{
		Datasource:     "PBFA97CFB590B2093",
		TitlePrefix:    "Öst: $EU ",
		Labels:         map[string]string{"cluster": `eu "1" \a`, "env": "prod"},
		GroupBy:        []string{"region"},
		AlertLabels:    map[string]string{"team": "payments: $core", "env": "ignored"},
		Severities:     map[string]dashboards.Severity{dashboards.Escapes: dashboards.Info},
		RunbookURL:     "https://wiki.example/runbooks/",
		PrometheusURL:  "http://127.0.0.1:9091",
		DashboardPath:  "/srv/dashboards",
		ScrapeInterval: 30 * time.Second,
		Capacity:       1000,
		Thresholds:     dashboards.Thresholds{BudgetLow: 0.1, DrainFast: 10 * time.Minute},
	}
}

func TestABadOptionIsNamedWithItsValue(t *testing.T) {
	label := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, tt := range []struct {
		o    dashboards.Options
		want []string
	}{
		{dashboards.Options{Datasource: "my source"}, []string{"Datasource", `"my source"`}},
		{dashboards.Options{Datasource: strings.Repeat("a", 41)}, []string{"Datasource"}},
		{dashboards.Options{TitlePrefix: "a/b"}, []string{"TitlePrefix", `"a/b"`}},
		{dashboards.Options{TitlePrefix: "a\nb"}, []string{"TitlePrefix"}},
		{dashboards.Options{Labels: label("my-label", "a")}, []string{"Labels", `"my-label"`}},
		{dashboards.Options{Labels: label("__name__", "a")}, []string{"Labels", `"__name__"`}},
		{dashboards.Options{Labels: label("server_port", "a")}, []string{"Labels", `"server_port"`}},
		{dashboards.Options{Labels: label("cluster", "")}, []string{"Labels", `"cluster"`}},
		{dashboards.Options{AlertLabels: label("severity", "page")}, []string{"AlertLabels", `"severity"`}},
		{dashboards.Options{GroupBy: []string{"a b"}}, []string{"GroupBy", `"a b"`}},
		{dashboards.Options{Severities: map[string]dashboards.Severity{"Escapes": "info"}}, []string{"Severities", `"Escapes"`, "PlimsollEscapes"}},
		{dashboards.Options{Severities: map[string]dashboards.Severity{dashboards.Escapes: "page"}}, []string{"Severities", `"page"`}},
		{dashboards.Options{RunbookURL: "runbooks"}, []string{"RunbookURL", `"runbooks"`}},
		{dashboards.Options{PrometheusURL: "ftp://a"}, []string{"PrometheusURL", `"ftp://a"`}},
		{dashboards.Options{DashboardPath: "dashboards"}, []string{"DashboardPath", `"dashboards"`}},
		{dashboards.Options{ScrapeInterval: 100 * time.Millisecond}, []string{"ScrapeInterval", "100ms"}},
		{dashboards.Options{ScrapeInterval: 2 * time.Minute}, []string{"ScrapeInterval", "2m"}},
		{dashboards.Options{ScrapeInterval: -time.Second}, []string{"ScrapeInterval", "-1s"}},
		{dashboards.Options{Capacity: -1}, []string{"Capacity", "-1"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{BudgetLow: 20}}, []string{"BudgetLow", "20"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{DrainBelow: math.NaN()}}, []string{"DrainBelow", "NaN"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{EscapeShare: -0.1}}, []string{"EscapeShare", "-0.1"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{DrainFast: -time.Hour}}, []string{"DrainFast"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{Openings: -1}}, []string{"Openings", "-1"}},
		{dashboards.Options{Thresholds: dashboards.Thresholds{Waiting: math.NaN()}}, []string{"Waiting", "NaN"}},
	} {
		_, err := dashboards.New(tt.o)
		if err == nil {
			t.Errorf("%v is taken", tt.want)
			continue
		}
		for _, want := range append(tt.want, "dashboards: ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error %q has no %s", err, want)
			}
		}
		for name, f := range map[string]func(string, dashboards.Options) error{
			"Write": dashboards.Write, "WriteRules": dashboards.WriteRules, "Check": dashboards.Check, "CheckRules": dashboards.CheckRules,
		} {
			if got := f(t.TempDir(), tt.o); got == nil || got.Error() != err.Error() {
				t.Errorf("%s says %v, New says %v", name, got, err)
			}
		}
	}
}

func TestAnErrorNeverHoldsAPassword(t *testing.T) {
	for _, u := range []string{"http://user:hunter2@prometheus:9090", "http://user:hunter2@:x:\x00"} {
		_, err := dashboards.New(dashboards.Options{PrometheusURL: u})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestLabelsAreInEveryQueryAndOnEveryAlert(t *testing.T) {
	set := standard(t, adapted())
	const selected = `{cluster="eu \"1\" \\a",env="prod"`
	all := func(where, expr string) {
		if n, m := strings.Count(expr, "plimsoll_")+strings.Count(expr, "http_client_"), strings.Count(expr, selected); m == 0 || strings.Count(expr, "{") != m {
			t.Errorf("%s: %d names, %d selectors with the labels: %s", where, n, m, expr)
		}
	}
	for _, b := range boards(t, set) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all(b.Title+", "+p.Title, q.Expr)
			}
		}
	}
	for _, a := range alerts(set) {
		all(a.Name, a.Expr.String())
		for _, label := range []string{"job", "region"} {
			if !slices.Contains(a.Expr.Labels(), label) {
				t.Errorf("%s has no label %s: %q", a.Name, label, a.Expr.Labels())
			}
		}
	}
	files := ruleFiles(t, set)
	rules := file(t, files, "st-eu-plimsoll-alerts.yaml")
	for want, n := range map[string]int{
		`cluster: 'eu "1" \a'`: 10, "env: prod": 10, "team: 'payments: $core'": 10, "env: ignored": 0, "severity: info": 1,
		"runbook_url: https://wiki.example/runbooks/escapes.md": 1, "interval: 30s": 4,
		"[2m]": 2, // 4 scrapes
		"[6m]": 1, // 12 scrapes
		"[4m]": 3, // 8 scrapes
	} {
		if got := strings.Count(rules, want); got != n {
			t.Errorf("the rule file has %q %d times, want %d", want, got, n)
		}
	}
	if grafana := file(t, files, "provisioning/alerting/st-eu-plimsoll.yaml"); !strings.Contains(grafana, "team: 'payments: $$core'") || !strings.Contains(grafana, "folder: 'Öst: $$EU plimsoll'") {
		t.Error("Grafana would take a dollar sign for an environment variable")
	}
	if recordings := file(t, files, "st-eu-plimsoll-recordings.yaml"); strings.Count(recordings, "env: prod") != 8 {
		t.Error("a recording rule has no labels")
	}
}

func TestTheDatasourceIsPreselectedAndProvisioned(t *testing.T) {
	set := standard(t, adapted())
	for _, b := range boards(t, set) {
		if got := b.Templating.List[0]; got.Name != "datasource" || got.Type != "datasource" || got.Query != "prometheus" || got.Current.Value != "PBFA97CFB590B2093" {
			t.Errorf("%s: %+v", b.Title, got)
		}
	}
	files, err := set.DashboardFiles()
	if err != nil {
		t.Fatal(err)
	}
	provisioned := file(t, files, "provisioning/datasources/st-eu-plimsoll.yaml")
	for _, want := range []string{"uid: PBFA97CFB590B2093", "url: http://127.0.0.1:9091", "timeInterval: 30s"} {
		if !strings.Contains(provisioned, want) {
			t.Errorf("no %q in\n%s", want, provisioned)
		}
	}
	if grafana := file(t, ruleFiles(t, set), "provisioning/alerting/st-eu-plimsoll.yaml"); strings.Count(grafana, "datasourceUid: PBFA97CFB590B2093") != 10 {
		t.Error("an alert of Grafana reads from elsewhere")
	}
}

func TestSetsWithDifferentPrefixesLiveSideBySide(t *testing.T) {
	names, uids := map[string]string{}, map[string]string{}
	for _, prefix := range []string{"", "EU ", "US ", "日本 ", "東京 ", "A very long prefix that no UID has room for ", "A very long prefix that no UID has room for either "} {
		set := standard(t, dashboards.Options{TitlePrefix: prefix})
		files, err := set.DashboardFiles()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(files, ruleFiles(t, set)...) {
			if other, ok := names[f.Name]; ok {
				t.Errorf("%q and %q both have the file %s", other, prefix, f.Name)
			}
			names[f.Name] = prefix
		}
		for _, b := range boards(t, set) {
			if _, ok := uids[b.UID]; ok || len(b.UID) > 40 || !strings.HasPrefix(b.Title, prefix) {
				t.Errorf("%q: dashboard %q has the UID %q", prefix, b.Title, b.UID)
			}
			uids[b.UID] = prefix
		}
	}
}

func TestTheDefaultsAreFilledIn(t *testing.T) {
	zero := standard(t, dashboards.Options{})
	again := standard(t, zero.Options())
	a, err := json.Marshal(boards(t, zero))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(boards(t, again)); err != nil || string(a) == "null" || zero.Options().Capacity != 500 {
		t.Fatalf("%v, %+v", err, zero.Options())
	} else if string(a) != string(b) {
		t.Error("the zero options and their defaults give different dashboards")
	}
}
