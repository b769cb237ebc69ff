package dashboards_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// The standard set for one cluster, paged by region, with thresholds of its
// own.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "dashboards")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	o := dashboards.Options{
		Datasource:  "metrics",
		TitlePrefix: "Shop ",
		Labels:      map[string]string{"cluster": "eu-1"},
		GroupBy:     []string{"region"},
		AlertLabels: map[string]string{"team": "shop"},
		Severities:  map[string]dashboards.Severity{dashboards.BreakerOpen: dashboards.Warning},
		Capacity:    1000,
		Thresholds:  dashboards.Thresholds{BudgetLow: 0.3, DrainSlow: 2 * time.Hour},
	}
	fmt.Println(dashboards.Write(dir, o), dashboards.WriteRules(dir, o))
	names, err := filepath.Glob(filepath.Join(dir, "*.*"))
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	fmt.Println(err, dashboards.Check(dir, o))
	// Output:
	// <nil> <nil>
	// shop-plimsoll-alerts.yaml
	// shop-plimsoll-breaker.json
	// shop-plimsoll-connections.json
	// shop-plimsoll-overview.json
	// shop-plimsoll-recordings.yaml
	// shop-plimsoll-retry-budget.json
	// shop-plimsoll-streams.json
	// <nil> <nil>
}

// A panel and an alert of one's own, over the metrics of the catalogue.
func ExampleSet() {
	set, err := dashboards.New(dashboards.Options{Labels: map[string]string{"cluster": "eu-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	forced := func(q promql.Source, w promql.Window) promql.Expr {
		return promql.Sum(q.Of(catalog.RetryArmed, promql.Is(catalog.KeyCause, "forced")).Rate(w), catalog.KeyAddress, catalog.KeyPort)
	}
	board := set.Board("plimsoll-retry-budget")
	board.Rows = append(board.Rows, dashboards.Row{Title: "Ours", Panels: []dashboards.Panel{{
		Title: "Forced retries", Kind: dashboards.TimeSeries, Unit: dashboards.UnitRate,
		Description: "Retries that only our RetryIf wants.",
		Queries:     []dashboards.Query{{Expr: forced(set.Panels(), promql.RateInterval), Legend: dashboards.Legend(catalog.KeyAddress, catalog.KeyPort)}},
		Steps:       []dashboards.Step{{From: 1, Color: dashboards.Red}},
		Runbook:     "forced-retries",
	}}})
	alert := dashboards.Alert{
		Name: "ShopForcedRetries", Severity: dashboards.Info, Format: dashboards.Decimal, For: 5 * time.Minute,
		Expr:        forced(set.Rules(), promql.Over(5*time.Minute)).Above(promql.Number(1)),
		Summary:     "RetryIf forces $value retries a second to $origin",
		Description: "The rule in our RetryIf is too broad.",
		Runbook:     "forced-retries", Board: board.UID, Panel: "Forced retries",
	}
	set.Groups = append(set.Groups, dashboards.Group{Name: "shop", Alerts: []dashboards.Alert{alert}})
	fmt.Println(set.Lint())
	fmt.Println(alert.Expr)

	files, err := set.RuleFiles()
	fmt.Println(strings.Contains(string(files[0].Data), "alert: ShopForcedRetries"), err)
	// Output:
	// <nil>
	// sum by (server_address, server_port, job) (rate(plimsoll_retry_armed_total{cluster="eu-1",plimsoll_cause="forced"}[5m])) > 1
	// true <nil>
}
