package dashboards

import (
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
)

// Severity is how urgent an alert is; it becomes the label severity.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // callers see failures, or will within minutes: page
	Warning  Severity = "warning"  // somebody should look today
	Info     Severity = "info"     // worth knowing
)

func (s Severity) valid() bool { return s == Critical || s == Warning || s == Info }

// Group is a group of rules that are evaluated one after the other, every
// Options.ScrapeInterval.
type Group struct {
	Name       string      // unique in the set
	Recordings []Recording // evaluated before the alerts
	Alerts     []Alert     // in the order of their evaluation
}

// Recording is a recording rule. Name follows Prometheus's convention
// level:metric:operation.
type Recording struct {
	Name string      // of the series that is recorded
	Expr promql.Expr // over Set.Rules
}

// Alert is an alerting rule. Every field is required but For.
type Alert struct {
	Name     string   // in CamelCase, unique in the set
	Severity Severity // the label severity, unless Options.Severities says otherwise
	// Expr gives one series, and so one alert, per origin or partition that
	// is in trouble, and none when all is well. Its value is $value.
	Expr promql.Expr
	// For is how long Expr must hold; 0: not longer than one evaluation.
	For time.Duration
	// Summary is one line, Description says what it means and what happens
	// next. Both may hold $client, $origin and $value.
	Summary, Description string
	// Format is how $value is shown; "": as a whole number.
	Format Format
	// Runbook is the page about it: a file of the runbooks' folder without
	// ".md".
	Runbook string
	// Board and Panel are the UID of the dashboard, without a title prefix,
	// and the title of the panel that show it.
	Board, Panel string
}

// Format is how an alert's value is shown.
type Format string

// The formats of values.
const (
	Whole   Format = "whole"   // 12
	Decimal Format = "decimal" // 0.53
	Share   Format = "share"   // 0.12 as 12%
)

// The texts of an alert in the two template languages: they differ in the name
// of the value.
const (
	prometheusValue = "$value"
	grafanaValue    = "$values.A.Value"
)

// text returns a summary or description as a template in which value is the
// expression's value.
func (a Alert) text(s, value string) string {
	shown := `{{ printf "%.0f" ` + value + ` }}`
	switch a.Format {
	case Decimal:
		shown = `{{ printf "%.2f" ` + value + ` }}`
	case Share:
		shown = `{{ humanizePercentage ` + value + ` }}`
	}
	return strings.NewReplacer(
		"$value", shown,
		"$client", `{{ $labels.plimsoll_client }}`,
		"$origin", `{{ $labels.server_address }}:{{ $labels.server_port }}{{ with $labels.plimsoll_partition }} ({{ . }}){{ end }}`,
	).Replace(s)
}
