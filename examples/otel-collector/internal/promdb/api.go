package promdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// mostPoints is how many points of each series a range query may have, as in
// Prometheus.
const mostPoints = 11_000

// Handler serves Prometheus's HTTP API below /api/v1/.
func (d *DB) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*http.Request) (any, error){
		"query":               d.answerQuery,
		"query_range":         d.answerRange,
		"series":              d.answerSeries,
		"label/{name}/values": d.answerLabelValues,
		"rules":               d.answerRules,
		"alerts":              d.answerAlerts,
	} {
		mux.HandleFunc("GET /api/v1/"+path, func(w http.ResponseWriter, r *http.Request) { reply(w, r, answer) })
	}
	return mux
}

// requestError is an error of the asker's.
type requestError struct{ error }

func reply(w http.ResponseWriter, r *http.Request, answer func(*http.Request) (any, error)) {
	out := struct {
		Status    string `json:"status"`
		Data      any    `json:"data,omitempty"`
		ErrorType string `json:"errorType,omitempty"`
		Error     string `json:"error,omitempty"`
	}{Status: "success"}
	status := http.StatusOK
	data, err := answer(r)
	var bad requestError
	switch {
	case errors.As(err, &bad):
		status, out.ErrorType = http.StatusBadRequest, "bad_data"
	case err != nil:
		status, out.ErrorType = http.StatusUnprocessableEntity, "execution"
	default:
		out.Data = data
	}
	if err != nil {
		out.Status, out.Error = "error", err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // the asker went away
}

// result is the data of a query.
type result struct {
	ResultType string `json:"resultType"`
	Result     any    `json:"result"`
}

// series is one of a result, with either one value or several.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  *point            `json:"value,omitempty"`
	Values []point           `json:"values,omitempty"`
}

// point is a time in seconds and a value.
type point struct {
	t int64 // ms
	v float64
}

// MarshalJSON writes [seconds, "value"].
func (p point) MarshalJSON() ([]byte, error) {
	b := append([]byte{'['}, strconv.FormatFloat(float64(p.t)/1000, 'f', -1, 64)...)
	b = append(b, `,"`...)
	b = append(b, number(p.v)...)
	return append(b, `"]`...), nil
}

// number writes v as Prometheus does.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (d *DB) answerQuery(r *http.Request) (any, error) {
	at, err := timeOf(r, "time", time.Now())
	if err != nil {
		return nil, err
	}
	q, err := d.engine.NewInstantQuery(r.Context(), d.tsdb, nil, r.FormValue("query"), at)
	if err != nil {
		return nil, requestError{err}
	}
	return exec(r.Context(), q)
}

func (d *DB) answerRange(r *http.Request) (any, error) {
	now := time.Now()
	start, err := timeOf(r, "start", now)
	if err != nil {
		return nil, err
	}
	end, err := timeOf(r, "end", now)
	if err != nil {
		return nil, err
	}
	step, err := durationOf(r, "step")
	if err != nil {
		return nil, err
	}
	switch {
	case end.Before(start):
		return nil, requestError{errors.New("end is before start")}
	case step < time.Millisecond: // in which the engine counts
		return nil, requestError{errors.New("step must be 1 ms or more")}
	case end.Sub(start)/step > mostPoints:
		return nil, requestError{fmt.Errorf("more than %d points: choose a longer step", mostPoints)}
	}
	q, err := d.engine.NewRangeQuery(r.Context(), d.tsdb, nil, r.FormValue("query"), start, end, step)
	if err != nil {
		return nil, requestError{err}
	}
	return exec(r.Context(), q)
}

func exec(ctx context.Context, q promql.Query) (any, error) {
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, res.Err
	}
	out := []series{}
	switch v := res.Value.(type) {
	case promql.Scalar:
		return result{"scalar", point{v.T, v.V}}, nil
	case promql.Vector:
		for _, s := range v {
			out = append(out, series{Metric: s.Metric.Map(), Value: &point{s.T, s.F}})
		}
	case promql.Matrix:
		for _, s := range v {
			values := make([]point, len(s.Floats))
			for i, f := range s.Floats {
				values[i] = point{f.T, f.F}
			}
			out = append(out, series{Metric: s.Metric.Map(), Values: values})
		}
	default:
		return nil, requestError{fmt.Errorf("results of type %s are not served", res.Value.Type())}
	}
	return result{string(res.Value.Type()), out}, nil
}

func (d *DB) answerSeries(r *http.Request) (any, error) {
	out := []map[string]string{}
	err := d.each(r, func(ls labels.Labels) { out = append(out, ls.Map()) })
	return out, err
}

func (d *DB) answerLabelValues(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if !model.UTF8Validation.IsValidLabelName(name) {
		return nil, requestError{fmt.Errorf("%q is no label", name)}
	}
	values := []string{}
	err := d.each(r, func(ls labels.Labels) {
		if v := ls.Get(name); v != "" {
			values = append(values, v)
		}
	})
	slices.Sort(values)
	return slices.Compact(values), err
}

// each calls f for the series that match[] selects between start and end.
func (d *DB) each(r *http.Request, f func(labels.Labels)) error {
	start, err := timeOf(r, "start", time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	end, err := timeOf(r, "end", time.Now())
	if err != nil {
		return err
	}
	matches := r.URL.Query()["match[]"]
	if len(matches) == 0 {
		return requestError{errors.New("no match[] parameter provided")}
	}
	sets, err := parser.NewParser(parser.Options{}).ParseMetricSelectors(matches)
	if err != nil {
		return requestError{err}
	}
	q, err := d.tsdb.Querier(start.UnixMilli(), end.UnixMilli())
	if err != nil {
		return err
	}
	defer q.Close()
	for _, matchers := range sets {
		set := q.Select(r.Context(), true, nil, matchers...)
		for set.Next() {
			f(set.At().Labels())
		}
		if err := set.Err(); err != nil {
			return err
		}
	}
	return nil
}
