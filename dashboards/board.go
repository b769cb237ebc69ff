package dashboards

import (
	"fmt"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// Board is one dashboard.
type Board struct {
	// UID identifies the dashboard in Grafana and names its file: letters,
	// digits, "-" and "_", at most 40 of them.
	UID string
	// Title and Description are what Grafana shows.
	Title, Description string
	Rows               []Row // from top to bottom
}

// Row is a titled row of panels, laid out from left to right.
type Row struct {
	Title  string  // above the row's panels
	Panels []Panel // at least one
}

// Kind is how a panel shows its queries.
type Kind uint8

// The kinds of panels.
const (
	TimeSeries    Kind = iota + 1 // lines over time
	Stat                          // the latest value as a number, over a sparkline
	StateTimeline                 // colored bars over time, one per series; needs Values
)

// String returns the name that Grafana gives the kind.
func (k Kind) String() string {
	switch k {
	case TimeSeries:
		return "timeseries"
	case Stat:
		return "stat"
	case StateTimeline:
		return "state-timeline"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Panel is one panel. Every field without a stated default is required:
// [Set.Lint] says what is missing.
type Panel struct {
	Title       string  // unique on its dashboard
	Description string  // what it shows, and what to do about it
	Kind        Kind    // how the queries are shown
	Unit        string  // one of the units of this package, or a unit ID of Grafana
	Queries     []Query // at least one
	// Base is the color below the first step; zero: green.
	Base Color
	// Steps are the thresholds above Base, increasing.
	Steps []Step
	// Values name the values of a StateTimeline.
	Values []Value
	// Runbook is the page that the panel links to: the name of a file of the
	// runbooks' folder without ".md".
	Runbook string
	// Min and Max bound the axis; nil: as the data has it.
	Min, Max *float64
	// Stacked puts the series of a TimeSeries on top of each other.
	Stacked bool
	// NoValue is shown where there is no series at all; "": Grafana's "No data".
	NoValue string
	// Width is out of 24; 0: 4 for Stat, 24 for StateTimeline, else 12.
	// Height is in rows of 30 pixels; 0: 4 for Stat, else 8.
	Width, Height int
}

// Query is one query of a panel. Legend may use labels as {{label}}.
type Query struct {
	Expr   promql.Expr // over Set.Panels
	Legend string      // how a series is called
}

// Step is a threshold: Color holds from From upwards.
type Step struct {
	From  float64 // the lowest value that has the color
	Color Color   // of that value and those above
}

// Value gives a value of a StateTimeline a text and a color.
type Value struct {
	Value float64 // as the query gives it
	Text  string  // what is shown in its place
	Color Color   // of its bar
}

// Color is one of Grafana's named colors.
type Color string

// The colors of thresholds. Blue is for what is neither good nor bad.
const (
	Green  Color = "green"
	Yellow Color = "yellow"
	Orange Color = "orange"
	Red    Color = "red"
	Blue   Color = "blue"
)

// The units of the standard panels, as Grafana knows them.
const (
	UnitSeconds       = "s"
	UnitMinutes       = "m"
	UnitShare         = "percentunit" // 0 to 1
	UnitBytesRate     = "Bps"
	UnitRequestsRate  = "reqps"
	UnitEventsRate    = "eps"
	UnitRate          = "ops" // of anything, per second
	UnitCount         = "short"
	UnitTokens        = "suffix:tokens"
	UnitTokensMinute  = "suffix:tokens/min"
	UnitStateOrNumber = "none"
)

// The keys by which the standard panels and rules tell series apart: the
// scopes of the catalogue's metrics.
var (
	byOrigin    = []string{catalog.KeyClient, catalog.KeyAddress, catalog.KeyPort}
	byPartition = []string{catalog.KeyClient, catalog.KeyAddress, catalog.KeyPort, catalog.KeyPartition}
)

// ByOrigin returns the attribute keys that tell the origins of a client apart,
// to aggregate by.
func ByOrigin() []string { return append([]string(nil), byOrigin...) }

// ByPartition returns those that tell its partitions apart. Metrics of an
// origin, such as those of connections, don't have the last one.
func ByPartition() []string { return append([]string(nil), byPartition...) }

// Legend returns a legend that shows the attributes, as Grafana writes it.
// The port is joined to the address.
func Legend(keys ...string) string {
	s := ""
	for _, key := range keys {
		switch {
		case s == "":
		case key == catalog.KeyPort:
			s += ":"
		default:
			s += " "
		}
		s += "{{" + catalog.PrometheusLabel(key) + "}}"
	}
	return s
}

func (p Panel) width() int {
	switch {
	case p.Width != 0:
		return p.Width
	case p.Kind == Stat:
		return 4
	case p.Kind == StateTimeline:
		return 24
	}
	return 12
}

func (p Panel) height() int {
	switch {
	case p.Height != 0:
		return p.Height
	case p.Kind == Stat:
		return 4
	}
	return 8
}

func (p Panel) base() Color {
	if p.Base == "" {
		return Green
	}
	return p.Base
}

// cell is where a panel or a row's title lies on the grid of 24 columns.
type cell struct{ id, x, y, w, h int }

// layout places the rows' titles and panels: ids from 1 in the order of
// appearance, panels from left to right, wrapped at 24 columns.
func (b Board) layout() (titles []cell, panels [][]cell) {
	id, y := 0, 0
	for _, row := range b.Rows {
		id++
		titles = append(titles, cell{id: id, y: y, w: 24, h: 1})
		y++
		x, tallest := 0, 0
		var line []cell
		for _, p := range row.Panels {
			if x+p.width() > 24 {
				x, y, tallest = 0, y+tallest, 0
			}
			id++
			line = append(line, cell{id: id, x: x, y: y, w: p.width(), h: p.height()})
			x += p.width()
			tallest = max(tallest, p.height())
		}
		y += tallest
		panels = append(panels, line)
	}
	return titles, panels
}

// panel returns the id of the panel of that title, or 0.
func (b Board) panel(title string) int {
	_, cells := b.layout()
	for i, row := range b.Rows {
		for j, p := range row.Panels {
			if p.Title == title {
				return cells[i][j].id
			}
		}
	}
	return 0
}
