package dashboards_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestTheStandardDashboardsAreFive(t *testing.T) {
	var titles []string
	for _, b := range boards(t, standard(t, dashboards.Options{})) {
		titles = append(titles, b.Title)
		if b.SchemaVersion < 36 || !slices.Contains(b.Tags, "plimsoll") || b.Description == "" || b.GraphTooltip != 1 {
			t.Errorf("%s: schema %d, tags %q, tooltip %d, description %q", b.Title, b.SchemaVersion, b.Tags, b.GraphTooltip, b.Description)
		}
	}
	if want := []string{"Overview", "Retry budget", "Connections", "Breaker", "Streams and throttles"}; !slices.Equal(titles, want) {
		t.Errorf("dashboards %q, want %q", titles, want)
	}
}

func TestPanelsHaveIDsOfTheirOwnAndDoNotOverlap(t *testing.T) {
	for _, b := range boards(t, standard(t, dashboards.Options{})) {
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range b.Panels {
			if p.ID < 1 || ids[p.ID] {
				t.Errorf("%s, %s: id %d is zero or taken", b.Title, p.Title, p.ID)
			}
			ids[p.ID] = true
			g := p.GridPos
			if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
				t.Errorf("%s, %s: it lies at %+v", b.Title, p.Title, g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok {
						t.Fatalf("%s: %s overlaps %s", b.Title, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

func TestPanelsSayWhatTheyShow(t *testing.T) {
	for _, b := range boards(t, standard(t, dashboards.Options{})) {
		for _, p := range b.Panels {
			if p.Type == "row" {
				continue
			}
			where := b.Title + ", " + p.Title
			d := p.FieldConfig.Defaults
			if p.Title == "" || p.Description == "" || d.Unit == "" {
				t.Errorf("%s: description %q, unit %q", where, p.Description, d.Unit)
			}
			if p.Datasource != (source{"prometheus", "${datasource}"}) {
				t.Errorf("%s: data source %v", where, p.Datasource)
			}
			if len(d.Thresholds.Steps) == 0 || d.Thresholds.Steps[0].Value != nil {
				t.Errorf("%s: its thresholds have no base: %v", where, d.Thresholds)
			}
			if len(p.Links) == 0 {
				t.Errorf("%s: no link to a runbook", where)
			}
			switch {
			case p.Type == "stat":
				if p.Options.ReduceOptions == nil || len(p.Options.ReduceOptions.Calcs) == 0 {
					t.Errorf("%s: a stat needs to know which value to show", where)
				}
			case p.Options.Legend == nil || !p.Options.Legend.ShowLegend:
				t.Errorf("%s: its legend is off", where)
			}
			if p.Type == "state-timeline" && len(d.Mappings) == 0 {
				t.Errorf("%s: its states have no names", where)
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s: no queries", where)
			}
			refs := map[string]bool{}
			for _, q := range p.Targets {
				if refs[q.RefID] || q.RefID == "" || q.LegendFormat == "" || q.Datasource != p.Datasource {
					t.Errorf("%s: query %+v", where, q)
				}
				refs[q.RefID] = true
			}
		}
	}
}

func TestEveryVariableThatIsUsedIsDefined(t *testing.T) {
	used := regexp.MustCompile(`\$\{?([A-Za-z_]+)`)
	for _, b := range boards(t, standard(t, dashboards.Options{Labels: map[string]string{"cluster": "eu"}})) {
		defined := []string{"__rate_interval"} // Grafana's own
		for _, v := range b.Templating.List {
			query, _ := v.Query.(string)
			for _, m := range used.FindAllStringSubmatch(query+" "+v.Datasource.UID, -1) {
				if !slices.Contains(defined, m[1]) {
					t.Errorf("%s: variable %s uses $%s before it is defined", b.Title, v.Name, m[1])
				}
			}
			if v.Type == "query" && (!strings.Contains(query, "label_values(") || !strings.Contains(query, `cluster="eu"`) || !v.IncludeAll || v.AllValue != ".*") {
				t.Errorf("%s: variable %+v", b.Title, v)
			}
			if v.Multi != (v.Name == "origin") {
				t.Errorf("%s: variable %s: several values may be chosen: %v", b.Title, v.Name, v.Multi)
			}
			defined = append(defined, v.Name)
		}
		if want := []string{"__rate_interval", "datasource", "job", "client", "origin"}; !slices.Equal(defined, want) {
			t.Errorf("%s: variables %q, want %q", b.Title, defined, want)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				for _, m := range used.FindAllStringSubmatch(q.Expr+" "+q.Datasource.UID, -1) {
					if !slices.Contains(defined, m[1]) {
						t.Errorf("%s, %s: $%s is not defined", b.Title, p.Title, m[1])
					}
				}
			}
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	const runbooks = "https://github.com/plimsoll-http/plimsoll/blob/main/docs/runbooks/"
	all := boards(t, standard(t, dashboards.Options{}))
	for _, b := range all {
		if len(b.Links) != len(all)-1 {
			t.Errorf("%s links to %d dashboards, want %d", b.Title, len(b.Links), len(all)-1)
		}
		for _, l := range b.Links {
			uid, ok := strings.CutPrefix(l.URL, "/d/")
			if !ok || uid == b.UID || !slices.ContainsFunc(all, func(o rendered) bool { return o.UID == uid }) || !l.IncludeVars || !l.KeepTime {
				t.Errorf("%s: link %+v", b.Title, l)
			}
		}
		for _, p := range b.Panels {
			for _, l := range p.Links {
				page, ok := strings.CutPrefix(l.URL, runbooks)
				if _, err := os.Stat(filepath.Join("../docs/runbooks", page)); !ok || err != nil {
					t.Errorf("%s, %s: link to %s: %v", b.Title, p.Title, l.URL, err)
				}
			}
		}
	}
}

func TestEveryMetricOfTheCatalogueIsOnAPanel(t *testing.T) {
	shown := map[string]bool{}
	for _, b := range standard(t, dashboards.Options{}).Boards {
		for _, row := range b.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					for _, m := range q.Expr.Metrics() {
						shown[m] = true
					}
				}
			}
		}
	}
	for _, m := range catalog.Metrics() {
		if !shown[m.Name] {
			t.Errorf("%s is on no panel", m.Name)
		}
	}
}

// The whole story of a drain has to be read at one glance.
func TestTheRetryBudgetDashboardShowsTheDrainOnOneTimeAxis(t *testing.T) {
	board := standard(t, dashboards.Options{}).Board("plimsoll-retry-budget")
	i := slices.IndexFunc(board.Rows, func(r dashboards.Row) bool { return strings.Contains(r.Title, "one time axis") })
	if i < 0 {
		t.Fatal("there is no such row")
	}
	var metrics []string
	for _, p := range board.Rows[i].Panels {
		if p.Width != 24 {
			t.Errorf("%s is %d columns wide: the axes do not line up", p.Title, p.Width)
		}
		for _, q := range p.Queries {
			metrics = append(metrics, q.Expr.Metrics()...)
		}
	}
	for _, want := range []string{
		catalog.BudgetTokens, catalog.BudgetCapacity, catalog.BudgetReserved, catalog.BudgetKept, catalog.BudgetRefunded, catalog.RetrySkipped, catalog.CallEscapes,
	} {
		if !slices.Contains(metrics, want) {
			t.Errorf("%s is missing in %q", want, metrics)
		}
	}
}

// Summed up or averaged, a full budget would hide an empty one.
func TestLevelsOfProcessesAreNeverAddedUp(t *testing.T) {
	check := func(where, expr string) {
		for _, m := range []string{"plimsoll_retry_budget_tokens", "plimsoll_breaker_state"} {
			for _, bad := range []string{"sum", "avg", "count"} {
				if regexp.MustCompile(bad + `(?: by \([^)]*\))? \(` + m).MatchString(expr) {
					t.Errorf("%s: %s of %s in %s", where, bad, m, expr)
				}
			}
		}
		if strings.Contains(expr, "plimsoll_retry_budget_tokens") && !strings.HasPrefix(expr, "min") && !strings.HasPrefix(expr, "max by") && !strings.HasPrefix(expr, "max(") {
			t.Errorf("%s: the level is not aggregated by min or max: %s", where, expr)
		}
	}
	set := standard(t, dashboards.Options{})
	for _, b := range set.Boards {
		for _, row := range b.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					check(b.Title+", "+p.Title, q.Expr.String())
				}
			}
		}
	}
	for _, g := range set.Groups {
		for _, a := range g.Alerts {
			check(a.Name, a.Expr.String())
		}
		for _, r := range g.Recordings {
			check(r.Name, r.Expr.String())
		}
	}
}
