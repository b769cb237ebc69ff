package proof

import (
	"context"
	"slices"
	"testing"
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

// exported plays a drive whose metrics leave by a reader of their own, beside
// the one that is scraped, and returns both.
func exported(t *testing.T, drive func(*Stage)) (*Run, []export) {
	t.Helper()
	reader := metric.NewManualReader()
	var out []export
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
	}, metric.WithReader(reader))
	return run, out
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
	direct, exports := exported(t, tour)
	run := relayed(t, direct.Began, exports)
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
}

// plain returns the run's series without the labels of OpenTelemetry's scope.
func plain(r *Run) map[string]bool {
	out := map[string]bool{}
	for _, series := range r.Emitted() {
		if slices.Contains([]string{"target_info", "otel_scope_info"}, series.Get(model.MetricNameLabel)) {
			continue
		}
		out[labels.NewBuilder(series).Del("otel_scope_name", "otel_scope_version", "otel_scope_schema_url").Labels().String()] = true
	}
	return out
}

func TestTheFuseIsReportedThroughACollector(t *testing.T) {
	direct, exports := exported(t, fuse)
	v, err := Judge(t.Context(), open(t), relayed(t, direct.Began, exports), ruleFiles(t)...)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{scenario: scenarios[0], verdict: v}
	o.check(t)
}
