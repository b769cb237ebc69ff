package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// What happened before the start: a short illness of orders, given as shares of
// the past, long enough ago for the budget to be full again.
const (
	illFrom  = 0.28
	illUntil = 0.45
)

// Backfill makes a past of that length, in whole seconds, which ends now, and
// leaves orders healthy. It reports each second that is done. It is called
// before Run, if at all.
func (d *Demo) Backfill(ctx context.Context, length time.Duration, done func(time.Time)) error {
	begin := time.Now().Truncate(Interval).Add(-length)
	at := begin
	for n := 0; at.Before(time.Now()); n++ {
		trouble := stage.Healthy
		if share := at.Sub(begin).Seconds() / length.Seconds(); share >= illFrom && share < illUntil {
			trouble = stage.Unavailable
		}
		if d.Stage.Heals() && trouble != d.Stage.State().Trouble {
			if err := d.Stage.Cause(trouble); err != nil {
				return fmt.Errorf("demo: the past: %w", err)
			}
		}
		d.Stage.Burst(ctx, n)
		if err := d.telemetry.Step(ctx); err != nil {
			return err
		}
		if err := d.DB.Backfill(ctx, d.target, at); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if done != nil {
			done(at)
		}
		at = at.Add(Interval)
	}
	return nil
}
