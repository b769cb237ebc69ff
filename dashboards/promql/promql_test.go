package promql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

var q promql.Source

func TestExpressionsAreWrittenWithTheNamesOfPrometheus(t *testing.T) {
	five := promql.Over(5 * time.Minute)
	tokens := q.Of(catalog.BudgetTokens)
	for _, tt := range []struct {
		got  promql.Expr
		want string
	}{
		{tokens.Now(), `plimsoll_retry_budget_tokens`},
		{tokens.Ago(time.Minute).Now(), `plimsoll_retry_budget_tokens offset 1m`},
		{tokens.Ago(time.Minute).Ago(30 * time.Second).Slope(five), `deriv(plimsoll_retry_budget_tokens[5m] offset 90s)`},
		{tokens.Forecast(promql.Over(90*time.Second), time.Hour), `predict_linear(plimsoll_retry_budget_tokens[90s], 3600)`},
		{tokens.Lowest(five), `min_over_time(plimsoll_retry_budget_tokens[5m])`},
		{tokens.Highest(five), `max_over_time(plimsoll_retry_budget_tokens[5m])`},
		{q.Of(catalog.StreamBytes).Rate(promql.RateInterval), `rate(plimsoll_stream_bytes_total[$__rate_interval])`},
		{q.Count(catalog.CallDuration).Increase(five), `increase(plimsoll_call_duration_seconds_count[5m])`},
		{q.Total(catalog.ConnWaitDuration).Rate(five), `rate(plimsoll_conn_wait_duration_seconds_sum[5m])`},
		{
			q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "bucket"), promql.Target("job", `a"b\c`)).Now(),
			`plimsoll_retry_skipped_total{plimsoll_skip_reason="bucket",job="a\"b\\c"}`,
		},
		{q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "bucket", "deadline")).Now(), `plimsoll_retry_skipped_total{plimsoll_skip_reason=~"bucket|deadline"}`},
		{q.Of(catalog.RetrySkipped, promql.Not(catalog.KeySkipReason, "bucket")).Now(), `plimsoll_retry_skipped_total{plimsoll_skip_reason!="bucket"}`},
		{q.Of(catalog.RetrySkipped, promql.Not(catalog.KeySkipReason, "bucket", "deadline")).Now(), `plimsoll_retry_skipped_total{plimsoll_skip_reason!~"bucket|deadline"}`},
		{q.Of(catalog.BudgetTokens, promql.Is(catalog.KeyAddress, "a.b", "c")).Now(), `plimsoll_retry_budget_tokens{server_address=~"a\\.b|c"}`},
		{promql.Sum(tokens.Now()), `sum(plimsoll_retry_budget_tokens)`},
		{promql.Min(tokens.Now(), catalog.KeyAddress, "job"), `min by (server_address, job) (plimsoll_retry_budget_tokens)`},
		{
			promql.Quantile(0.95, q.Buckets(catalog.CallDuration).Rate(five), catalog.KeyOutcome),
			`histogram_quantile(0.95, sum by (le, plimsoll_outcome) (rate(plimsoll_call_duration_seconds_bucket[5m])))`,
		},
		{promql.Number(1).Add(promql.Number(2)).Mul(promql.Number(3)), `(1 + 2) * 3`},
		{promql.Number(1).Sub(promql.Number(2).Sub(promql.Number(3))), `1 - (2 - 3)`},
		{promql.Number(1).Sub(promql.Number(2)).Sub(promql.Number(3)), `1 - 2 - 3`},
		{promql.Number(1).Div(promql.Number(2).Mul(promql.Number(3))), `1 / (2 * 3)`},
		{promql.Number(2).Neg().AtMost(1e-9).NoLess(-1), `clamp_min(clamp_max(-1 * 2, 1e-09), -1)`},
		{tokens.Now().Above(promql.Number(1)).And(tokens.Now(), tokens.Now().Below(promql.Number(3))), "plimsoll_retry_budget_tokens > 1\nand\nplimsoll_retry_budget_tokens\nand\nplimsoll_retry_budget_tokens < 3"},
		{tokens.Now().Or(tokens.Now()).And(tokens.Now()), "(plimsoll_retry_budget_tokens\nor\nplimsoll_retry_budget_tokens)\nand\nplimsoll_retry_budget_tokens"},
		{tokens.Now().And(tokens.Now()).Or(tokens.Now().AtLeast(promql.Number(0))), "plimsoll_retry_budget_tokens\nand\nplimsoll_retry_budget_tokens\nor\nplimsoll_retry_budget_tokens >= 0"},
		{promql.Text("up == 0").And(tokens.Now()), "(up == 0)\nand\nplimsoll_retry_budget_tokens"},
	} {
		if err := tt.got.Err(); err != nil {
			t.Errorf("%s: %v", tt.want, err)
		} else if tt.got.String() != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}

