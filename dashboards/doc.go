// Package dashboards makes Grafana dashboards and Prometheus rules from the
// metric catalogue of package otelbridge/catalog: five dashboards ([New] has
// them as Go values), ten alerts with a runbook page each, and recording
// rules.
//
// The committed files in the folder generated are what the zero [Options]
// give; package dashboards/generated embeds them. The command "plimsoll
// dashboards" and "plimsoll rules" write adapted ones, by the functions here.
//
// # Use
//
// [Write] and [WriteRules] write the standard set, adapted by [Options]: data
// source, title prefix, labels to select on, labels to group by, thresholds,
// capacity, severities. [Check] and [CheckRules] compare a folder with what
// would be written. To extend the set, take it from [New], append panels to
// [Set.Board], dashboards to Set.Boards and alerts to Set.Groups, and write
// that. Queries are built by package promql over [Set.Panels] and
// [Set.Rules], so that they refer to metrics of the catalogue alone.
//
// # What is written
//
// Dashboards are classic JSON (v1), one file each, named by their UID: file
// provisioning of Grafana takes no v2. Beside them lie Grafana's provisioning
// files for dashboards, the data source and the alerts. Prometheus rule files
// are the tested source of truth; Grafana's alerts are the same expressions,
// for those who evaluate there. Load one of the two, not both.
//
// Every dashboard has the variables data source, job, client and origin. The
// origin is chosen by its host, since a variable can stand for one label only
// and the port is another; series of different ports stay apart. Metrics have
// the names of the strategy UnderscoreEscapingWithSuffixes: set it in the
// exporter and in the collector.
//
// # Aggregation
//
// Every process has a retry budget and breakers of its own. Levels are
// therefore aggregated with min, states and queues with max, and only counters
// with sum; the forecast is made per process before the lowest is taken. An
// alert names one partition of one client of one job, plus what
// Options.GroupBy keeps. The label instance is expected to tell processes
// apart, as it does for scraped targets and for Prometheus's OTLP endpoint.
//
// # Contract
//
// The same set always gives the same bytes. Nothing is written before all of
// it is rendered and passes [Set.Lint]; files are renamed into place. Errors
// start with "dashboards:", name the field or the panel and its value, and say
// what to do. Nothing here starts a goroutine, reads the clock or talks to the
// network, and nothing panics.
//
// Defaults are meant for scrapes and evaluations every 15 s; short windows
// follow Options.ScrapeInterval. With it, the forecast needs three falling
// scrapes and one minute before it alerts.
package dashboards

//go:generate go run ./internal/generate
