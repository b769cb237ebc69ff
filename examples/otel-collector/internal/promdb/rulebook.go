package promdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// rulebook evaluates rule files.
type rulebook struct {
	groups   []*rules.Group
	interval time.Duration
	cancel   context.CancelFunc // of the evaluations for good; nil before
	running  sync.WaitGroup

	mu   sync.Mutex // held while rules are evaluated
	last time.Time  // of the last evaluation; guarded by mu
}

func newRulebook(d *DB, files []Rules, interval time.Duration) (*rulebook, error) {
	var names []string
	for _, f := range files {
		name := filepath.Join(d.dir, filepath.Base(f.Name))
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			return nil, fmt.Errorf("promdb: rule file: %w", err)
		}
		names = append(names, name)
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation,
		ExternalURL:          &url.URL{},
		QueryFunc:            rules.EngineQueryFunc(d.engine, d.tsdb),
		NotifyFunc:           func(context.Context, string, ...*rules.Alert) {}, // nobody to tell
		Context:              context.Background(),
		AppendableV2:         d.tsdb,
		Queryable:            d.tsdb,
		Logger:               d.log,
		Parser:               parser.NewParser(parser.Options{}),
	})
	groups, errs := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, names...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("promdb: rule files: %w", errors.Join(errs...))
	}
	b := &rulebook{interval: interval}
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true) // there is no past to restore; until then nothing is stored
		}
		b.groups = append(b.groups, g)
	}
	slices.SortFunc(b.groups, func(a, b *rules.Group) int {
		return strings.Compare(rules.GroupKey(a.File(), a.Name()), rules.GroupKey(b.File(), b.Name()))
	})
	return b, nil
}

// eval evaluates all rules at that time, if it is after the last one.
func (b *rulebook) eval(ctx context.Context, at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !at.After(b.last) {
		return nil
	}
	b.last = at
	for _, g := range b.groups {
		g.Eval(ctx, at)
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("promdb: rule %s: %w", r.Name(), err)
			}
		}
	}
	return nil
}

// start evaluates the rules every interval until stop. What goes wrong is on
// the rule: Prometheus's API shows it.
func (b *rulebook) start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.running.Go(func() {
		tick := time.NewTicker(b.interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				_ = b.eval(ctx, now)
			}
		}
	})
}

// lastAt returns the time of the last evaluation.
func (b *rulebook) lastAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *rulebook) stop() {
	if b.cancel != nil {
		b.cancel()
	}
	b.running.Wait()
}
