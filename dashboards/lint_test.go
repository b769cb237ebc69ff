package dashboards_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestTheStandardSetHasNothingToFind(t *testing.T) {
	for _, o := range []dashboards.Options{{}, adapted()} {
		if err := standard(t, o).Lint(); err != nil {
			t.Error(err)
		}
	}
}

func TestLintFindsWhatAReaderWouldStumbleOver(t *testing.T) {
	first := func(s *dashboards.Set) *dashboards.Panel { return &s.Boards[0].Rows[0].Panels[0] }
	alert := func(s *dashboards.Set) *dashboards.Alert { return s.Alert(dashboards.BudgetLow) }
	for want, spoil := range map[string]func(*dashboards.Set){
		`dashboard "" has no title`:                  func(s *dashboards.Set) { s.Boards[1].Title = "" },
		`has the UID "a b"`:                          func(s *dashboards.Set) { s.Boards[0].UID = "a b" },
		`has the UID "plimsoll-breaker" of another`:  func(s *dashboards.Set) { s.Boards[0].UID = "plimsoll-breaker" },
		`"Breaker" has no description`:               func(s *dashboards.Set) { s.Board("plimsoll-breaker").Description = "" },
		`row "Now" has no panels`:                    func(s *dashboards.Set) { s.Boards[0].Rows[0].Panels = nil },
		`row "" has no title`:                        func(s *dashboards.Set) { s.Boards[0].Rows[0].Title = "" },
		`panel "Calls" has no description`:           func(s *dashboards.Set) { first(s).Description = "" },
		`panel "Calls" has no unit`:                  func(s *dashboards.Set) { first(s).Unit = "" },
		`panel "Calls" has no kind`:                  func(s *dashboards.Set) { first(s).Kind = 9 },
		`panel "Calls" has no queries`:               func(s *dashboards.Set) { first(s).Queries = nil },
		`panel "" has no title`:                      func(s *dashboards.Set) { first(s).Title = "" },
		`has the title of another panel`:             func(s *dashboards.Set) { first(s).Title = "Minutes to empty" },
		`has the runbook "../x"`:                     func(s *dashboards.Set) { first(s).Runbook = "../x" },
		`is 25 columns wide`:                         func(s *dashboards.Set) { first(s).Width = 25 },
		`is -1 rows high`:                            func(s *dashboards.Set) { first(s).Height = -1 },
		`has no Values to name its states`:           func(s *dashboards.Set) { first(s).Kind = dashboards.StateTimeline },
		`has a step at 2 without a color`:            func(s *dashboards.Set) { first(s).Steps = []dashboards.Step{{From: 2}} },
		`has a step at 1 that is not above`:          func(s *dashboards.Set) { first(s).Steps = []dashboards.Step{{2, dashboards.Red}, {1, dashboards.Red}} },
		`has a query without a legend`:               func(s *dashboards.Set) { first(s).Queries[0].Legend = "" },
		`has a bad query: promql: `:                  func(s *dashboards.Set) { first(s).Queries[0].Expr = promql.Expr{} },
		`uses the variable $customer`:                func(s *dashboards.Set) { first(s).Queries[0].Expr = promql.Text(`up{customer="$customer"}`) },
		`a legend with the label server_address`:     func(s *dashboards.Set) { first(s).Queries[0].Legend = "{{server_address}}" },
		`alert "a b" has a name`:                     func(s *dashboards.Set) { alert(s).Name = "a b" },
		`has the name of another rule`:               func(s *dashboards.Set) { alert(s).Name = dashboards.Escapes },
		`has the severity "page"`:                    func(s *dashboards.Set) { alert(s).Severity = "page" },
		`must hold for -1s`:                          func(s *dashboards.Set) { alert(s).For = -time.Second },
		`needs a summary of one line`:                func(s *dashboards.Set) { alert(s).Summary = "a\nb" },
		`alert "PlimsollBudgetLow" has no descripti`: func(s *dashboards.Set) { alert(s).Description = "" },
		`has the format "%s"`:                        func(s *dashboards.Set) { alert(s).Format = "%s" },
		`has the runbook ""`:                         func(s *dashboards.Set) { alert(s).Runbook = "" },
		`points to the dashboard "x"`:                func(s *dashboards.Set) { alert(s).Board = "x" },
		`points to the panel "x"`:                    func(s *dashboards.Set) { alert(s).Panel = "x" },
		`uses the variable $job`:                     func(s *dashboards.Set) { alert(s).Expr = s.Panels().Of(catalog.BudgetTokens).Now() },
		`has a bad expression: promql: `:             func(s *dashboards.Set) { alert(s).Expr = promql.Expr{} },
		`group "" has no name`:                       func(s *dashboards.Set) { s.Groups[0].Name = "" },
		`has the name of another group`:              func(s *dashboards.Set) { s.Groups[0].Name = s.Groups[1].Name },
		`not level:metric:operation`: func(s *dashboards.Set) {
			for i := range s.Groups {
				if len(s.Groups[i].Recordings) > 0 {
					s.Groups[i].Recordings[0].Name = "tokens"
				}
			}
		},
	} {
		set := standard(t, dashboards.Options{})
		spoil(set)
		err := set.Lint()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a finding with %q, got: %v", want, err)
			continue
		}
		if _, err := set.DashboardFiles(); err == nil {
			t.Errorf("%s: the dashboards are written all the same", want)
		}
		if _, err := set.RuleFiles(); err == nil {
			t.Errorf("%s: the rules are written all the same", want)
		}
	}
}
