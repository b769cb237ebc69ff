package dashboards_test

import (
	"fmt"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

// The standard set as values, and an option that makes no sense.
func ExampleNew() {
	set, err := dashboards.New(dashboards.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, board := range set.Boards {
		fmt.Println(board.UID)
	}
	low := set.Alert(dashboards.BudgetLow)
	fmt.Println(low.Name, low.Severity, low.Runbook)

	_, err = dashboards.New(dashboards.Options{Capacity: -1})
	fmt.Println(err)
	// Output:
	// plimsoll-overview
	// plimsoll-retry-budget
	// plimsoll-connections
	// plimsoll-breaker
	// plimsoll-streams
	// PlimsollBudgetLow warning budget-low
	// dashboards: Capacity is -1: give the tokens of a full budget
}