func TestAMistakeIsCarriedToTheWholeExpression(t *testing.T) {
	five := promql.Over(5 * time.Minute)
	for _, tt := range []struct {
		got  promql.Expr
		want string // part of the error
	}{
		{promql.Expr{}, "empty"},
		{promql.Text(" "), "empty"},
		{q.Of("plimsoll.made.up").Now(), `no metric "plimsoll.made.up"`},
		{q.Of(catalog.CallDuration).Now(), "Count, Total and Buckets"},
		{q.Count(catalog.BudgetTokens).Now(), "observed gauge"},
		{q.Of(catalog.BudgetTokens).Rate(five), "use Slope"},
		{q.Of(catalog.OpenConnections).Increase(five), "use Slope"},
		{q.Of(catalog.RetryArmed).Slope(five), "use Rate"},
		{q.Count(catalog.CallDuration).Forecast(five, time.Hour), "use Rate"},
		{q.Of(catalog.BudgetTokens).Slope("soon"), `"soon"`},
		{q.Of(catalog.BudgetTokens).Slope("5"), `"5"`},
		{q.Of(catalog.BudgetTokens).Slope("m"), `"m"`},
		{q.Of(catalog.BudgetTokens).Slope("$__"), `"$__"`},
		{q.Of(catalog.BudgetTokens).Slope(""), `""`},
		{q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "buckets")).Now(), `never "buckets"`},
		{q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason)).Now(), "no values"},
		{q.Of(catalog.RetrySkipped, promql.Matcher{}).Now(), "no values"},
		{q.Of(catalog.BudgetTokens, promql.Is(catalog.KeySkipReason, "bucket")).Now(), "no attribute"},
		{q.Of(catalog.BudgetTokens, promql.Target("a-b", "c")).Now(), `"a-b"`},
		{promql.Sum(q.Of(catalog.BudgetTokens).Now(), catalog.KeyCause), "no attribute"},
		{promql.Sum(q.Of(catalog.ConnWaiting).Now(), catalog.KeyPartition), "no attribute"},
		{promql.Sum(q.Of(catalog.BudgetTokens).Now(), "a-b"), `"a-b"`},
		{promql.Quantile(0.5, q.Count(catalog.CallDuration).Rate(five)), "needs the rate of Buckets"},
		{promql.Quantile(95, q.Buckets(catalog.CallDuration).Rate(five)), "outside 0 to 1"},
		{promql.Quantile(0.5, q.Buckets(catalog.CallDuration).Rate(five), catalog.KeyCause), "no attribute"},
	} {
		worse := promql.Max(promql.Number(1).Add(tt.got).AtMost(3)).Or(promql.Number(1))
		for _, e := range []promql.Expr{tt.got, worse} {
			if err := e.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: the error is %v, want one with %q", e, err, tt.want)
			} else if !strings.HasPrefix(e.String(), "# promql: ") {
				t.Errorf("an expression with an error is written as %q", e)
			}
		}
	}
}

