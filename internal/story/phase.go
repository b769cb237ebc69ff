package story

import (
	"context"
	"time"
)

// Phase is a stretch of the story.
type Phase struct {
	Name    string
	Says    string  // what to look at, in one line
	Share   float64 // of the whole duration
	Trouble Trouble
}

// Phases are the acts of the demonstration: a budget that drains and refills.
func Phases() []Phase {
	return []Phase{
		{Name: "healthy", Says: "calls succeed, the budget is full", Share: 0.12},
		{Name: "503s", Says: "half of the answers are 503: retries that fail drain the budget", Share: 0.24, Trouble: Trouble{FailRate: 0.5}},
		{Name: "recovering", Says: "successes refill the budget", Share: 0.16},
		{Name: "dead connections", Says: "reused connections are dead: the pool recovers, the budget pays nothing", Share: 0.16, Trouble: Trouble{KillReused: true}},
		{Name: "429", Says: "Retry-After: calls wait as the server asked", Share: 0.12, Trouble: Trouble{FailRate: 0.3, Status: 429, RetryAfter: time.Second}},
		{Name: "healthy again", Says: "the budget fills up", Share: 0.20},
	}
}

// Run plays phases on u within total, calling started at the begin of each. It
// leaves u healthy, and returns ctx's error if that ended it.
func Run(ctx context.Context, u *Upstream, phases []Phase, total time.Duration, started func(Phase)) error {
	defer u.Set(Trouble{})
	for _, p := range phases {
		u.Set(p.Trouble)
		if started != nil {
			started(p)
		}
		timer := time.NewTimer(time.Duration(p.Share * float64(total)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	return nil
}
