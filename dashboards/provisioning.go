package dashboards

import (
	"cmp"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards/internal/yaml"
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
)

// datasourceUID is the UID that provisioned files agree on.
func (o Options) datasourceUID() string { return cmp.Or(o.Datasource, "prometheus") }

// folder is Grafana's folder for the dashboards and the rules.
func (o Options) folder() string { return literally(o.TitlePrefix + "plimsoll") }

// provisionedDatasource is Grafana's file for the Prometheus data source.
func provisionedDatasource(o Options) []byte {
	return yaml.Document(generatedBy, yaml.Mapping{
		{"apiVersion", 1},
		{"datasources", yaml.Sequence{yaml.Mapping{
			{"name", literally(o.TitlePrefix + "Prometheus")},
			{"uid", o.datasourceUID()},
			{"type", "prometheus"},
			{"access", "proxy"},
			{"url", literally(o.PrometheusURL)},
			{"isDefault", o.TitlePrefix == ""},
			{"editable", false},
			{"jsonData", yaml.Mapping{
				{"timeInterval", promql.Duration(o.ScrapeInterval)},
				{"httpMethod", "POST"},
				{"manageAlerts", true},
			}},
		}}},
	})
}

// provisionedDashboards is Grafana's file that makes it load the dashboards.
func provisionedDashboards(o Options) []byte {
	return yaml.Document(generatedBy, yaml.Mapping{
		{"apiVersion", 1},
		{"providers", yaml.Sequence{yaml.Mapping{
			{"name", o.folder()},
			{"orgId", 1},
			{"folder", o.folder()},
			{"type", "file"},
			{"disableDeletion", false},
			{"allowUiUpdates", false},
			{"updateIntervalSeconds", 30},
			{"options", yaml.Mapping{{"path", literally(o.DashboardPath)}}},
		}}},
	})
}

// provisionedAlerts is Grafana's file with the alerts, for those who let
// Grafana evaluate instead of Prometheus. boards tell the panels' ids.
func provisionedAlerts(o Options, groups []Group, boards []Board) []byte {
	var out yaml.Sequence
	for _, g := range groups {
		var rules yaml.Sequence
		for _, a := range g.Alerts {
			rules = append(rules, a.grafana(o, boards))
		}
		if rules != nil {
			out = append(out, yaml.Mapping{
				{"orgId", 1},
				{"name", literally(o.TitlePrefix + g.Name)},
				{"folder", o.folder()},
				{"interval", promql.Duration(o.grafanaInterval())},
				{"rules", rules},
			})
		}
	}
	return yaml.Document(generatedBy, yaml.Mapping{{"apiVersion", 1}, {"groups", out}})
}

// grafanaInterval is how often Grafana evaluates: its scheduler wakes up every
// 10 s, and an interval has to be a multiple of that.
func (o Options) grafanaInterval() time.Duration {
	const tick = 10 * time.Second
	if over := o.ScrapeInterval % tick; over > 0 {
		return o.ScrapeInterval + tick - over
	}
	return o.ScrapeInterval
}

// grafana returns the alert as a rule of Grafana: query A, and condition B,
// which is true for every series that A returns, since the expression returns
// those in trouble alone. No series means that all is well.
func (a Alert) grafana(o Options, boards []Board) yaml.Mapping {
	window := yaml.Mapping{{"from", 600}, {"to", 0}}
	annotations := yaml.Mapping{
		{"summary", a.text(a.Summary, grafanaValue)},
		{"description", a.text(a.Description, grafanaValue)},
		{"runbook_url", o.runbook(a.Runbook)},
	}
	set := yaml.Mapping{{"severity", string(a.Severity)}}
	for _, e := range yaml.Sorted(o.alertLabels()) {
		set = append(set, yaml.Entry{e.Key, literally(e.Value.(string))})
	}
	rule := yaml.Mapping{
		{"uid", o.uid(slugOf(a.Name))},
		{"title", literally(o.TitlePrefix + a.Name)},
		{"condition", "B"},
		{"data", yaml.Sequence{
			yaml.Mapping{
				{"refId", "A"},
				{"relativeTimeRange", window},
				{"datasourceUid", o.datasourceUID()},
				{"model", yaml.Mapping{
					{"refId", "A"},
					{"expr", a.Expr.String()},
					{"instant", true},
					{"range", false},
				}},
			},
			yaml.Mapping{
				{"refId", "B"},
				{"relativeTimeRange", window},
				{"datasourceUid", "__expr__"},
				{"model", yaml.Mapping{
					{"refId", "B"},
					{"type", "math"},
					{"expression", "is_number($A)"},
				}},
			},
		}},
		{"noDataState", "OK"},
		{"execErrState", "Error"},
		{"for", grafanaFor(a.For)},
		{"labels", set},
		{"annotations", annotations},
	}
	for _, b := range boards {
		if b.UID == a.Board {
			rule = append(rule, yaml.Entry{"dashboardUid", o.uid(b.UID)}, yaml.Entry{"panelId", b.panel(a.Panel)})
		}
	}
	return rule
}

// literally keeps Grafana from looking for environment variables in a value of
// a provisioning file. It does not look into queries and, but for ${NAME},
// annotations.
func literally(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// grafanaFor writes a pending period; Grafana wants one even if it is zero.
func grafanaFor(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	return promql.Duration(d)
}