func TestAVariableIsLeftOutWhereTheMetricHasNoSuchAttribute(t *testing.T) {
	source := promql.Source{Match: []promql.Matcher{promql.Variable(catalog.KeyClient, "client"), promql.Variable(catalog.KeyAddress, "origin")}}
	if got, want := source.Of(catalog.Reloads).Now().String(), `plimsoll_reloads_total{plimsoll_client=~"$client"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := source.Of(catalog.ConnWaiting).Now().String(), `plimsoll_conn_waiting{plimsoll_client=~"$client",server_address=~"$origin"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnAggregationKeepsTheLabelsOfItsSource(t *testing.T) {
	source := promql.Source{Keep: []string{"job", "cluster"}}
	for _, tt := range []struct {
		got  promql.Expr
		want []string
	}{
		{promql.Sum(source.Of(catalog.RetryArmed).Now(), "job", catalog.KeyCause), []string{"job", "plimsoll_cause", "cluster"}},
		{promql.Number(2).Mul(promql.Sum(source.Of(catalog.RetryArmed).Now(), "job")), []string{"job", "cluster"}},
		{promql.Sum(promql.Number(2).Mul(source.Of(catalog.RetryArmed).Now()), "job"), []string{"job", "cluster"}},
		{promql.Sum(source.Of(catalog.RetryArmed).Now()), []string{}},
		{source.Of(catalog.RetryArmed).Now(), nil},
		{promql.Quantile(0.5, source.Buckets(catalog.CallDuration).Rate("5m"), catalog.KeyOutcome), []string{"plimsoll_outcome", "job", "cluster"}},
	} {
		if got := tt.got.Labels(); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: labels %q, want %q", tt.got, got, tt.want)
		}
	}
}

func TestAnExpressionNamesItsMetricsOnce(t *testing.T) {
	tokens, capacity := q.Of(catalog.BudgetTokens).Now(), q.Of(catalog.BudgetCapacity).Now()
	e := promql.Min(tokens.Div(capacity)).And(tokens)
	if got, want := e.Metrics(), []string{catalog.BudgetTokens, catalog.BudgetCapacity}; !slices.Equal(got, want) {
		t.Errorf("metrics %q, want %q", got, want)
	}
	if got := promql.Text("up").Metrics(); got != nil {
		t.Errorf("a text names the metrics %q", got)
	}
}

func TestAnExpressionIsNotChangedByWhatIsMadeOfIt(t *testing.T) {
	base := promql.Sum(q.Of(catalog.RetryArmed).Now(), "job", catalog.KeyCause)
	text, labels := base.String(), base.Labels()
	a := promql.Sum(base.Add(promql.Number(1)), "job")
	b := base.And(q.Of(catalog.BudgetTokens).Now())
	c := base.And(q.Of(catalog.BudgetCapacity).Now())
	if base.String() != text || !slices.Equal(base.Labels(), labels) {
		t.Errorf("the expression became %s", base)
	}
	if slices.Contains(b.Metrics(), catalog.BudgetCapacity) || !slices.Contains(c.Metrics(), catalog.BudgetCapacity) {
		t.Errorf("two expressions share their metrics: %q and %q", b.Metrics(), c.Metrics())
	}
	a.Labels()[0] = "changed"
	if got := a.Labels(); !slices.Equal(got, []string{"job"}) {
		t.Errorf("labels are shared with the caller: %q", got)
	}
}

func TestDurationsAreWrittenInTheLargestUnitThatFits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "1s", -time.Hour: "1s", time.Millisecond: "1s", time.Second: "1s", 1001 * time.Millisecond: "2s",
		time.Minute: "1m", 90 * time.Second: "90s", time.Hour: "1h", 90 * time.Minute: "90m", 24 * time.Hour: "24h",
	} {
		if got := promql.Duration(d); got != want {
			t.Errorf("%v is written as %s, want %s", d, got, want)
		}
	}
}

func Example() {
	q := promql.Source{Match: []promql.Matcher{promql.Target("cluster", "eu")}, Keep: []string{"job"}}
	tokens, capacity := q.Of(catalog.BudgetTokens).Now(), q.Of(catalog.BudgetCapacity).Now()
	half := promql.Min(tokens.Div(capacity), catalog.KeyAddress).Below(promql.Number(0.5))
	fmt.Println(half)
	fmt.Println(q.Of(catalog.RetrySkipped, promql.Is(catalog.KeySkipReason, "empty")).Now().Err())
	// Output:
	// min by (server_address, job) (plimsoll_retry_budget_tokens{cluster="eu"} / plimsoll_retry_budget_capacity{cluster="eu"}) < 0.5
	// promql: plimsoll.skip.reason is never "empty" on plimsoll.retry.skipped: its values are bucket, deadline, attempts, body, method, breaker, disabled
}
