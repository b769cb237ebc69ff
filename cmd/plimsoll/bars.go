package main

import (
	"fmt"
	"strings"
	"time"
)

// Layout of the bars: a label, the bar, the total.
const (
	labelWidth    = 18
	totalWidth    = 10
	narrowestBars = labelWidth + totalWidth + 22 // below that there are numbers alone
)

// shortestPart is what brief does not round to nothing.
const shortestPart = 5 * time.Microsecond

// looks is how a phase is drawn and called.
var looks = [phases]struct {
	shade rune
	ascii rune
	color string
	name  string
}{
	dialPhase: {'░', 'd', cyan, "dial"},
	tlsPhase:  {'▒', 't', magenta, "TLS"},
	waitPhase: {'▓', 'w', yellow, "wait"},
	readPhase: {'█', 'r', green, "read"},
}

// cell is one place of a bar.
type cell struct {
	mark  rune
	color string
}

// bars draws the steps of calls on one time axis.
func (s screen) bars(calls []*callRecord) string {
	var b strings.Builder
	first, last := extent(calls)
	drawn := map[rune]bool{}
	if n := len(calls) - mostBars; n > 0 {
		fmt.Fprintf(&b, "(%d earlier calls are left out)\n", n)
		calls = calls[n:]
		first, last = extent(calls)
	}
	for _, c := range calls {
		b.WriteString(s.fit(c.method+" "+printable(c.url)) + "\n")
		for _, st := range c.steps {
			if a := st.attempt; a != nil {
				s.attemptLine(&b, a, first, last, drawn)
				continue
			}
			s.pauseLine(&b, st.pause, first, last, drawn)
		}
		if c.rejected {
			b.WriteString(s.fit("  breaker open: not sent") + "\n")
		}
		if c.skipped.Reason != "" {
			b.WriteString(s.fit("  no retry: "+string(c.skipped.Reason)) + "\n")
		}
	}
	s.legend(&b, drawn)
	return b.String()
}

// extent is the part of the time axis that is drawn.
func extent(calls []*callRecord) (first, last time.Duration) {
	begun := false
	for _, c := range calls {
		for _, st := range c.steps {
			i := st.interval()
			if !begun || i.from < first {
				first, begun = i.from, true
			}
			last = max(last, i.to)
		}
	}
	return first, last
}

func (s screen) attemptLine(b *strings.Builder, a *attempt, first, last time.Duration, drawn map[rune]bool) {
	result, color := "-", red
	switch {
	case a.status != 0:
		result = fmt.Sprint(a.status)
		if a.status < 400 {
			color = green
		}
	case a.class != "":
		result = "err"
	}
	row := make([]cell, max(0, s.width-labelWidth-totalWidth))
	var details []string
	if a.class != "" {
		details = append(details, "error "+string(a.class))
	}
	if a.reused {
		details = append(details, "reused connection")
	}
	if n := len(a.stale); n > 0 {
		details = append(details, fmt.Sprintf("dead connections replaced: %d", n))
	}
	place := newScale(first, last, len(row))
	next, left := place.column(a.from), 0
	for _, i := range a.parts {
		if i.length() >= shortestPart {
			left++
		}
	}
	for p, i := range a.parts {
		if i.length() < shortestPart {
			continue // not there, such as the body of an answer to HEAD
		}
		left--
		details = append(details, looks[p].name+" "+brief(i.length()))
		mark := s.shade(phase(p))
		drawn[mark] = true
		next = place.paint(row, i, next, left, cell{mark, looks[p].color})
	}
	for _, at := range a.stale {
		mark := s.cross()
		drawn[mark] = true
		place.paint(row, interval{at, at}, 0, 0, cell{mark, red})
	}
	label := fmt.Sprintf("  attempt %d", a.number)
	s.line(b, label, s.paint(color, result), len(result), row, a.length())
	s.note(b, details)
}

func (s screen) pauseLine(b *strings.Builder, p *pause, first, last time.Duration, drawn map[rune]bool) {
	row := make([]cell, max(0, s.width-labelWidth-totalWidth))
	mark := s.dot()
	drawn[mark] = true
	place := newScale(first, last, len(row))
	place.paint(row, p.interval, 0, 0, cell{mark, dim})
	label, details := "  retry wait", []string{"cause " + string(p.cause)}
	if p.throttle {
		label, details = "  throttled", []string{"the server had asked to stay away (Retry-After)"}
	} else if p.cost > 0 {
		details = append(details, fmt.Sprintf("%d tokens reserved", p.cost), fmt.Sprintf("%d left", p.level))
	}
	s.line(b, label, "", 0, row, p.length())
	s.note(b, details)
}

