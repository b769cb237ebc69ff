package proof

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// export is what a periodic reader would have sent at one time.
type export struct {
	at   time.Time
	data *metricdata.ResourceMetrics
}

// ending is what both ways out gave at one instant, when all was done.
type ending struct {
	scraped *Run // one scrape
	export  export
}

// exported plays a drive whose metrics leave by a reader of their own, beside
// the one that is scraped, and returns both.
func exported(t *testing.T, drive func(*Stage)) (*Run, []export, ending) {
	t.Helper()
	reader := metric.NewManualReader()
	beside, handler, err := Exposed()
	if err != nil {
		t.Fatal(err)
	}
	var out []export
	last := ending{scraped: &Run{}}
	run, _ := Play(t, func(s *Stage) {
		ctx, stop := context.WithCancel(s.Context)
		done := make(chan struct{})
		go func() {
			defer close(done)
			timer := time.NewTimer(317 * time.Millisecond) // never when a drive does something
			defer timer.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				}
				timer.Reset(Interval)
				data := &metricdata.ResourceMetrics{}
				if err := reader.Collect(ctx, data); err != nil {
					s.Error(err)
				}
				out = append(out, export{time.Now(), data})
			}
		}()
		drive(s)
		stop()
		<-done
		synctest.Wait()
		last.export = export{time.Now(), &metricdata.ResourceMetrics{}}
		if err := reader.Collect(s.Context, last.export.data); err != nil {
			s.Error(err)
		}
		if err := last.scraped.Scrape(time.Now(), handler, false); err != nil {
			s.Error(err)
		}
	}, metric.WithReader(reader), metric.WithReader(beside))
	return run, out, last
}

// relayed sends exports through a collector and scrapes it a few seconds after
// each.
func relayed(t *testing.T, began time.Time, exports []export) *Run {
	t.Helper()
	c, err := StartCollector(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	run := &Run{Began: began}
	for _, e := range exports {
		if err := c.Send(t.Context(), e.data); err != nil {
			t.Fatal(err)
		}
		if err := c.Scrape(t.Context(), run, e.at.Add(4*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

func TestTheTourLooksTheSameThroughACollector(t *testing.T) {
	direct, exports, last := exported(t, tour)
	run := relayed(t, direct.Began, append(exports, last.export))
	known := run.vocabulary()
	for _, e := range expressions(t) {
		for _, err := range known.check(e.query) {
			t.Errorf("%s: %v\n%s", e.where, err, e.text)
		}
	}
	s := open(t)
	if err := s.AppendAll(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	shown(t, s, run)

	// The same series, apart from what names the scope and the resource.
	want, got := plain(direct), plain(run)
	for name := range want {
		if !got[name] {
			t.Errorf("lost on the way: %s", name)
		}
	}
	for name := range got {
		if !want[name] {
			t.Errorf("only behind the collector: %s", name)
		}
	}

	// The same numbers at the end, in every series.
	here, there := last.scraped.numbers(), run.numbers()
	if len(here) < 1000 {
		t.Errorf("%d series were compared: that is not all", len(here))
	}
	moved := 0
	for name, n := range here {
		if got, ok := there[name]; !ok || !same(got, n) {
			t.Errorf("%s is %v when it is scraped, and %v (%t) behind the collector", name, n, got, ok)
		}
		if n != 0 {
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("%d of %d numbers are not zero: the comparison says little", moved, len(here))
	}
}

// same allows for the sums of histograms, whose order of addition is left to
// chance.
func same(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*math.Abs(a) }

// plain returns the run's series without the labels of OpenTelemetry's scope.
func plain(r *Run) map[string]bool {
	out := map[string]bool{}
	for _, series := range r.Emitted() {
		if name, ok := unscoped(series); ok {
			out[name] = true
		}
	}
	return out
}

// unscoped names a series without the labels of OpenTelemetry's scope. It is
// false for what describes the scope or the resource itself.
func unscoped(series labels.Labels) (string, bool) {
	if slices.Contains([]string{"target_info", "otel_scope_info"}, series.Get(model.MetricNameLabel)) {
		return "", false
	}
	return labels.NewBuilder(series).Del("otel_scope_name", "otel_scope_version", "otel_scope_schema_url").Labels().String(), true
}

// numbers returns what the run's last scrape said, by series.
func (r *Run) numbers() map[string]float64 {
	out := map[string]float64{}
	for _, s := range r.Scrapes[len(r.Scrapes)-1].samples {
		if name, ok := unscoped(r.series[s.series]); ok {
			out[name] = s.value
		}
	}
	return out
}

func TestTheFuseIsReportedThroughACollector(t *testing.T) {
	direct, exports, _ := exported(t, fuse)
	v, err := Judge(t.Context(), open(t), relayed(t, direct.Began, exports), ruleFiles(t)...)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{scenario: scenarios[0], verdict: v}
	o.check(t)
}
