// Package generated embeds the standard dashboards and rules, as the zero
// dashboards.Options give them: dashboards (plimsoll-*.json), Prometheus rule
// files (plimsoll-*.yaml) and Grafana's provisioning files. Do not edit the
// files: change the values in package dashboards and run go generate there.
package generated

import "embed"

// FS holds the files. It is read-only and may be used by any number of
// goroutines.
//
//go:embed *.json *.yaml provisioning
var FS embed.FS
