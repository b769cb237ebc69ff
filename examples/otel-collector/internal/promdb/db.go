package promdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// lookback is how long a sample counts as the present value: what Prometheus
// does unless told otherwise.
const lookback = 5 * time.Minute

// DB is a database with an engine and rules.
type DB struct {
	dir     string
	tsdb    *tsdb.DB
	engine  *promql.Engine
	rules   *rulebook
	scraper *scraper
	log     *slog.Logger
}

// Rules is a rule file.
type Rules struct {
	Name string
	Data []byte
}

// Open makes an empty database in a temporary folder, which Close removes.
// interval is how often rules are evaluated and targets scraped. A nil log
// drops what Prometheus has to say.
func Open(files []Rules, interval time.Duration, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = promslog.NewNopLogger()
	}
	dir, err := os.MkdirTemp("", "plimsoll-demo-*")
	if err != nil {
		return nil, fmt.Errorf("promdb: %w", err)
	}
	d := &DB{dir: dir, log: log}
	options := tsdb.DefaultOptions()
	options.WALSegmentSize = -1 // it does not outlive the process
	options.NoLockfile = true
	options.RetentionDuration = (6 * time.Hour).Milliseconds()
	options.StripeSize = 1 << 10
	if d.tsdb, err = tsdb.Open(dir, log, nil, options, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("promdb: %w", err), os.RemoveAll(dir))
	}
	d.engine = promql.NewEngine(promql.EngineOpts{
		Logger: log, MaxSamples: 5_000_000, Timeout: 10 * time.Second, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return interval.Milliseconds() },
		Parser:                   parser.NewParser(parser.Options{}),
	})
	if d.rules, err = newRulebook(d, files, interval); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if d.scraper, err = newScraper(d, interval, prometheus.NewRegistry()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends scraping and removes the database.
func (d *DB) Close() error {
	if d.scraper != nil {
		d.scraper.stop()
	}
	if d.rules != nil {
		d.rules.stop()
	}
	return errors.Join(d.engine.Close(), d.tsdb.Close(), os.RemoveAll(d.dir))
}

// Query evaluates an expression at one time.
func (d *DB) Query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := d.engine.NewInstantQuery(ctx, d.tsdb, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("promdb: %w", err)
	}
	defer q.Close()
	v, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("promdb: %w", err)
	}
	return v, nil
}

// Range evaluates an expression at every step from start to end.
func (d *DB) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	q, err := d.engine.NewRangeQuery(ctx, d.tsdb, nil, expr, start, end, step)
	if err != nil {
		return nil, fmt.Errorf("promdb: %w", err)
	}
	defer q.Close()
	m, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("promdb: %w", err)
	}
	return m, nil
}
