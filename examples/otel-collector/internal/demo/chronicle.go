package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/stage"
)

// Chronicle watches a story as Prometheus sees it and says what came of it.
type Chronicle struct {
	demo  *Demo
	out   io.Writer
	start time.Time

	pending, firing, denied, escaped time.Duration // of the legacy act; 0: not yet

	settled reading // at the begin of the settled act; zero: it has not begun
	last    reading // of the settled act
	lowest  float64 // level of the settled act
	alarmed bool    // the draining alert fired in the settled act
	acts    []string
	printed time.Duration
}

// reading is what Prometheus says of orders at one time.
type reading struct {
	taken    bool   // there is one
	draining string // state of the alert

	tokens, escapes, denied, recoveries, retries float64
}

// NewChronicle begins a chronicle that writes to out.
func NewChronicle(d *Demo, out io.Writer) *Chronicle {
	return &Chronicle{demo: d, out: out, start: d.Now(), lowest: math.Inf(1)}
}

// since is how long the chronicle has been going on.
func (c *Chronicle) since() time.Duration { return c.demo.Now().Sub(c.start) }

// Begun notes that an act has begun.
func (c *Chronicle) Begun(a Act) {
	c.acts = append(c.acts, a.Name)
	fmt.Fprintf(c.out, "%4.0fs  -- %s: %s\n", c.since().Seconds(), a.Name, a.Says)
}

// Look reads the metrics and notes what is new. It reports whether a call
// through the act's client has failed for its caller.
func (c *Chronicle) Look(ctx context.Context, a Act) (escaped bool, err error) {
	r, err := c.read(ctx, a.Accounting)
	if err != nil || !r.taken {
		return false, err
	}
	now := c.since()
	first := func(at *time.Duration, happened bool, what string) {
		if *at == 0 && happened {
			*at = now
			fmt.Fprintf(c.out, "%4.0fs  %s (%.0f tokens left)\n", now.Seconds(), what, r.tokens)
		}
	}
	switch a.Name {
	case "legacy":
		first(&c.pending, r.draining != "inactive", "the draining alert is pending")
		first(&c.firing, r.draining == "firing", "the draining alert FIRES")
		first(&c.denied, r.denied > 0, "the first retry is denied")
		first(&c.escaped, r.escapes > 0, "the first failure reaches a caller")
	case "settled":
		if !c.settled.taken {
			c.settled = r
		}
		c.last = r
		c.lowest = min(c.lowest, r.tokens)
		c.alarmed = c.alarmed || r.draining == "firing"
	}
	if now-c.printed >= 5*time.Second {
		c.printed = now
		c.line(a.Accounting, r)
	}
	return r.escapes > 0, nil
}

// read asks Prometheus. A client that it has not seen yet has no reading.
func (c *Chronicle) read(ctx context.Context, a stage.Accounting) (reading, error) {
	of := `{plimsoll_client="` + string(a) + `",server_address="orders.shop"`
	r := reading{draining: c.demo.DB.Alert(dashboards.BudgetDraining)}
	now := c.demo.Now()
	for _, q := range []struct {
		into *float64
		expr string
	}{
		{&r.tokens, `min(plimsoll_retry_budget_tokens` + of + `})`},
		{&r.escapes, `sum(plimsoll_call_escapes_total` + of + `})`},
		{&r.denied, `sum(plimsoll_retry_skipped_total` + of + `,plimsoll_skip_reason="bucket"})`},
		{&r.recoveries, `sum(plimsoll_conn_recoveries_total` + of + `})`},
		{&r.retries, `sum(plimsoll_retry_armed_total` + of + `})`},
	} {
		v, err := c.demo.DB.Query(ctx, q.expr, now)
		if err != nil {
			return r, err
		}
		if len(v) > 0 {
			*q.into, r.taken = v[0].F, true
		}
	}
	return r, nil
}

// Outcomes that are not as they should be.
var (
	errNoAlert  = errors.New("the draining alert did not fire before the first failure reached a caller")
	errNoEscape = errors.New("the budget did not drain within the story: give it more time with -duration")
	errSettled  = errors.New("settled accounting with recovery did not keep the budget full")
	errNoAct    = errors.New("the story ended before both accountings were seen")
)

// fullEnough is the level that the settled act must hold: a few tokens are on
// loan to retries at any time.
const fullEnough = 475

// SumUp writes the lead time and the summary, and returns what is not as it
// should be.
func (c *Chronicle) SumUp() error {
	w := c.out
	fmt.Fprintf(w, "\nLegacy accounting, no recovery, two parked connections a second die:\n")
	switch {
	case c.escaped == 0:
		fmt.Fprintf(w, "  no failure reached a caller.\n")
	case c.firing == 0 || c.firing >= c.escaped:
		fmt.Fprintf(w, "  lead time: none. The first failure reached a caller after %.0f s; the draining alert %s.\n",
			c.escaped.Seconds(), map[bool]string{true: "never fired", false: "fired later"}[c.firing == 0])
	default:
		fmt.Fprintf(w, "  lead time: %.0f s. The draining alert was pending at %.0f s and fired at %.0f s; the first failure reached a caller at %.0f s.\n",
			(c.escaped - c.firing).Seconds(), c.pending.Seconds(), c.firing.Seconds(), c.escaped.Seconds())
	}
	if c.settled.taken {
		fmt.Fprintf(w, "Settled accounting with recovery, the same:\n  lowest level %.0f of 500, %.0f connections recovered, %.0f failures reached callers, draining alert %s.\n",
			c.lowest, c.last.recoveries-c.settled.recoveries, c.last.escapes-c.settled.escapes, map[bool]string{true: "fired", false: "silent"}[c.alarmed])
	}
	fmt.Fprintf(w, "Rules, windows and waits are those for scrapes every %v; with 15 s, multiply by 15.\n", Interval)
	switch {
	case !slices.Contains(c.acts, "legacy") || !c.settled.taken:
		return errNoAct
	case c.escaped == 0:
		return errNoEscape
	case c.firing == 0 || c.firing >= c.escaped:
		return errNoAlert
	case c.alarmed || c.lowest < fullEnough || c.last.escapes > c.settled.escapes:
		return fmt.Errorf("%w: lowest level %.0f, %.0f escapes, alert fired: %t", errSettled, c.lowest, c.last.escapes-c.settled.escapes, c.alarmed)
	}
	return nil
}

// watchEvery is how often Watch writes a line.
const watchEvery = 10 * time.Second

// Watch writes how orders is doing, for that long; 0: until ctx ends.
func (c *Chronicle) Watch(ctx context.Context, length time.Duration) error {
	if length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		a := c.demo.Stage.State().Accounting
		r, err := c.read(ctx, a)
		if err != nil {
			return err
		}
		if r.taken {
			c.line(a, r)
		}
	}
}

func (c *Chronicle) line(a stage.Accounting, r reading) {
	fmt.Fprintf(c.out, "%4.0fs  %-8s %3.0f tokens, %.0f retries, %.0f recoveries, %.0f escapes, draining %s\n",
		c.since().Seconds(), a, r.tokens, r.retries, r.recoveries, r.escapes, r.draining)
}
