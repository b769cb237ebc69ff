package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// view draws the story: redrawn in place on a terminal, a line a second
// elsewhere.
type view struct {
	w      io.Writer
	screen screen
	live   bool
	every  time.Duration
	drawn  int // lines on the screen that the next frame replaces
}

func newView(w io.Writer, live bool, s screen) *view {
	if live {
		return &view{w: w, screen: s, live: true, every: redrawEvery}
	}
	return &view{w: w, screen: s, every: lineEvery}
}

// frame is one look at everything.
type frame struct {
	at     time.Duration
	phase  string
	says   string
	actors []actorFrame
}

type actorFrame struct {
	name, host string
	reading    reading
	spark      []int64 // latest levels, oldest first
	rate       float64 // calls a second since the frame before
}

func (v *view) draw(f frame) error {
	if v.live {
		return v.redraw(f)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%3.0fs %-16s", f.at.Seconds(), f.phase)
	for i, a := range f.actors {
		if i > 0 {
			b.WriteString(" |")
		}
		r := a.reading
		fmt.Fprintf(&b, " %s [%s] %d/%d retries %d skipped %s recoveries %d escapes %d",
			a.name, bar(r.tokens, r.capacity, 10, '#', '.'), r.tokens, r.capacity, r.retries, skips(r.skipped), r.recoveries, r.escapes)
	}
	b.WriteString("\n")
	_, err := io.WriteString(v.w, b.String())
	return err
}

func (v *view) redraw(f frame) error {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.drawn)
	}
	full, empty := '█', '·'
	if !v.screen.utf8 {
		full, empty = '#', '.'
	}
	lines := []string{fmt.Sprintf("%3.0f s  %s: %s", f.at.Seconds(), v.screen.paint(bold, f.phase), f.says), ""}
	for _, a := range f.actors {
		r := a.reading
		lines = append(lines,
			fmt.Sprintf("%s http://%-22s %5.1f calls/s", v.screen.paint(bold, fmt.Sprintf("%-8s", a.name)), a.host, a.rate),
			strings.TrimRight(fmt.Sprintf("  tokens %s %3d/%d  %s", v.screen.paint(color(r), bar(r.tokens, r.capacity, 30, full, empty)), r.tokens, r.capacity, v.spark(a.spark, r.capacity)), " "),
			fmt.Sprintf("  retries %-6d skipped %-22s recoveries %-6d escapes %d", r.retries, skips(r.skipped), r.recoveries, r.escapes),
			"",
		)
	}
	v.drawn = len(lines)
	b.WriteString(strings.Join(lines, "\n") + "\n")
	_, err := io.WriteString(v.w, b.String())
	return err
}

// spark is a spark line, which ASCII has no marks for.
func (v *view) spark(levels []int64, of int64) string {
	if !v.screen.utf8 {
		return ""
	}
	return sparkline(levels, of)
}

// color is green, yellow below half, red below a fifth.
func color(r reading) string {
	switch {
	case r.tokens*5 < r.capacity:
		return red
	case r.tokens*2 < r.capacity:
		return yellow
	}
	return green
}

func bar(n, of int64, width int, full, empty rune) string {
	filled := 0
	if of > 0 {
		filled = int((n*int64(width) + of - 1) / of)
	}
	filled = max(0, min(filled, width))
	return strings.Repeat(string(full), filled) + strings.Repeat(string(empty), width-filled)
}

var ticks = []rune("▁▂▃▄▅▆▇█")

func sparkline(levels []int64, of int64) string {
	var b strings.Builder
	for _, l := range levels {
		i := 0
		if of > 0 {
			i = int(l * int64(len(ticks)-1) / of)
		}
		b.WriteRune(ticks[max(0, min(i, len(ticks)-1))])
	}
	return b.String()
}

// skips lists refusals by reason.
func skips(by map[string]int64) string {
	if len(by) == 0 {
		return "0"
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s:%d", reason, by[reason]))
	}
	return strings.Join(parts, ",")
}
