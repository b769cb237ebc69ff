package stage

import (
	"fmt"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/pool"
)

// Accounting says what a retry costs and whether dead connections are replaced.
// It is also the name of the client.
type Accounting string

const (
	// Settled is what a client does unless told otherwise: a reservation is
	// settled by what its retry brought, and the pool replaces dead
	// connections at no cost.
	Settled Accounting = "settled"
	// Legacy is how retry quotas used to be kept: every retry is charged for
	// good, and a dead connection costs a retry.
	Legacy Accounting = "legacy"
)

// profile returns the budget and the pool settings of a.
func (a Accounting) profile() (budget.Config, pool.Config, error) {
	switch a {
	case Settled:
		return budget.Default(), pool.Config{}, nil
	case Legacy:
		return budget.Legacy(), pool.Config{Recoveries: -1}, nil
	}
	return budget.Config{}, pool.Config{}, fmt.Errorf("stage: accounting %q: use %q or %q", string(a), Settled, Legacy)
}
