package proof

import (
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// scenario is a drive and the alerts that it must cause. All of them are seen
// by the real client; none is told to the rules.
type scenario struct {
	name  string
	says  string // one line for the table
	drive func(*Stage)
	// trouble is when it begins, from the run's begin.
	trouble time.Duration
	// alert must fire within this time of the trouble; "": none may.
	alert  string
	within time.Duration
	// also are the alerts that may fire as its consequences.
	also []string
}

// calm is how long the scenarios with a healthy begin are well.
const calm = 3 * time.Minute

// soon is the time within which an outage must be reported.
const soon = 2 * time.Minute

var scenarios = []scenario{
	{
		name: "fuse, dead connections", drive: fuse,
		says:  "one call per 10 s and no other traffic, each on a connection that dies when it is used; no recovery, every retry charged for good",
		alert: dashboards.BudgetDraining, within: 150 * time.Second,
		also: []string{dashboards.BudgetLow, dashboards.RetriesDenied, dashboards.Escapes},
	},
	{
		name: "fuse, 503s", drive: fuse503,
		says:  "the same with a 503 before every answer",
		alert: dashboards.BudgetDraining, within: 150 * time.Second,
		also: []string{dashboards.BudgetLow, dashboards.RetriesDenied, dashboards.Escapes},
	},
	{
		name: "slow leak", drive: slowLeak,
		says:  "5 tokens a minute: one call a minute, whose first retry fails too",
		alert: dashboards.BudgetDraining, within: 69 * time.Minute,
		also: []string{dashboards.BudgetLow, dashboards.RetriesDenied, dashboards.Escapes},
	},
	{
		name: "settled and recovered", drive: settled,
		says: "the faults of both fuses, with the default budget and recovery",
	},
	{
		name: "healthy day", drive: healthyDay,
		says: "24 h of a call per second, of which 0.1 % need a retry",
	},
	{
		name: "breaker opens", drive: withTrouble(failing, 4*time.Minute), trouble: calm,
		says:  "every answer is 503; the client has a breaker",
		alert: dashboards.BreakerOpen, within: soon,
		also: []string{dashboards.Escapes},
	},
	{
		name: "throttled upstream", drive: withTrouble(throttled, 4*time.Minute), trouble: calm,
		says:  "every answer is 429 with Retry-After: 20; callers wait for 10 s at most",
		alert: dashboards.Throttled, within: soon,
		also: []string{dashboards.Escapes, dashboards.DeadlineSkips},
	},
	{
		name: "saturated pool", drive: withTrouble(saturated, 4*time.Minute), trouble: calm,
		says:  "two connections, answers that take 4 s, and six callers at a time",
		alert: dashboards.PoolSaturated, within: soon,
	},
	{
		name: "dead upstream", drive: withTrouble(dead, 4*time.Minute), trouble: calm,
		says:  "connections are closed and dials refused",
		alert: dashboards.Escapes, within: soon,
	},
	{
		name: "upstream fails", drive: withTrouble(failing503, 6*time.Minute), trouble: calm,
		says:  "every answer is 503; there is no breaker",
		alert: dashboards.RetriesDenied, within: soon,
		also: []string{dashboards.BudgetLow, dashboards.Escapes},
	},
	{
		name: "outage that ends", drive: withTrouble(outage, 20*time.Minute), trouble: calm,
		says:  "every answer is 503 for two minutes, then all is well again",
		alert: dashboards.RetriesDenied, within: soon,
		also: []string{dashboards.BudgetLow, dashboards.Escapes},
	},
	{
		name: "breaker flaps", drive: withTrouble(flapping, 20*time.Minute), trouble: calm,
		says:  "the upstream fails for half a minute, every four minutes",
		alert: dashboards.BreakerFlapping, within: 10 * time.Minute,
		also: []string{dashboards.BreakerOpen, dashboards.Escapes},
	},
	{
		name: "recovery storm", drive: withTrouble(storm, 5*time.Minute), trouble: calm,
		says:  "every parked connection dies, every second",
		alert: dashboards.RecoveryStorm, within: soon,
	},
	{
		name: "no time to retry", drive: withTrouble(noTime, 4*time.Minute), trouble: calm,
		says:  "every tenth answer is a 503 with Retry-After: 3600, which is neither waited for nor remembered",
		alert: dashboards.DeadlineSkips, within: soon,
		also: []string{dashboards.Escapes},
	},
}

// cycles calls f at the begin of n periods and returns at the end of the last.
func cycles(period time.Duration, n int, f func(cycle int)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for cycle := 1; cycle <= n; cycle++ {
		f(cycle)
		<-tick.C
	}
}

func fuse(s *Stage) {
	server := faultserver.Start(s, faultserver.Config{Memory: true})
	c := s.Client(client.Config{
		Transport: &http.Transport{DialContext: server.DialContext},
		Pool:      pool.Config{Recoveries: -1},
		Budget:    newBucket(s, budget.Legacy()),
	})
	get(s, c, server.URL(), time.Second) // a connection to be parked
	cycles(10*time.Second, 60, func(int) {
		server.RaceIdle(faultserver.FIN)
		get(s, c, server.URL(), 5*time.Second)
	})
}

func fuse503(s *Stage) {
	u := newUpstream(s)
	u.answer(inTurn(status(http.StatusServiceUnavailable), healthy))
	c := s.Client(client.Config{Transport: u.transport(), Pool: pool.Config{Recoveries: -1}, Budget: newBucket(s, budget.Legacy())})
	cycles(10*time.Second, 60, func(int) { get(s, c, url, 5*time.Second) })
}

func slowLeak(s *Stage) {
	u := newUpstream(s)
	u.answer(inTurn(status(http.StatusServiceUnavailable), status(http.StatusServiceUnavailable), healthy))
	c := s.Client(client.Config{Transport: u.transport()})
	cycles(time.Minute, 110, func(int) { get(s, c, url, 30*time.Second) })
}

// settled is the complaint of HTTP.jl#1353, answered: both parked connections
// are dead whenever a request comes, every call is answered with 503 first, and
// nothing is paid for good.
func settled(s *Stage) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		pause(10 * time.Millisecond)
		healthy(w, r)
	}
	server := faultserver.Start(s, faultserver.Config{Memory: true, Handler: illAtFirst(slow)})
	c := s.Client(client.Config{Transport: &http.Transport{DialContext: server.DialContext}})
	cycles(10*time.Second, 60, func(cycle int) {
		repeat(s, time.Millisecond, s.Since()+4*time.Millisecond, func(int) { get(s, c, server.URL(), time.Second) })
		if dead := server.RaceIdle([]faultserver.How{faultserver.FIN, faultserver.RST}[cycle%2]); dead != 2 {
			s.Errorf("cycle %d: %d connections are parked, want 2", cycle, dead)
		}
		get(s, c, server.URL(), 5*time.Second)
	})
}

func healthyDay(s *Stage) {
	u := newUpstream(s)
	var n int
	u.answer(func(w http.ResponseWriter, r *http.Request) {
		switch n++; {
		case n%2000 == 1000:
			http.Error(w, "ill", http.StatusServiceUnavailable)
		case n%2000 == 0:
			panic(http.ErrAbortHandler)
		default:
			healthy(w, r)
		}
	})
	c := s.Client(client.Config{Transport: u.transport()})
	cycles(time.Second, 24*60*60, func(int) { get(s, c, url, 5*time.Second) })
}
