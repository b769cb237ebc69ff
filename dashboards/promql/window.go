package promql

import (
	"fmt"
	"strings"
	"time"
)

// Window is the range that functions such as rate look at: a Prometheus
// duration ("90s", "5m") or a variable of Grafana.
type Window string

// RateInterval is Grafana's variable for the shortest window that holds
// several scrapes. It is for panels alone: Prometheus doesn't know it.
const RateInterval Window = "$__rate_interval"

// Over returns the window of length d, in whole seconds, rounded up; at least
// one second.
func Over(d time.Duration) Window { return Window(Duration(d)) }

// Duration returns d in Prometheus's notation, in the largest unit that
// divides it: "90s", "5m", "1h". Fractions of a second are rounded up.
func Duration(d time.Duration) string {
	s := int64(max(d+time.Second-1, time.Second) / time.Second)
	switch {
	case s%3600 == 0:
		return fmt.Sprintf("%dh", s/3600)
	case s%60 == 0:
		return fmt.Sprintf("%dm", s/60)
	}
	return fmt.Sprintf("%ds", s)
}

// check reports a window that Prometheus would not parse: the error says which.
func (w Window) check() error {
	if strings.HasPrefix(string(w), "$__") && len(w) > len("$__") {
		return nil
	}
	digits := strings.TrimRight(string(w), "smhdwy")
	if digits == "" || digits == string(w) || strings.Trim(digits, "0123456789") != "" || len(w)-len(digits) > 2 {
		return fmt.Errorf("promql: window %q is no duration: use promql.Over(5*time.Minute) or promql.RateInterval", string(w))
	}
	return nil
}
