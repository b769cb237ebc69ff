package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// act is a stretch of the past: from From seconds on there is Trouble.
type act struct {
	from    int
	trouble stage.Trouble
}

// past is what happened before the start: a short illness of orders, long
// enough ago for the budget to be full again.
var past = []act{{0, stage.Healthy}, {50, stage.Unavailable}, {80, stage.Healthy}}

// Backfill makes a past of that length, in whole seconds, which ends now. It
// reports each second that is done. It is called before Run, if at all.
func (d *Demo) Backfill(ctx context.Context, length time.Duration, done func(time.Time)) error {
	at := time.Now().Truncate(Interval).Add(-length)
	for n := 0; at.Before(time.Now()); n++ {
		for _, a := range past {
			if a.from == n && d.Stage.Heals() {
				if err := d.Stage.Cause(a.trouble); err != nil {
					return fmt.Errorf("demo: the past: %w", err)
				}
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
