package stage

import (
	"fmt"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/story"
)

// Trouble is one of the ills that orders can be given.
type Trouble string

const (
	// Healthy is no trouble.
	Healthy Trouble = "healthy"
	// Kill is a server, or something in between, that ends connections while
	// they are parked: about two requests a second are sent on one that is
	// gone and get no answer.
	Kill Trouble = "kill"
	// Unavailable answers 30 % of the requests with 503.
	Unavailable Trouble = "unavailable"
	// Throttle answers 30 % of the requests with 429 and "Retry-After: 1".
	Throttle Trouble = "throttle"
	// Dead accepts connections and ends them at once.
	Dead Trouble = "dead"
)

// Troubles returns all of them, Healthy first.
func Troubles() []Trouble { return []Trouble{Healthy, Kill, Unavailable, Throttle, Dead} }

// killPeriod is how often parked connections are killed, and killFor how long
// requests on parked connections get no answer then. With a request every
// ordersEvery this hits two of five.
const (
	killPeriod = 500 * time.Millisecond
	killFor    = 200 * time.Millisecond
)

// ill is how t looks to the upstream.
func (t Trouble) ill() (story.Trouble, error) {
	switch t {
	case Healthy:
		return story.Trouble{}, nil
	case Kill:
		return story.Trouble{KillReused: true}, nil
	case Unavailable:
		return story.Trouble{FailRate: 0.3}, nil
	case Throttle:
		return story.Trouble{FailRate: 0.3, Status: 429, RetryAfter: time.Second}, nil
	case Dead:
		return story.Trouble{Down: true}, nil
	}
	return story.Trouble{}, fmt.Errorf("stage: trouble %q: use one of %v", string(t), Troubles())
}
