// Package promdb is a Prometheus inside the process: its time series database,
// query engine and rule evaluation, fed by its own scraping.
//
// [DB.Backfill] stores a scrape under a time of the past and evaluates the
// rules at that time; after the last one, [DB.Scrape] begins scraping for good.
// Labels are those that the target exposes (honor_labels), so that both make
// the same series.
//
// [DB.Handler] serves the part of Prometheus's HTTP API that dashboards use, in
// its format: query, query_range, series, label values, rules and alerts.
package promdb
