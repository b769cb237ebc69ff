package promdb

import (
	"net/http"
	"time"

	"github.com/prometheus/prometheus/rules"
)

// alert is an active alert in Prometheus's format.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    *time.Time        `json:"activeAt,omitempty"`
	Value       string            `json:"value"`
}

// rule is an alerting or a recording rule in Prometheus's format.
type rule struct {
	Name        string            `json:"name"`
	Query       string            `json:"query"`
	Type        string            `json:"type"` // alerting, recording
	State       string            `json:"state,omitempty"`
	Duration    float64           `json:"duration,omitempty"` // for, in seconds
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Alerts      []alert           `json:"alerts,omitempty"`
	Health      string            `json:"health"`
	LastError   string            `json:"lastError,omitempty"`
}

// group is a group of rules in Prometheus's format.
type group struct {
	Name     string  `json:"name"`
	File     string  `json:"file"`
	Interval float64 `json:"interval"`
	Rules    []rule  `json:"rules"`
}

func (d *DB) answerRules(r *http.Request) (any, error) {
	only := r.FormValue("type")
	d.rules.mu.Lock() // what is shown is the outcome of one evaluation
	defer d.rules.mu.Unlock()
	out := struct {
		Groups []group `json:"groups"`
	}{[]group{}}
	for _, g := range d.rules.groups {
		shown := group{Name: g.Name(), File: g.File(), Interval: g.Interval().Seconds(), Rules: []rule{}}
		for _, r := range g.Rules() {
			if ruled := ruleOf(r); only == "" || (only == "alert") == (ruled.Type == "alerting") {
				shown.Rules = append(shown.Rules, ruled)
			}
		}
		if len(shown.Rules) > 0 {
			out.Groups = append(out.Groups, shown)
		}
	}
	return out, nil
}

func (d *DB) answerAlerts(*http.Request) (any, error) {
	out := struct {
		Alerts []alert `json:"alerts"`
	}{[]alert{}}
	d.rules.mu.Lock()
	defer d.rules.mu.Unlock()
	for _, g := range d.rules.groups {
		for _, r := range g.AlertingRules() {
			out.Alerts = append(out.Alerts, active(r)...)
		}
	}
	return out, nil
}

func ruleOf(r rules.Rule) rule {
	out := rule{Name: r.Name(), Query: r.Query().String(), Type: "recording", Labels: r.Labels().Map(), Health: string(r.Health())}
	if err := r.LastError(); err != nil {
		out.LastError = err.Error()
	}
	if a, ok := r.(*rules.AlertingRule); ok {
		out.Type, out.State = "alerting", a.State().String()
		out.Duration = a.HoldDuration().Seconds()
		out.Annotations = a.Annotations().Map()
		out.Alerts = active(a)
	}
	return out
}

// active returns the alerts of r; the rulebook's mu is held.
func active(r *rules.AlertingRule) []alert {
	var out []alert
	for _, a := range r.ActiveAlerts() {
		at := a.ActiveAt
		out = append(out, alert{
			Labels: a.Labels.Map(), Annotations: a.Annotations.Map(), State: a.State.String(),
			ActiveAt: &at, Value: number(a.Value),
		})
	}
	return out
}

// Alert returns the state of an alert: inactive, pending or firing; "" if there
// is none of that name.
func (d *DB) Alert(name string) string {
	d.rules.mu.Lock()
	defer d.rules.mu.Unlock()
	for _, g := range d.rules.groups {
		for _, r := range g.AlertingRules() {
			if r.Name() == name {
				return r.State().String()
			}
		}
	}
	return ""
}
