package ruletest

import (
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

const (
	fires = true
	quiet = false
)

// budget are the level and the capacity of one process.
func budget(process, values string) []series {
	return []series{
		{metric: catalog.BudgetTokens, process: process, values: values},
		{metric: catalog.BudgetCapacity, process: process, values: "500x400"},
	}
}

func two(a, b []series) []series { return append(a, b...) }

func skipped(reason, values string) series {
	return series{metric: catalog.RetrySkipped, attrs: map[string]string{catalog.KeySkipReason: reason}, values: values}
}

func escaped(reason, values string) series {
	return series{metric: catalog.CallEscapes, attrs: map[string]string{catalog.KeySkipReason: reason}, values: values}
}

func calls(outcome, values string) series {
	return series{metric: catalog.CallDuration, suffix: "_count", attrs: map[string]string{catalog.KeyOutcome: outcome}, values: values}
}

func opened(process, values string) series {
	return series{metric: catalog.BreakerTransitions, process: process, values: values,
		attrs: map[string]string{catalog.KeyBreakerFrom: "closed", catalog.KeyBreakerTo: "open", catalog.KeyCause: "streak"}}
}

func gate(state, values string) series {
	return series{metric: catalog.BreakerState, attrs: map[string]string{catalog.KeyBreakerState: state}, values: values}
}

func recovered(values string) series {
	return series{metric: catalog.ConnRecoveries, attrs: map[string]string{catalog.KeyCause: "eof", catalog.KeyFresh: "true"}, values: values}
}

var scenarios = append(budgetScenarios, trafficScenarios...)

var budgetScenarios = []scenario{
	{"a token a second drains a budget", budget("", "500-15x33 0x60"), []check{
		{30 * time.Second, dashboards.BudgetDraining, quiet},
		{2 * time.Minute, dashboards.BudgetDraining, fires},
		{6 * time.Minute, dashboards.BudgetLow, quiet},
		{8 * time.Minute, dashboards.BudgetLow, fires},
	}},
	{"five tokens a minute drain it slowly", budget("", "500-1.25x400"), []check{
		{20 * time.Minute, dashboards.BudgetDraining, quiet},
		{50 * time.Minute, dashboards.BudgetDraining, fires},
		{79 * time.Minute, dashboards.BudgetLow, quiet},
		{82 * time.Minute, dashboards.BudgetLow, fires},
	}},
	{"a full process doesn't hide a draining one", two(budget("full:9464", "500x100"), budget("draining:9464", "500-15x33 0x60")), []check{
		{2 * time.Minute, dashboards.BudgetDraining, fires},
		{8 * time.Minute, dashboards.BudgetLow, fires},
	}},
	{"a drop that is over is no drain", budget("", "500x8 400x150"), []check{
		{3 * time.Minute, dashboards.BudgetDraining, quiet},
		{4 * time.Minute, dashboards.BudgetDraining, quiet},
		{5 * time.Minute, dashboards.BudgetDraining, quiet},
		{15 * time.Minute, dashboards.BudgetDraining, quiet},
		{30 * time.Minute, dashboards.BudgetDraining, quiet},
	}},
	{"a large drop that is over is low and no drain", budget("", "500x8 99x150"), []check{
		{4 * time.Minute, dashboards.BudgetDraining, quiet},
		{10 * time.Minute, dashboards.BudgetDraining, quiet},
		{2*time.Minute + 30*time.Second, dashboards.BudgetLow, quiet},
		{4 * time.Minute, dashboards.BudgetLow, fires},
	}},
	{"single retries are no drain", budget("", "500x10 490 500x10 480 490 500x10 475 485 495 500x60"), []check{
		{150 * time.Second, dashboards.BudgetDraining, quiet},
		{345 * time.Second, dashboards.BudgetDraining, quiet},
		{9 * time.Minute, dashboards.BudgetDraining, quiet},
	}},
	{"a budget that fills up again ends both alerts", budget("", "500-15x27 95+15x27 500x40"), []check{
		{7 * time.Minute, dashboards.BudgetDraining, fires},
		{9 * time.Minute, dashboards.BudgetDraining, quiet},
		{9 * time.Minute, dashboards.BudgetLow, quiet},
	}},
	{"a fifth of the capacity is not low", budget("", "100x40"), []check{
		{8 * time.Minute, dashboards.BudgetLow, quiet},
	}},
	{"the bucket denies one retry", []series{skipped("bucket", "0x10 1x40")}, []check{
		{150 * time.Second, dashboards.RetriesDenied, quiet},
		{165 * time.Second, dashboards.RetriesDenied, fires},
		{9 * time.Minute, dashboards.RetriesDenied, quiet},
	}},
	{"other reasons are no denial", []series{
		skipped("bucket", "0x40"), skipped("deadline", "0+1x40"), skipped("attempts", "0+1x40"),
		skipped("body", "0+1x40"), skipped("method", "0+1x40"), skipped("breaker", "0+1x40"), skipped("disabled", "0+1x40"),
	}, []check{
		{9 * time.Minute, dashboards.RetriesDenied, quiet},
	}},
	{"one in fifty calls is not retried for its deadline", []series{skipped("deadline", "0+1x40"), calls("ok", "0+50x40")}, []check{
		{9 * time.Minute, dashboards.DeadlineSkips, fires},
	}},
	{"one in two hundred calls is not retried for its deadline", []series{skipped("deadline", "0+1x40"), calls("ok", "0+200x40")}, []check{
		{9 * time.Minute, dashboards.DeadlineSkips, quiet},
	}},
}

var trafficScenarios = []scenario{
	{"all calls escape", []series{escaped("none", "0+1x40"), calls("escaped", "0+1x40"), calls("ok", "0x40")}, []check{
		{15 * time.Second, dashboards.Escapes, quiet},
		{2 * time.Minute, dashboards.Escapes, fires},
	}},
	{"two escapes in a quarter of an hour are too few", []series{escaped("none", "0x20 1x20 2x60"), calls("ok", "0+1x100")}, []check{
		{6 * time.Minute, dashboards.Escapes, quiet},
		{11 * time.Minute, dashboards.Escapes, quiet},
	}},
	{"one call every two minutes escapes", []series{escaped("none", "0x7 1x7 2x7 3x7 4x7 5x7 6x7 7x7 8x7"), calls("escaped", "0x7 1x7 2x7 3x7 4x7 5x7 6x7 7x7 8x7")}, []check{
		{7 * time.Minute, dashboards.Escapes, fires},
		{9 * time.Minute, dashboards.Escapes, fires},
		{11*time.Minute + 45*time.Second, dashboards.Escapes, fires},
		{14 * time.Minute, dashboards.Escapes, fires},
	}},
	{"three in a hundred escape for different reasons", []series{
		escaped("none", "0+1x40"), escaped("bucket", "0+1x40"), escaped("deadline", "0+1x40"), calls("ok", "0+97x40"), calls("escaped", "0+3x40"),
	}, []check{
		{6 * time.Minute, dashboards.Escapes, fires},
	}},
	{"one in two hundred escapes", []series{escaped("none", "0+1x40"), calls("ok", "0+199x40"), calls("escaped", "0+1x40")}, []check{
		{6 * time.Minute, dashboards.Escapes, quiet},
	}},
	{"a breaker opens and closes", []series{gate("open", "0x4 1x4 0x20"), gate("half_open", "0x9 1x1 0x18"), gate("closed", "1x4 0x6 1x18")}, []check{
		{time.Minute, dashboards.BreakerOpen, quiet},
		{75 * time.Second, dashboards.BreakerOpen, fires},
		{4 * time.Minute, dashboards.BreakerOpen, quiet},
	}},
	{"a breaker opens three times in half an hour", []series{opened("", "0x10 1x20 2x20 3x120")}, []check{
		{10 * time.Minute, dashboards.BreakerFlapping, quiet},
		{13*time.Minute + 15*time.Second, dashboards.BreakerFlapping, fires},
		{40 * time.Minute, dashboards.BreakerFlapping, quiet},
	}},
	{"the breakers of three processes open once", []series{opened("a:1", "0x10 1x100"), opened("b:1", "0x10 1x100"), opened("c:1", "0x10 1x100")}, []check{
		{15 * time.Minute, dashboards.BreakerFlapping, quiet},
	}},
	{"every call of a busy client is recovered", []series{recovered("0+15x40"), calls("recovered", "0+15x40")}, []check{
		{3 * time.Minute, dashboards.RecoveryStorm, fires},
	}},
	{"every call of a quiet client is recovered", []series{recovered("0+2x40"), calls("recovered", "0+2x40")}, []check{
		{9 * time.Minute, dashboards.RecoveryStorm, quiet},
	}},
	{"few calls of a busy client are recovered", []series{recovered("0+15x40"), calls("recovered", "0+15x40"), calls("ok", "0+300x40")}, []check{
		{9 * time.Minute, dashboards.RecoveryStorm, quiet},
	}},
	{"an upstream throttles twice", []series{{metric: catalog.ThrottleRecorded, values: "0x4 1x4 2x60"}}, []check{
		{2 * time.Minute, dashboards.Throttled, quiet},
		{3 * time.Minute, dashboards.Throttled, fires},
		{12 * time.Minute, dashboards.Throttled, quiet},
	}},
	{"an upstream throttles once in each of two processes", []series{
		{metric: catalog.ThrottleRecorded, process: "a:1", values: "0x20 1x40"}, {metric: catalog.ThrottleRecorded, process: "b:1", values: "0x20 1x40"},
	}, []check{
		{7 * time.Minute, dashboards.Throttled, quiet},
	}},
	{"requests wait for a minute", []series{{metric: catalog.ConnWaiting, values: "0x8 3x8 0x10"}}, []check{
		{2*time.Minute + 15*time.Second, dashboards.PoolSaturated, quiet},
		{3*time.Minute + 15*time.Second, dashboards.PoolSaturated, fires},
		{5 * time.Minute, dashboards.PoolSaturated, quiet},
	}},
	{"a request waits for a moment", []series{{metric: catalog.ConnWaiting, values: "0x8 3 0x30"}}, []check{
		{3 * time.Minute, dashboards.PoolSaturated, quiet},
	}},
	{"the queue is empty whenever it is scraped", []series{
		{metric: catalog.ConnWaiting, values: "0x40"}, {metric: catalog.ConnWaitDuration, suffix: "_sum", values: "0+30x40"},
	}, []check{
		{3 * time.Minute, dashboards.PoolSaturated, fires},
	}},
}
