package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// Act is a stretch of the story.
type Act struct {
	Name       string
	Says       string // what to look at, in one line
	Accounting stage.Accounting
	Trouble    stage.Trouble
	Share      float64 // of the whole duration, at most
	// UntilEscape ends the act a little after the first call that failed for
	// its caller.
	UntilEscape bool
}

// Acts are the story: the same illness under both accountings, then the others.
func Acts() []Act {
	return []Act{
		{Name: "healthy", Says: "calls succeed, the budget is full", Accounting: stage.Legacy, Trouble: stage.Healthy, Share: 0.08},
		{Name: "legacy", Says: "connections die while parked; every one costs a retry, for good", Accounting: stage.Legacy, Trouble: stage.Kill, Share: 0.5, UntilEscape: true},
		{Name: "healed", Says: "the alert about the drain ends, the level rises slowly", Accounting: stage.Legacy, Trouble: stage.Healthy, Share: 0.08},
		{Name: "settled", Says: "the same with recovery: the budget pays nothing", Accounting: stage.Settled, Trouble: stage.Kill, Share: 0.12},
		{Name: "503", Says: "30 % of the answers are 503: retries that help are given back", Accounting: stage.Settled, Trouble: stage.Unavailable, Share: 0.06},
		{Name: "429", Says: "calls wait as long as the server asked", Accounting: stage.Settled, Trouble: stage.Throttle, Share: 0.05},
		{Name: "dead", Says: "nothing answers: the breaker opens before the budget is empty", Accounting: stage.Settled, Trouble: stage.Dead, Share: 0.06},
		{Name: "healthy again", Says: "a probe closes the breaker, successes refill the budget", Accounting: stage.Settled, Trouble: stage.Healthy, Share: 0.05},
	}
}

// linger is how long an act goes on after what it waited for.
const linger = 2 * time.Second

// Play plays the acts within total, beside Run. begun is called at the begin of
// each; look is called once in every Interval and reports whether a call has
// failed for its caller.
func (d *Demo) Play(ctx context.Context, acts []Act, total time.Duration, begun func(Act), look func(Act) (escaped bool, err error)) error {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	return d.play(ctx, acts, total, begun, look, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			return nil
		}
	})
}

// PlaySteps is Play by steps, instead of Run: total passes as fast as Step can
// make its seconds.
func (d *Demo) PlaySteps(ctx context.Context, acts []Act, total time.Duration, begun func(Act), look func(Act) (escaped bool, err error)) error {
	return d.play(ctx, acts, total, begun, look, d.Step)
}

// play lets pass make an Interval pass.
func (d *Demo) play(ctx context.Context, acts []Act, total time.Duration, begun func(Act), look func(Act) (bool, error), pass func(context.Context) error) error {
	defer func() { _ = d.Stage.Cause(stage.Healthy) }() // it is the own upstream, or Cause failed before
	for _, a := range acts {
		if err := d.Stage.Account(a.Accounting); err != nil {
			return err
		}
		if err := d.Stage.Cause(a.Trouble); err != nil {
			return fmt.Errorf("demo: the story: %w", err)
		}
		begun(a)
		for end := d.Now().Add(time.Duration(a.Share * float64(total))); d.Now().Before(end); {
			if err := pass(ctx); err != nil {
				return err
			}
			escaped, err := look(a)
			if err != nil {
				return err
			}
			if over := d.Now().Add(linger); escaped && a.UntilEscape && over.Before(end) {
				a.UntilEscape, end = false, over
			}
		}
	}
	return nil
}
