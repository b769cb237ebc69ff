package export_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/examples/export"
	"github.com/plimsoll-http/plimsoll/otelbridge"
)

// failsOnce is an upstream whose first answer is 503.
func failsOnce() *httptest.Server {
	var asked atomic.Bool
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !asked.Swap(true) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
}

// The client pushes through the global providers, so its configuration stays
// empty.
func ExampleOTLP() {
	collector := &received{}
	server := httptest.NewServer(collector)
	defer server.Close()
	upstream := failsOnce()
	defer upstream.Close()
	ctx := context.Background()

	shutdown, err := export.OTLP(ctx, server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := c.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	if err := shutdown(ctx); err != nil {
		fmt.Println(err)
		return
	}
	c.Close() // after the last collection, which reads the levels

	fmt.Println("spans:", collector.spans)
	fmt.Println("budget:", collector.metrics["plimsoll.retry_budget.tokens"], "retries:", collector.metrics["plimsoll.retry.armed"])
	// Output:
	// spans: [GET plimsoll.backoff GET plimsoll.call]
	// budget: 500 retries: 1
}

// received plays the collector: it keeps the names of the spans and the sums of
// the integer metrics.
type received struct {
	mu      sync.Mutex
	spans   []string // guarded by mu, as below
	metrics map[string]int64
}

func (c *received) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		var request collecttraces.ExportTraceServiceRequest
		err = proto.Unmarshal(body, &request)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					c.spans = append(c.spans, span.Name)
				}
			}
		}
	case "/v1/metrics":
		var request collectmetrics.ExportMetricsServiceRequest
		err = proto.Unmarshal(body, &request)
		c.metrics = map[string]int64{}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, metric := range scope.Metrics {
					for _, point := range slices.Concat(metric.GetGauge().GetDataPoints(), metric.GetSum().GetDataPoints()) {
						c.metrics[metric.Name] += point.GetAsInt()
					}
				}
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// The client reports to the provider that it is given; a Prometheus scrapes it.
func ExamplePrometheus() {
	upstream := failsOnce()
	defer upstream.Close()
	meters, handler, err := export.Prometheus()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer meters.Shutdown(context.Background())
	metrics := httptest.NewServer(handler) // mux.Handle("GET /metrics", handler)
	defer metrics.Close()

	c, err := client.New(client.Config{Name: "prices", Telemetry: otelbridge.Config{MeterProvider: meters}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	resp, err := c.Get(upstream.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()

	scrape, err := http.Get(metrics.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scrape.Body.Close()
	text, err := io.ReadAll(scrape.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, rest, found := strings.Cut(line, "{")
		if found && strings.HasPrefix(name, "plimsoll_retry_budget_") {
			values[name] = strings.TrimSpace(rest[strings.LastIndex(rest, "}")+1:])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Println(name, values[name])
	}
	// Output:
	// plimsoll_retry_budget_capacity 500
	// plimsoll_retry_budget_kept_total 0
	// plimsoll_retry_budget_refunded_total 10
	// plimsoll_retry_budget_replenished_total 0
	// plimsoll_retry_budget_reserved_total 10
	// plimsoll_retry_budget_tokens 500
}
