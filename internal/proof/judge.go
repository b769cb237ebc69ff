package proof

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

// Lag is how long after a scrape the rules are evaluated: Prometheus spreads
// both over the interval, and this is close to the worst case.
const Lag = 12 * time.Second

// Verdict is what the alerts did during a run. Times count from its begin.
type Verdict struct {
	// Fired maps an alert to the times at which it began to fire.
	Fired map[string][]time.Duration
	// Ended maps an alert to the times at which it ended.
	Ended map[string][]time.Duration
	// Texts maps an alert to the summary of its first firing.
	Texts map[string]string
	// Evaluated is how often the rules were evaluated.
	Evaluated int
}

// First returns when the alert fired first.
func (v *Verdict) First(alert string) (time.Duration, bool) {
	at := v.Fired[alert]
	if len(at) == 0 {
		return 0, false
	}
	return at[0], true
}

// Alerts returns the names of the alerts that fired, sorted.
func (v *Verdict) Alerts() []string { return slices.Sorted(maps.Keys(v.Fired)) }

// Judge plays a run into the storage and evaluates the rule files after each
// scrape, as Prometheus does with evaluations every [Interval].
func Judge(ctx context.Context, s *Storage, r *Run, files ...string) (*Verdict, error) {
	groups, err := s.load(ctx, files)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Fired: map[string][]time.Duration{}, Ended: map[string][]time.Duration{}, Texts: map[string]string{}}
	firing := map[string]bool{}
	for i := range r.Scrapes {
		if err := s.Append(ctx, r, i); err != nil {
			return nil, err
		}
		at := r.Scrapes[i].At.Add(Lag)
		for _, g := range groups {
			g.Eval(ctx, at)
			for _, rule := range g.Rules() {
				if err := rule.LastError(); err != nil {
					return nil, fmt.Errorf("proof: rule %s: %w", rule.Name(), err)
				}
			}
			for _, a := range g.AlertingRules() {
				v.note(a, at.Sub(r.Began), firing)
			}
		}
		v.Evaluated++
	}
	return v, nil
}

func (v *Verdict) note(a *rules.AlertingRule, at time.Duration, firing map[string]bool) {
	now := a.State() == rules.StateFiring
	if now == firing[a.Name()] {
		return
	}
	firing[a.Name()] = now
	if !now {
		v.Ended[a.Name()] = append(v.Ended[a.Name()], at)
		return
	}
	v.Fired[a.Name()] = append(v.Fired[a.Name()], at)
	a.ForEachActiveAlert(func(alert *rules.Alert) {
		if v.Texts[a.Name()] == "" {
			v.Texts[a.Name()] = alert.Annotations.Get("summary") + " " + alert.Annotations.Get("description")
		}
	})
}

func (s *Storage) load(ctx context.Context, files []string) ([]*rules.Group, error) {
	quiet := slog.New(slog.DiscardHandler)
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(s.engine, s.db),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Context:      ctx,
		AppendableV2: s.db,
		Queryable:    s.db,
		Logger:       quiet,
		Parser:       Parser,
	})
	loaded, errs := manager.LoadGroups(Interval, labels.EmptyLabels(), "", nil, false, files...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("proof: rules: %w", errors.Join(errs...))
	}
	var out []*rules.Group
	for _, key := range slices.Sorted(maps.Keys(loaded)) {
		g := loaded[key]
		for _, a := range g.AlertingRules() {
			a.SetRestored(true) // there is no earlier state
		}
		out = append(out, g)
	}
	return out, nil
}
