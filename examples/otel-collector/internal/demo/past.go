package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/promdb"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// ills are what happened to orders before the start, from and until shares of
// the past: long enough ago for the budget to be full and the alerts to be
// quiet again.
var ills = []struct {
	from, until float64
	trouble     stage.Trouble
}{
	{0.28, 0.45, stage.Unavailable},
	{0.55, 0.65, stage.Kill},
}

// pastTrouble is what ailed orders after a share of the past.
func pastTrouble(share float64) stage.Trouble {
	for _, ill := range ills {
		if share >= ill.from && share < ill.until {
			return ill.trouble
		}
	}
	return stage.Healthy
}

// Now is the time that the metrics are about: the one of the last step of
// Backfill and Step, and the real one after Run has begun.
func (d *Demo) Now() time.Time {
	if at := d.made.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// Backfill makes a past from begin to end, in whole seconds, and leaves orders
// healthy. With the zero end, it catches up with the present. It reports each
// second that is done. It is called before Run, if at all.
func (d *Demo) Backfill(ctx context.Context, begin, end time.Time, done func(time.Time)) error {
	begin = begin.Truncate(Interval)
	until := func() time.Time { return end.Truncate(Interval) }
	if end.IsZero() {
		until = time.Now
	}
	length := until().Sub(begin)
	at := begin
	for ; at.Before(until()); at = at.Add(Interval) {
		trouble := pastTrouble(at.Sub(begin).Seconds() / length.Seconds())
		if d.Stage.Heals() && trouble != d.Stage.State().Trouble {
			if err := d.Stage.Cause(trouble); err != nil {
				return fmt.Errorf("demo: the past: %w", err)
			}
		}
		if err := d.second(ctx, at, d.DB.Backfill); err != nil {
			return err
		}
		if done != nil {
			done(at)
		}
	}
	if d.seconds == 0 {
		return nil
	}
	return d.DB.Evaluate(ctx, at.Add(-Interval))
}

// Step makes the second after the last one, instead of Run: the calls of a
// second at once, under the trouble that there is, a scrape and an evaluation
// of the rules. What Run lets happen in its own time happens at the caller's,
// whatever else the machine has to do. It is called after Backfill.
func (d *Demo) Step(ctx context.Context) error {
	return d.second(ctx, d.Now().Add(Interval), d.DB.Step)
}

// second makes the calls of one second and has what came of them stored under
// the time at.
func (d *Demo) second(ctx context.Context, at time.Time, store func(context.Context, promdb.Target, time.Time) error) error {
	d.Stage.Burst(ctx, d.seconds)
	d.seconds++
	if err := d.telemetry.Step(ctx); err != nil {
		return err
	}
	if err := store(ctx, d.target, at); err != nil {
		return err
	}
	d.made.Store(&at)
	return ctx.Err()
}
