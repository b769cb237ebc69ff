package proof

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/plimsoll-http/plimsoll/dashboards/generated"
)

// expression is one PromQL expression of a committed file.
type expression struct {
	where string
	text  string // as it is written
	query string // with Grafana's variables filled in: everything is chosen
	panel bool
}

// expressions returns every expression of every embedded file.
func expressions(t *testing.T) []expression {
	t.Helper()
	var out []expression
	err := fs.WalkDir(generated.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := generated.FS.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(path, ".json"):
			out = append(out, ofDashboard(t, path, data)...)
		case strings.HasPrefix(path, "provisioning/alerting/"):
			out = append(out, ofGrafana(t, path, data)...)
		case !strings.Contains(path, "/"):
			out = append(out, ofRules(t, path, data)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everything stands for what a dashboard's variables are when nothing is
// narrowed, and for Grafana's own.
var everything = strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$client", ".*", "$origin", ".*")

var labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`)

func ofDashboard(t *testing.T, path string, data []byte) []expression {
	t.Helper()
	var board struct {
		Title      string
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var out []expression
	add := func(where, text string, panel bool) {
		out = append(out, expression{board.Title + ", " + where, text, everything.Replace(text), panel})
	}
	for _, v := range board.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Query)
		if m == nil {
			t.Errorf("%s: variable %s: %q", board.Title, v.Name, v.Query)
			continue
		}
		add("variable "+v.Name, "count by ("+m[2]+") ("+m[1]+")", false)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			add(p.Title+", "+q.RefID, q.Expr, true)
		}
	}
	return out
}

func ofRules(t *testing.T, path string, data []byte) []expression {
	t.Helper()
	groups, errs := rulefmt.Parse(data, false, model.LegacyValidation, Parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatalf("%s: %v", path, errs)
	}
	var out []expression
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			out = append(out, expression{path + ", " + r.Alert + r.Record, r.Expr, r.Expr, false})
		}
	}
	return out
}

// provisioned is Grafana's file of alerts, version 1: decoding is strict.
type provisioned struct {
	APIVersion int `yaml:"apiVersion"`
	Groups     []struct {
		OrgID                  int `yaml:"orgId"`
		Name, Folder, Interval string
		Rules                  []struct {
			UID, Title, Condition string
			Data                  []struct {
				RefID             string                 `yaml:"refId"`
				DatasourceUID     string                 `yaml:"datasourceUid"`
				RelativeTimeRange struct{ From, To int } `yaml:"relativeTimeRange"`
				Model             struct {
					RefID                  string `yaml:"refId"`
					Expr, Type, Expression string
					Instant, Range         bool
				}
			}
			NoDataState         string `yaml:"noDataState"`
			ExecErrState        string `yaml:"execErrState"`
			For                 string
			Labels, Annotations map[string]string
			DashboardUID        string `yaml:"dashboardUid"`
			PanelID             int    `yaml:"panelId"`
		}
	}
}

func ofGrafana(t *testing.T, path string, data []byte) []expression {
	t.Helper()
	var file provisioned
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if file.APIVersion != 1 {
		t.Errorf("%s: version %d", path, file.APIVersion)
	}
	var out []expression
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if len(r.Data) != 2 || r.Condition != "B" || r.Data[1].DatasourceUID != "__expr__" || r.Data[1].Model.Expression != "is_number($A)" {
				t.Errorf("%s: %s: %+v", path, r.Title, r)
				continue
			}
			out = append(out, expression{path + ", " + r.Title, r.Data[0].Model.Expr, r.Data[0].Model.Expr, false})
		}
	}
	return out
}

// Grafana's alerts are the same expressions, labels and times as Prometheus's.
func TestGrafanaAndPrometheusEvaluateTheSame(t *testing.T) {
	data, err := generated.FS.ReadFile("plimsoll-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(data, false, model.LegacyValidation, Parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	data, err = generated.FS.ReadFile("provisioning/alerting/plimsoll.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file provisioned
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != len(groups.Groups) || len(file.Groups) == 0 {
		t.Fatalf("%d groups, want %d", len(file.Groups), len(groups.Groups))
	}
	for i, want := range groups.Groups {
		for j, rule := range want.Rules {
			got := file.Groups[i].Rules[j]
			pending, err := model.ParseDuration(got.For)
			if err != nil || got.Title != rule.Alert || got.Data[0].Model.Expr != rule.Expr || pending != rule.For || got.Labels["severity"] != rule.Labels["severity"] {
				t.Errorf("%s: Grafana has %+v", rule.Alert, got)
			}
		}
	}
}

// recordings returns the names of the recorded series.
func recordings(t *testing.T) []string {
	t.Helper()
	data, err := generated.FS.ReadFile("plimsoll-recordings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(data, false, model.LegacyValidation, Parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var out []string
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			out = append(out, r.Record)
		}
	}
	return out
}
