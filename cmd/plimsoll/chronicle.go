package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/story"
)

// sparkWidth is how many levels the spark line shows.
const sparkWidth = 32

// chronicle remembers what each look at the metrics saw, for the view and for
// the summary.
type chronicle struct {
	demo  *demo
	view  *view
	start time.Time

	chapters []chapter
	sparks   [][]int64
	last     []reading
	lastAt   time.Time

	emptied, refused, refilled time.Duration // first times; 0 if never
}

// chapter is one phase as the metrics of the first upstream saw it.
type chapter struct {
	phase  story.Phase
	at     time.Duration
	first  reading
	end    reading
	lowest int64
}

func newChronicle(d *demo, v *view, start time.Time) *chronicle {
	return &chronicle{demo: d, view: v, start: start, lastAt: start, sparks: make([][]int64, len(d.actors)), last: make([]reading, len(d.actors))}
}

// begin closes the chapter before and opens that of p.
func (c *chronicle) begin(ctx context.Context, p story.Phase) error {
	r, err := c.demo.measure(ctx)
	if err != nil {
		return err
	}
	now := c.of(r, 0)
	c.close(now)
	c.chapters = append(c.chapters, chapter{phase: p, at: time.Since(c.start), first: now, end: now, lowest: now.tokens})
	return nil
}

func (c *chronicle) close(now reading) {
	if n := len(c.chapters); n > 0 {
		c.chapters[n-1].end = now
		c.chapters[n-1].lowest = min(c.chapters[n-1].lowest, now.tokens)
	}
}

// of returns the reading of an actor; before its first call its budget is
// full, and not yet in the metrics.
func (c *chronicle) of(r map[string]reading, i int) reading {
	o := r[host(c.demo.actors[i])]
	if o.capacity == 0 {
		o.capacity = int64(c.demo.budget.Capacity())
		o.tokens = o.capacity
	}
	return o
}

func host(a *actor) string { return strings.TrimPrefix(a.upstream.URL(), "http://") }

// look measures and draws.
func (c *chronicle) look(ctx context.Context) error {
	readings, err := c.demo.measure(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	f := frame{at: now.Sub(c.start)}
	if n := len(c.chapters); n > 0 {
		f.phase, f.says = c.chapters[n-1].phase.Name, c.chapters[n-1].phase.Says
	}
	for i, a := range c.demo.actors {
		r := c.of(readings, i)
		c.sparks[i] = append(c.sparks[i], r.tokens)
		if len(c.sparks[i]) > sparkWidth {
			c.sparks[i] = c.sparks[i][1:]
		}
		f.actors = append(f.actors, actorFrame{
			name: a.upstream.Name, host: host(a), reading: r, spark: c.sparks[i],
			rate: float64(r.calls-c.last[i].calls) / now.Sub(c.lastAt).Seconds(),
		})
		c.last[i] = r
	}
	c.lastAt = now
	c.note(c.last[0], f.at)
	return c.view.draw(f)
}

// note keeps the moments that the summary speaks of.
func (c *chronicle) note(r reading, at time.Duration) {
	c.close(r)
	if c.emptied == 0 && r.tokens*2 < r.capacity {
		c.emptied = at
	}
	if c.refused == 0 && r.skipped["bucket"] > 0 {
		c.refused = at
	}
	if r.tokens < r.capacity {
		c.refilled = 0
	} else if c.emptied != 0 && c.refilled == 0 {
		c.refilled = at
	}
}

// sumUp prints what was measured.
func (c *chronicle) sumUp(interrupted bool) error {
	readings, err := c.demo.measure(context.Background())
	if err != nil {
		return err
	}
	r := c.of(readings, 0)
	c.note(r, time.Since(c.start))
	var b strings.Builder
	if interrupted {
		b.WriteString("\nInterrupted. ")
	}
	fmt.Fprintf(&b, "\nSummary of %s, read from the exported metrics:\n\n", c.demo.actors[0].upstream.Name)
	c.table(&b)
	fmt.Fprintf(&b, "\nTokens: %d reserved for retries, %d kept, %d given back, %d earned by calls that needed none.\n", r.reserved, r.kept, r.refunded, r.earned)
	if c.emptied > 0 {
		fmt.Fprintf(&b, "The level fell below half %s after the start", seconds(c.emptied))
		if c.refused > c.emptied {
			fmt.Fprintf(&b, ", %s before the first retry was refused", seconds(c.refused-c.emptied))
		}
		if c.refilled > 0 {
			fmt.Fprintf(&b, ", and the budget was full again after %s", seconds(c.refilled))
		}
		b.WriteString(".\n")
	}
	other := c.of(readings, 1)
	fmt.Fprintf(&b, "Meanwhile %s kept %d of %d tokens: a budget is per origin.\n", c.demo.actors[1].upstream.Name, other.tokens, other.capacity)
	for _, a := range c.demo.actors {
		t := a.load.Tally()
		fmt.Fprintf(&b, "Callers of %s: %d good answers, %d failures, %d errors; the upstream saw %d requests.\n", a.upstream.Name, t.Good, t.Bad, t.Failed, a.upstream.Hits())
	}
	fmt.Fprintf(&b, "Spans ended: %d.\n", c.demo.spans.n.Load())
	_, err = io.WriteString(c.view.w, b.String())
	return err
}

func (c *chronicle) table(w io.Writer) {
	tab := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tab, "  phase\ttokens\tlowest\tcalls\tretries\tskipped\trecoveries\tescapes")
	for _, ch := range c.chapters {
		a, z := ch.first, ch.end
		fmt.Fprintf(tab, "  %s\t%d → %d\t%d\t%d\t%d\t%s\t%d\t%d\n", ch.phase.Name, a.tokens, z.tokens, ch.lowest,
			z.calls-a.calls, z.retries-a.retries, skips(minus(z.skipped, a.skipped)), z.recoveries-a.recoveries, z.escapes-a.escapes)
	}
	_ = tab.Flush() // w is a strings.Builder
}

func minus(a, b map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for k, n := range a {
		if n > b[k] {
			out[k] = n - b[k]
		}
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
