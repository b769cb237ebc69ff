package telemetry

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// counter is an exporter that counts.
type counter struct {
	sdkmetric.Exporter
	exports int
}

func (c *counter) Export(context.Context, *metricdata.ResourceMetrics) error {
	c.exports++
	return nil
}

func TestMetricsGoTheHistoryWayOnRequestAndTheOtherOneAfterLive(t *testing.T) {
	live, history := &counter{}, &counter{}
	s := &split{live: live, history: history}
	export := func() {
		if err := s.Export(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	export() // the reader's own: the next step tells it
	s.step.Store(true)
	export()
	s.step.Store(false)
	export()
	if live.exports != 0 || history.exports != 1 {
		t.Errorf("before: %d live, %d history", live.exports, history.exports)
	}
	s.alive.Store(true)
	export()
	if live.exports != 1 || history.exports != 1 {
		t.Errorf("after: %d live, %d history", live.exports, history.exports)
	}
}

func TestMetricsToScrapeHaveTheCollectorsNames(t *testing.T) {
	p, err := New(t.Context(), Config{Endpoint: "127.0.0.1:1", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() // an error: nobody listens there
	m, err := p.Bridge().MeterProvider.Meter("test").Int64Counter("plimsoll.test.retries")
	if err != nil {
		t.Fatal(err)
	}
	m.Add(t.Context(), 3)
	r := httptest.NewRecorder()
	p.Metrics.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(r.Body.String(), "plimsoll_test_retries_total{") {
		t.Error(r.Body.String())
	}
}
