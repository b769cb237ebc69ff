//go:build nodashboards

package main

// artefactCommands is empty: this build does without the Grafana SDK, a quarter
// of what a first build compiles, and so without what writes dashboards and
// rules. The demonstration needs neither.
func artefactCommands() []command { return nil }
