package proof

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Parser is Prometheus's, without experimental functions.
var Parser = parser.NewParser(parser.Options{})

// Storage is a Prometheus storage with its query engine.
type Storage struct {
	db     *tsdb.DB
	engine *promql.Engine
	refs   map[*Run][]storage.SeriesRef
}

// Open makes an empty storage in dir.
func Open(dir string) (*Storage, error) {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		return nil, fmt.Errorf("proof: storage: %w", err)
	}
	db.DisableCompactions() // a run fits into memory
	return &Storage{
		db: db,
		engine: promql.NewEngine(promql.EngineOpts{
			Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: 2 * time.Minute,
			LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: Parser,
		}),
		refs: map[*Run][]storage.SeriesRef{},
	}, nil
}

// Close gives the storage's files and memory back.
func (s *Storage) Close() error { return s.db.Close() }

// Append stores scrape i of a run. Scrapes have to come in their order.
func (s *Storage) Append(ctx context.Context, r *Run, i int) error {
	refs := s.refs[r]
	if missing := len(r.series) - len(refs); missing > 0 {
		refs = append(refs, make([]storage.SeriesRef, missing)...)
		s.refs[r] = refs
	}
	appender := s.db.AppenderV2(ctx)
	scrape := r.Scrapes[i]
	for _, one := range scrape.samples {
		ref, err := appender.Append(refs[one.series], r.series[one.series], 0, scrape.At.UnixMilli(), one.value, nil, nil, storage.AOptions{})
		if err != nil {
			_ = appender.Rollback()
			return fmt.Errorf("proof: append %s: %w", r.series[one.series], err)
		}
		refs[one.series] = ref
	}
	return appender.Commit()
}

// AppendAll stores all scrapes of a run.
func (s *Storage) AppendAll(ctx context.Context, r *Run) error {
	for i := range r.Scrapes {
		if err := s.Append(ctx, r, i); err != nil {
			return err
		}
	}
	return nil
}

// Query evaluates an expression at every step between two times.
func (s *Storage) Query(ctx context.Context, expr string, from, to time.Time, step time.Duration) (promql.Matrix, error) {
	q, err := s.engine.NewRangeQuery(ctx, s.db, nil, expr, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("proof: query %s: %w", expr, err)
	}
	defer q.Close()
	result := q.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, fmt.Errorf("proof: query %s: %w", expr, err)
	}
	out := make(promql.Matrix, len(matrix)) // the query's memory is used again
	for i, series := range matrix {
		out[i] = promql.Series{Metric: series.Metric, Floats: append([]promql.FPoint(nil), series.Floats...)}
	}
	return out, nil
}
