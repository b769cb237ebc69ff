package dashboards

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Options adapt the standard dashboards and rules. The zero value is the set
// that is committed in the folder generated.
type Options struct {
	// Datasource is the UID of Grafana's Prometheus data source: preselected
	// on the dashboards, used by Grafana's alert rules and given to the
	// provisioned data source; "": the default data source on dashboards,
	// "prometheus" elsewhere.
	Datasource string
	// TitlePrefix comes before every dashboard's title, alert group and
	// folder, and goes into the UIDs, so that sets with different prefixes
	// live side by side; "": none.
	TitlePrefix string
	// Labels are labels of the target, such as cluster: every query selects
	// on them, and every alert and recorded series carries them. nil: none.
	Labels map[string]string
	// GroupBy are labels of the target that the aggregations keep, so that
	// for example each region gets its own series and its own alert. nil: none.
	GroupBy []string
	// AlertLabels are attached to every alert for routing, such as team. nil:
	// none but severity.
	AlertLabels map[string]string
	// Severities overrides the severity of alerts, by name. nil: as they are.
	Severities map[string]Severity
	// RunbookURL is the folder of the runbooks, without the last slash;
	// "": the one in this project's repository.
	RunbookURL string
	// PrometheusURL is where Grafana's provisioned data source reads from;
	// "": http://prometheus:9090.
	PrometheusURL string
	// DashboardPath is the folder in which Grafana's provisioning looks for
	// the dashboards; "": /var/lib/grafana/dashboards.
	DashboardPath string
	// ScrapeInterval is how often Prometheus scrapes and evaluates, in whole
	// seconds from 1 s to 1 min; 0: 15 s. Short windows are multiples of it.
	ScrapeInterval time.Duration
	// Capacity is the capacity of the clients' retry budgets in tokens, for
	// the thresholds of panels; 0: 500. Rules compare with what the client
	// reports.
	Capacity int
	// Thresholds of the alerts. Zero: the default of each.
	Thresholds Thresholds
}

