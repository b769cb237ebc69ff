package promdb

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/scrape"
)

// Target is what is scraped.
type Target struct {
	URL string
	// Job and Instance are the labels of series that the target exposes
	// without.
	Job, Instance string
}

// scraper is Prometheus's own scrape manager with one target.
type scraper struct {
	db       *DB
	interval time.Duration
	manager  *scrape.Manager
	targets  chan map[string][]*targetgroup.Group
	running  sync.WaitGroup
	started  bool
}

func newScraper(d *DB, interval time.Duration, registry prometheus.Registerer) (*scraper, error) {
	s := &scraper{db: d, interval: interval, targets: make(chan map[string][]*targetgroup.Group, 1)}
	var err error
	s.manager, err = scrape.NewManager(&scrape.Options{
		DiscoveryReloadInterval: model.Duration(interval), DiscoveryReloadOnStartup: true,
	}, d.log, nil, nil, d.tsdb, registry)
	if err != nil {
		return nil, fmt.Errorf("promdb: scraping: %w", err)
	}
	return s, nil
}

// Scrape scrapes t and evaluates the rules every interval, until Close. It is
// called once.
func (d *DB) Scrape(t Target) error {
	if err := d.scraper.start(t); err != nil {
		return err
	}
	d.rules.start()
	return nil
}

func (s *scraper) start(t Target) error {
	u, err := url.Parse(t.URL)
	if err != nil {
		return fmt.Errorf("promdb: target %q: %w", t.URL, err)
	}
	cfg, err := config.Load(strings.NewReplacer(
		"$INTERVAL", model.Duration(s.interval).String(), "$JOB", t.Job, "$PATH", u.Path,
	).Replace(`
global:
  scrape_interval: $INTERVAL
  scrape_timeout: $INTERVAL
scrape_configs:
  - job_name: $JOB
    honor_labels: true
    metrics_path: $PATH
    scrape_protocols: [PrometheusText0.0.4]
    fallback_scrape_protocol: PrometheusText0.0.4
`), s.db.log)
	if err != nil {
		return fmt.Errorf("promdb: scrape configuration: %w", err)
	}
	if err := s.manager.ApplyConfig(cfg); err != nil {
		return fmt.Errorf("promdb: scrape configuration: %w", err)
	}
	s.started = true
	s.running.Go(func() { _ = s.manager.Run(s.targets) }) // always nil
	s.targets <- map[string][]*targetgroup.Group{t.Job: {{
		Source:  "demo",
		Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(u.Host)}},
		Labels:  model.LabelSet{model.InstanceLabel: model.LabelValue(t.Instance)},
	}}}
	return nil
}

func (s *scraper) stop() {
	if !s.started {
		return
	}
	s.manager.Stop()
	s.running.Wait()
}

// evalEvery is how often the rules look at the past: rarely, since nobody is
// alarmed by it.
const evalEvery = 5 * time.Second

// Backfill scrapes t now, stores what it shows under the time at, which must be
// later than the one before, and evaluates the rules now and then. It is for
// the time before Scrape.
func (d *DB) Backfill(ctx context.Context, t Target, at time.Time) error {
	if err := d.store(ctx, t, at); err != nil {
		return err
	}
	if at.Sub(d.rules.lastAt()) < evalEvery {
		return nil
	}
	return d.Evaluate(ctx, at)
}

// Evaluate evaluates the rules at that time, unless they have been already.
func (d *DB) Evaluate(ctx context.Context, at time.Time) error { return d.rules.eval(ctx, at) }

// Step is Backfill with the rules evaluated each time.
func (d *DB) Step(ctx context.Context, t Target, at time.Time) error {
	if err := d.store(ctx, t, at); err != nil {
		return err
	}
	return d.Evaluate(ctx, at)
}

func (d *DB) store(ctx context.Context, t Target, at time.Time) error {
	samples, err := scrapeOnce(ctx, t)
	if err != nil {
		return err
	}
	app := d.tsdb.AppenderV2(ctx)
	for _, s := range samples {
		if _, err := app.Append(0, s.labels, 0, at.UnixMilli(), s.value, nil, nil, appendOptions); err != nil {
			_ = app.Rollback() // the first error counts
			return fmt.Errorf("promdb: storing %s: %w", s.labels, err)
		}
	}
	if err := app.Commit(); err != nil {
		return fmt.Errorf("promdb: storing a scrape: %w", err)
	}
	return nil
}

// Settled returns the time up to which nothing changes any more: all scrapes
// and evaluations until then are stored, so that a query gives the same answer
// whenever it is asked. It is the zero time before there is one.
func (d *DB) Settled(ctx context.Context) time.Time {
	at := d.rules.lastAt()
	// Each scrape stores up together with what it has read, in order; what
	// Backfill and Step stored has none.
	v, err := d.Query(ctx, "max(timestamp(up))", time.Now())
	if err == nil && len(v) == 1 {
		if scraped := time.UnixMilli(int64(math.Round(v[0].F * 1000))); scraped.Before(at) {
			at = scraped
		}
	}
	return at
}
