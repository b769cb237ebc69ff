package dashboards

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
)

var (
	variable      = regexp.MustCompile(`\$\{?([a-zA-Z_][a-zA-Z0-9_]*)`)
	legendLabel   = regexp.MustCompile(`\{\{\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\}\}`)
	alertName     = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	recordingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*:[a-zA-Z0-9_]+:[a-zA-Z0-9_]+$`)
	runbookPage   = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// known are the variables that a panel's query may use.
var known = []string{varDatasource, varJob, varClient, varOrigin, "__rate_interval", "__interval", "__range"}

// Lint reports everything about the set that Grafana, Prometheus or a reader
// would stumble over: missing units, descriptions and runbooks, duplicate
// names, unknown variables, legends with labels that the query aggregated
// away, alerts that point to no panel. Every finding says where it is.
func (s *Set) Lint() error {
	var l linter
	seen := map[string]bool{}
	for _, b := range s.Boards {
		l.at("dashboard %q", b.Title)
		l.require(b.Title != "", "has no title")
		l.require(validUID(b.UID), "has the UID %q: use letters, digits, - and _, at most 40", b.UID)
		l.require(!seen[b.UID], "has the UID %q of another dashboard", b.UID)
		seen[b.UID] = true
		l.require(b.Description != "", "has no description")
		l.board(b)
	}
	s.lintGroups(&l)
	return errors.Join(l.errs...)
}

type linter struct {
	where string
	errs  []error
}

func (l *linter) at(format string, args ...any) { l.where = fmt.Sprintf(format, args...) }

func (l *linter) require(ok bool, format string, args ...any) {
	if !ok {
		l.errs = append(l.errs, fmt.Errorf("dashboards: %s %s", l.where, fmt.Sprintf(format, args...)))
	}
}

func (l *linter) board(b Board) {
	titles := map[string]bool{}
	for _, row := range b.Rows {
		l.at("dashboard %q, row %q", b.Title, row.Title)
		l.require(row.Title != "", "has no title")
		l.require(len(row.Panels) > 0, "has no panels")
		for _, p := range row.Panels {
			l.at("dashboard %q, panel %q", b.Title, p.Title)
			l.require(!titles[p.Title], "has the title of another panel")
			titles[p.Title] = true
			l.panel(p)
		}
	}
}

func (l *linter) panel(p Panel) {
	l.require(p.Title != "", "has no title")
	l.require(p.Description != "", "has no description: say what it shows and what to do about it")
	l.require(p.Kind >= TimeSeries && p.Kind <= StateTimeline, "has no kind: use TimeSeries, Stat or StateTimeline")
	l.require(p.Unit != "", "has no unit: use UnitCount for plain numbers")
	l.require(runbookPage.MatchString(p.Runbook), "has the runbook %q: give a page's name without .md", p.Runbook)
	l.require(p.width() >= 1 && p.width() <= 24, "is %d columns wide: use 1 to 24", p.Width)
	l.require(p.height() >= 1, "is %d rows high: use at least 1", p.Height)
	l.require(len(p.Queries) > 0, "has no queries")
	l.require(p.Kind != StateTimeline || len(p.Values) > 0, "has no Values to name its states")
	for i, s := range p.Steps {
		l.require(s.Color != "", "has a step at %v without a color", s.From)
		l.require(i == 0 || s.From > p.Steps[i-1].From, "has a step at %v that is not above the one before it", s.From)
	}
	for _, q := range p.Queries {
		l.require(q.Legend != "", "has a query without a legend")
		if err := q.Expr.Err(); err != nil {
			l.require(false, "has a bad query: %v", err)
			continue
		}
		for _, v := range variable.FindAllStringSubmatch(q.Expr.String(), -1) {
			l.require(slices.Contains(known, v[1]), "uses the variable $%s, which no dashboard has", v[1])
		}
		if labels := q.Expr.Labels(); labels != nil {
			for _, m := range legendLabel.FindAllStringSubmatch(q.Legend, -1) {
				l.require(slices.Contains(labels, m[1]), "has a legend with the label %s, which its query aggregates away", m[1])
			}
		}
	}
}

func (s *Set) lintGroups(l *linter) {
	groups, names := map[string]bool{}, map[string]bool{}
	for _, g := range s.Groups {
		l.at("group %q", g.Name)
		l.require(g.Name != "", "has no name")
		l.require(!groups[g.Name], "has the name of another group")
		groups[g.Name] = true
		for _, r := range g.Recordings {
			l.at("recording %q", r.Name)
			l.require(recordingName.MatchString(r.Name), "has a name that is not level:metric:operation")
			l.require(!names[r.Name], "has the name of another rule")
			names[r.Name] = true
			l.ruleExpr(r.Expr)
		}
		for _, a := range g.Alerts {
			l.at("alert %q", a.Name)
			l.require(!names[a.Name], "has the name of another rule")
			names[a.Name] = true
			s.lintAlert(l, a)
		}
	}
}

func (s *Set) lintAlert(l *linter, a Alert) {
	l.require(alertName.MatchString(a.Name), "has a name that Prometheus doesn't take: use letters, digits and underscores")
	l.require(a.Severity.valid(), "has the severity %q: use critical, warning or info", a.Severity)
	l.require(a.For >= 0, "must hold for %v: use 0 or more", a.For)
	l.require(a.Summary != "" && !strings.Contains(a.Summary, "\n"), "needs a summary of one line")
	l.require(a.Description != "", "has no description")
	l.require(a.Format == "" || a.Format == Whole || a.Format == Decimal || a.Format == Share, "has the format %q: use Whole, Decimal or Share", a.Format)
	l.require(runbookPage.MatchString(a.Runbook), "has the runbook %q: give a page's name without .md", a.Runbook)
	l.ruleExpr(a.Expr)
	b := s.Board(a.Board)
	l.require(b != nil, "points to the dashboard %q, which is not in the set", a.Board)
	if b != nil {
		l.require(b.panel(a.Panel) > 0, "points to the panel %q, which dashboard %q doesn't have", a.Panel, b.Title)
	}
}

func (l *linter) ruleExpr(e promql.Expr) {
	if err := e.Err(); err != nil {
		l.require(false, "has a bad expression: %v", err)
		return
	}
	v := variable.FindString(e.String())
	l.require(v == "", "uses the variable %s, which Prometheus doesn't know", v)
}
