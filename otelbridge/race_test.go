//go:build race

package otelbridge_test

const raceEnabled = true
