// Package ruletest writes the tests of the standard alerts for "promtool test
// rules": for each alert, series that must make it fire and series that must
// not, next to its threshold. Metrics and labels come from the catalogue.
package ruletest
