package promdb

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const rulesFile = `
groups:
  - name: test
    interval: 1s
    rules:
      - record: level:min
        expr: min by (job) (level)
      - alert: Low
        expr: level < 30
        for: 10s
        labels: {severity: warning}
        annotations: {summary: "{{ $value }} left"}
`

// rig is a database and a target that shows a level.
type rig struct {
	*DB
	target Target
	level  atomic.Int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", textFormat)
		fmt.Fprintf(w, "# TYPE level gauge\nlevel{instance=\"own\",who=\"a\"} %d\nlevel{who=\"b\"} %d\n# TYPE calls_total counter\ncalls_total 1e+06\n", r.level.Load(), r.level.Load()+1)
	}))
	t.Cleanup(s.Close)
	r.target = Target{URL: s.URL + "/metrics", Job: "shop", Instance: "one"}
	var err error
	if r.DB, err = Open([]Rules{{Name: "rules.yaml", Data: []byte(rulesFile)}}, time.Second, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

var begin = time.Now().Add(-5 * time.Minute).Truncate(time.Second)

// past stores one scrape a second.
func (r *rig) past(t *testing.T, from int, levels ...int64) {
	t.Helper()
	for i, l := range levels {
		r.level.Store(l)
		if err := r.Backfill(t.Context(), r.target, begin.Add(time.Duration(from+i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAScrapeIsFoundUnderTheTimeItWasGiven(t *testing.T) {
	r := newRig(t)
	r.past(t, 0, 100, 90, 80)
	for i, want := range []float64{100, 90, 80} {
		v, err := r.Query(t.Context(), `level{who="a"}`, begin.Add(time.Duration(i)*time.Second))
		if err != nil || len(v) != 1 || v[0].F != want {
			t.Errorf("at %d s: %v, %v", i, v, err)
		}
	}
}

func TestLabelsOfTheTargetAreGivenWhereItShowsNone(t *testing.T) {
	r := newRig(t)
	r.past(t, 0, 7)
	v, err := r.Query(t.Context(), `sort(level)`, begin)
	if err != nil || len(v) != 2 {
		t.Fatalf("%v, %v", v, err)
	}
	if v[0].Metric.Get("instance") != "own" || v[0].Metric.Get("job") != "shop" || v[1].Metric.Get("instance") != "one" {
		t.Error(v)
	}
}

func TestAnAlertIsPendingAndThenFiringInThePast(t *testing.T) {
	r := newRig(t)
	for i, want := range []string{"inactive", "pending", "pending", "firing"} {
		r.past(t, 5*i, map[bool]int64{true: 100, false: 20}[i == 0])
		if got := r.Alert("Low"); got != want {
			t.Errorf("step %d: %s, want %s", i, got, want)
		}
	}
	v, err := r.Query(t.Context(), `ALERTS{alertname="Low",alertstate="firing",who="a"}`, begin.Add(15*time.Second))
	if err != nil || len(v) != 1 {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := r.Query(t.Context(), `level:min`, begin.Add(15*time.Second)); err != nil || len(v) != 1 || v[0].F != 20 {
		t.Errorf("%v, %v", v, err)
	}
	if got := r.Alert("Nobody"); got != "" {
		t.Errorf("an unknown alert is %q", got)
	}
}

// What is scraped live continues the series of the past.
func TestScrapingContinuesThePast(t *testing.T) {
	r := newRig(t)
	r.level.Store(50)
	if err := r.Backfill(t.Context(), r.target, time.Now().Add(-3*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := r.Scrape(r.target); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		v, err := r.Query(t.Context(), `count_over_time(level{who="b"}[1m])`, time.Now())
		if err != nil || len(v) != 1 {
			t.Fatalf("%v, %v", v, err)
		}
		if v[0].F >= 3 {
			return
		}
	}
}

func (r *rig) get(t *testing.T, path string, query url.Values) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/"+path+"?"+query.Encode(), nil))
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return w.Code, body
}

func TestTheAPIAnswersInPrometheusFormat(t *testing.T) {
	r := newRig(t)
	r.past(t, 0, 100, 90, 80)
	at := func(i int) string {
		return fmt.Sprintf("%.3f", float64(begin.Add(time.Duration(i)*time.Second).UnixMilli())/1000)
	}
	for _, row := range []struct {
		path  string
		query url.Values
		want  string // of data, as JSON with sorted keys
	}{
		{"query", url.Values{"query": {`level{who="a"}`}, "time": {at(1)}},
			`{"result":[{"metric":{"__name__":"level","instance":"own","job":"shop","who":"a"},"value":[` + fmt.Sprint(begin.Unix()+1) + `,"90"]}],"resultType":"vector"}`},
		{"query", url.Values{"query": {`calls_total`}, "time": {at(1)}},
			`{"result":[{"metric":{"__name__":"calls_total","instance":"one","job":"shop"},"value":[` + fmt.Sprint(begin.Unix()+1) + `,"1000000"]}],"resultType":"vector"}`},
		{"query", url.Values{"query": {`1/0`}, "time": {at(1)}}, `{"result":[` + fmt.Sprint(begin.Unix()+1) + `,"+Inf"],"resultType":"scalar"}`},
		{"query_range", url.Values{"query": {`min(level)`}, "start": {at(0)}, "end": {at(2)}, "step": {"1"}},
			`{"result":[{"metric":{},"values":[[` + fmt.Sprint(begin.Unix()) + `,"100"],[` + fmt.Sprint(begin.Unix()+1) + `,"90"],[` + fmt.Sprint(begin.Unix()+2) + `,"80"]]}],"resultType":"matrix"}`},
		{"query_range", url.Values{"query": {`absent`}, "start": {at(0)}, "end": {at(2)}, "step": {"1s"}}, `{"result":[],"resultType":"matrix"}`},
		{"label/who/values", url.Values{"match[]": {`level{job="shop"}`}}, `["a","b"]`},
		{"series", url.Values{"match[]": {`calls_total`}}, `[{"__name__":"calls_total","instance":"one","job":"shop"}]`},
		{"alerts", nil, `{"alerts":[]}`},
	} {
		status, body := r.get(t, row.path, row.query)
		data, err := json.Marshal(body["data"])
		if err != nil || status != 200 || body["status"] != "success" || strings.ReplaceAll(string(data), "1e+06", "1000000") != row.want {
			t.Errorf("%s %v: %d, %s, want %s", row.path, row.query, status, data, row.want)
		}
	}
}

func TestTheAPITellsWhatIsWrong(t *testing.T) {
	r := newRig(t)
	for _, row := range []struct {
		path  string
		query url.Values
		want  string
	}{
		{"query", url.Values{"query": {"sum("}}, "parse error"},
		{"query", url.Values{"query": {"up"}, "time": {"soon"}}, `"soon" is no time`},
		{"query_range", url.Values{"query": {"up"}, "start": {"2"}, "end": {"1"}, "step": {"1"}}, "end is before start"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"2"}, "step": {"0"}}, "step must be 1 ms or more"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"1"}, "step": {"0.0009"}}, "step must be 1 ms or more"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"2"}}, "is no duration"},
		{"query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"200000"}, "step": {"1"}}, "11000 points"},
		{"series", nil, "match[]"},
		{"label/who/values", url.Values{"match[]": {"{"}}, "parse error"},
	} {
		status, body := r.get(t, row.path, row.query)
		if text, _ := body["error"].(string); status != 400 || body["errorType"] != "bad_data" || !strings.Contains(text, row.want) {
			t.Errorf("%s %v: %d %v", row.path, row.query, status, body)
		}
	}
}

func TestTheAPIShowsRulesWithTheirState(t *testing.T) {
	r := newRig(t)
	r.past(t, 0, 20)
	r.past(t, 5, 20)
	_, body := r.get(t, "rules", url.Values{"type": {"alert"}})
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"Low"`, `"state":"pending"`, `"duration":10`, `"summary":"20 left"`, `"severity":"warning"`, `"health":"ok"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
	if strings.Contains(string(text), "level:min") {
		t.Error("a recording rule among the alerts")
	}
}

func TestARuleFileThatIsWrongIsAnError(t *testing.T) {
	_, err := Open([]Rules{{Name: "x.yaml", Data: []byte("groups:\n - name: a\n   rules:\n   - {alert: X, expr: 'sum('}\n")}}, time.Second, nil)
	if err == nil || !strings.Contains(err.Error(), "x.yaml") {
		t.Error(err)
	}
}

func TestATargetThatFailsIsAnError(t *testing.T) {
	r := newRig(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if err := r.Backfill(t.Context(), Target{URL: s.URL}, begin); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
}