// Thresholds say when an alert fires. Zero fields mean the default, which
// each field names.
type Thresholds struct {
	// DrainBelow is the share of its capacity, 0 to 1, below which a falling
	// budget counts as draining; 0: 0.95. It keeps single retries silent.
	DrainBelow float64
	// DrainFast is how soon the budget must be forecast to be empty by its
	// course over the last 12 scrapes; 0: 15 min.
	DrainFast time.Duration
	// DrainSlow is how soon it must be forecast to be empty by its course over
	// the last half hour; 0: 1 h.
	DrainSlow time.Duration
	// BudgetLow is the share of its capacity, 0 to 1, below which a budget
	// is low; 0: 0.2.
	BudgetLow float64
	// EscapeShare is the share of calls, 0 to 1, above which escapes are
	// reported; 0: 0.01.
	EscapeShare float64
	// DeadlineShare is the share of calls, 0 to 1, above which retries skipped
	// for the deadline are reported; 0: 0.01.
	DeadlineShare float64
	// Openings is how many times a breaker must open from closed within half
	// an hour to be flapping; 0: 3.
	Openings int
	// RecoveryRate is how many connections must be recovered per second to
	// make a storm, where RecoveryShare is passed as well; 0: 0.5.
	RecoveryRate float64
	// RecoveryShare is the share of the calls, 0 to 1, that recoveries must
	// pass to make a storm, where RecoveryRate is passed as well; 0: 0.1.
	RecoveryShare float64
	// Throttles is how many Retry-After answers within 5 min are reported;
	// 0: 2.
	Throttles int
	// Waiting is how many requests must wait for a connection, on average,
	// for a pool to be saturated; 0: 1.
	Waiting float64
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// withDefaults fills in the fields that are zero, and reports the first one
// that makes no sense.
func (o Options) withDefaults() (Options, error) {
	t := &o.Thresholds
	for _, share := range []struct {
		name     string
		value    *float64
		fallback float64
	}{
		{"DrainBelow", &t.DrainBelow, 0.95},
		{"BudgetLow", &t.BudgetLow, 0.2},
		{"EscapeShare", &t.EscapeShare, 0.01},
		{"DeadlineShare", &t.DeadlineShare, 0.01},
		{"RecoveryShare", &t.RecoveryShare, 0.1},
	} {
		*share.value = or(*share.value, share.fallback)
		if !(*share.value > 0 && *share.value <= 1) {
			return o, fmt.Errorf("dashboards: Thresholds.%s is %v: give a share above 0 and up to 1", share.name, *share.value)
		}
	}
	t.DrainFast, t.DrainSlow = or(t.DrainFast, 15*time.Minute), or(t.DrainSlow, time.Hour)
	t.Openings, t.Throttles = or(t.Openings, 3), or(t.Throttles, 2)
	t.RecoveryRate, t.Waiting = or(t.RecoveryRate, 0.5), or(t.Waiting, 1)
	o.RunbookURL = or(o.RunbookURL, "https://github.com/plimsoll-http/plimsoll/blob/main/docs/runbooks")
	o.PrometheusURL = or(o.PrometheusURL, "http://prometheus:9090")
	o.DashboardPath = or(o.DashboardPath, "/var/lib/grafana/dashboards")
	o.ScrapeInterval = or(o.ScrapeInterval, 15*time.Second)
	o.Capacity = or(o.Capacity, 500)
	for _, positive := range []struct {
		name  string
		value float64
	}{
		{"DrainFast", t.DrainFast.Seconds()}, {"DrainSlow", t.DrainSlow.Seconds()}, {"Openings", float64(t.Openings)},
		{"Throttles", float64(t.Throttles)}, {"RecoveryRate", t.RecoveryRate}, {"Waiting", t.Waiting},
	} {
		if !(positive.value > 0) {
			return o, fmt.Errorf("dashboards: Thresholds.%s is %v: give a value above 0", positive.name, positive.value)
		}
	}
	return o, o.check()
}

func (o Options) check() error {
	switch {
	case o.ScrapeInterval < time.Second || o.ScrapeInterval > time.Minute || o.ScrapeInterval%time.Second != 0:
		return fmt.Errorf("dashboards: ScrapeInterval is %v: give whole seconds from 1s to 1m", o.ScrapeInterval)
	case o.Capacity < 0:
		return fmt.Errorf("dashboards: Capacity is %d: give the tokens of a full budget", o.Capacity)
	case o.Datasource != "" && !validUID(o.Datasource):
		return fmt.Errorf("dashboards: Datasource is %q: give the UID from the data source's address in Grafana: letters, digits, - and _, at most 40", o.Datasource)
	case strings.ContainsFunc(o.TitlePrefix, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' }):
		return fmt.Errorf("dashboards: TitlePrefix is %q: it must not hold slashes or control characters", o.TitlePrefix)
	case !strings.HasPrefix(o.DashboardPath, "/"):
		return fmt.Errorf("dashboards: DashboardPath is %q: give an absolute path", o.DashboardPath)
	}
	if err := checkURL("RunbookURL", o.RunbookURL); err != nil {
		return err
	}
	if err := checkURL("PrometheusURL", o.PrometheusURL); err != nil {
		return err
	}
	return o.checkLabels()
}

// checkURL names an URL that cannot be used, without what may be a password.
func checkURL(field, value string) error {
	u, err := url.Parse(value)
	if err != nil {
		return fmt.Errorf("dashboards: %s is no URL: give one such as https://example.com/path", field)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("dashboards: %s is %q: give an http or https URL with a host and without a user", field, u.Redacted())
	}
	return nil
}

func (o Options) checkLabels() error {
	for _, set := range []struct {
		field  string
		labels map[string]string
	}{{"Labels", o.Labels}, {"AlertLabels", o.AlertLabels}} {
		for _, name := range slices.Sorted(maps.Keys(set.labels)) {
			if err := checkTargetLabel(set.field, name); err != nil {
				return err
			}
			if set.labels[name] == "" {
				return fmt.Errorf("dashboards: %s has no value for %q: give one, or leave the label out", set.field, name)
			}
		}
	}
	for _, name := range o.GroupBy {
		if err := checkTargetLabel("GroupBy", name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Severities)) {
		if !slices.Contains(alertNames, name) {
			return fmt.Errorf("dashboards: Severities has %q, which is no alert: the alerts are %s", name, strings.Join(alertNames, ", "))
		}
		if !o.Severities[name].valid() {
			return fmt.Errorf("dashboards: Severities[%q] is %q: use critical, warning or info", name, o.Severities[name])
		}
	}
	return nil
}

// checkTargetLabel refuses labels that Prometheus doesn't accept and those that
// the rules and the metrics give themselves.
func checkTargetLabel(field, name string) error {
	if !promql.ValidLabel(name) || strings.HasPrefix(name, "__") {
		return fmt.Errorf("dashboards: %s has the label %q: use letters, digits and underscores, as in cluster", field, name)
	}
	taken := []string{"alertname", "alertstate", "severity", "le"}
	for _, m := range catalog.Metrics() {
		for _, a := range m.AllAttributes() {
			taken = append(taken, catalog.PrometheusLabel(a.Key))
		}
	}
	if slices.Contains(taken, name) {
		return fmt.Errorf("dashboards: %s has the label %q, which the metrics or the rules set: use a label of the target, such as cluster", field, name)
	}
	return nil
}

func validUID(s string) bool {
	return s != "" && len(s) <= 40 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}