// line writes label, result, bar and total. resultWidth is the width of result
// without its colours.
func (s screen) line(b *strings.Builder, label, result string, resultWidth int, row []cell, total time.Duration) {
	if result != "" {
		label += strings.Repeat(" ", max(1, labelWidth-len(label)-resultWidth-1))
	}
	if s.width < narrowestBars {
		fmt.Fprintf(b, "%s%s %s\n", label, result, brief(total))
		return
	}
	pad := max(0, labelWidth-len(label)-resultWidth)
	fmt.Fprintf(b, "%s%s%s%s%*s\n", label, result, strings.Repeat(" ", pad), s.row(row), totalWidth, brief(total))
}

// note writes details below a line, in as many lines as they need.
func (s screen) note(b *strings.Builder, details []string) {
	indent := strings.Repeat(" ", labelWidth)
	if s.width < narrowestBars {
		indent = "    "
	}
	line := ""
	for i, d := range details {
		comma := 1
		if i == len(details)-1 {
			comma = 0
		}
		if line != "" && len(indent)+len(line)+len(", ")+len(d)+comma > s.width {
			b.WriteString(indent + s.paint(dim, line+",") + "\n")
			line = ""
		}
		if line != "" {
			line += ", "
		}
		line += d
		if i == len(details)-1 {
			b.WriteString(indent + s.paint(dim, line) + "\n")
		}
	}
}

// row is a bar as text.
func (s screen) row(cells []cell) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		run := i
		var text strings.Builder
		for ; run < len(cells) && cells[run].color == cells[i].color; run++ {
			if cells[run].mark == 0 {
				text.WriteByte(' ')
			} else {
				text.WriteRune(cells[run].mark)
			}
		}
		if cells[i].color == "" {
			b.WriteString(text.String())
		} else {
			b.WriteString(s.paint(cells[i].color, text.String()))
		}
		i = run
	}
	return b.String()
}

// legend explains the marks that were drawn.
func (s screen) legend(b *strings.Builder, drawn map[rune]bool) {
	if s.width < narrowestBars || len(drawn) == 0 {
		return
	}
	width := 0
	explain := func(mark rune, color, name string) {
		if !drawn[mark] {
			return
		}
		entry := 4 + len(name)
		if width > 0 && width+entry > s.width {
			b.WriteString("\n")
			width = 0
		}
		width += entry
		b.WriteString("  " + s.paint(color, string(mark)) + " " + name)
	}
	for p, l := range looks {
		explain(s.shade(phase(p)), l.color, l.name)
	}
	explain(s.dot(), dim, "wait before a retry")
	explain(s.cross(), red, "dead connection")
	b.WriteString("\n")
}

func (s screen) shade(p phase) rune {
	if s.utf8 {
		return looks[p].shade
	}
	return looks[p].ascii
}

func (s screen) dot() rune {
	if s.utf8 {
		return '·'
	}
	return '.'
}

func (s screen) cross() rune {
	if s.utf8 {
		return '×'
	}
	return 'x'
}

// fit cuts a line to the width of the screen.
func (s screen) fit(line string) string {
	runes := []rune(line)
	if len(runes) <= s.width || s.width < 8 {
		return line
	}
	return string(runes[:s.width-3]) + "..."
}

// scale maps the time axis to columns.
type scale struct {
	first, last time.Duration
	width       int
}

func newScale(first, last time.Duration, width int) scale {
	return scale{first, max(last, first+1), width}
}

// column is where an instant is drawn, from 0 to width-1.
func (c scale) column(at time.Duration) int {
	if c.width == 0 {
		return 0
	}
	n := int(float64(at-c.first) / float64(c.last-c.first) * float64(c.width))
	return max(0, min(n, c.width-1))
}

// paint draws an interval, at least one column of it, not left of least, and
// returns the column after it. It leaves room columns free at the right edge,
// for which it moves to the left.
func (c scale) paint(row []cell, i interval, least, room int, with cell) int {
	if c.width <= room {
		return 0
	}
	from := min(max(c.column(i.from), least), c.width-1-room)
	to := int(float64(i.to-c.first)/float64(c.last-c.first)*float64(c.width) + 0.5)
	to = min(max(from+1, to), c.width-room)
	for n := from; n < to; n++ {
		row[n] = with
	}
	return to
}

// brief is a duration with three figures.
func brief(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d < 0:
		return "0 ms"
	case ms < 9.995:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 99.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
