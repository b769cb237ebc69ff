package otelbridge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/otelbridge"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// hostile is a base that answers with whatever could be mistaken for a label.
type hostile struct{ n int }

func (h *hostile) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	h.n++
	value := fmt.Sprintf("evil-%d", h.n)
	header := http.Header{}
	for _, name := range []string{"Retry-After", "Content-Type", "Server", "Traceparent", "Tracestate", "Baggage", "Location", "Content-Language", "X-Plimsoll-Client", "Server-Timing"} {
		header[name] = []string{value, strings.Repeat(value, 100)}
	}
	return &http.Response{
		Status: value, StatusCode: 200 + h.n%400, Proto: value, ProtoMajor: h.n % 97, ProtoMinor: h.n % 89,
		Header: header, Body: io.NopCloser(strings.NewReader(value)), Request: r,
	}, nil
}

// TestARealClientsSeriesAreBoundedWhateverItMeets asks 10,000 origins, 1,000
// paths with 500 queries, and 500 methods, with and for hostile headers.
func TestARealClientsSeriesAreBoundedWhateverItMeets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		names := &nameCount{seen: map[string]int{}}
		gate, err := breaker.New(breaker.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(client.Config{
			Name: "shop", Base: &hostile{}, Breaker: gate, Retry: client.RetryPolicy{MaxRetries: -1},
			Telemetry: otelbridge.Config{
				MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(names)),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		send := func(method, at string, n int) {
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			value := fmt.Sprintf("evil-%d", n)
			resp, err := c.Transport.RoundTrip((&http.Request{Method: method, URL: u, Host: value, Header: http.Header{
				"Traceparent": {value}, "Baggage": {"a=" + value}, "User-Agent": {value}, "X-Forwarded-Host": {value}, "Content-Type": {value},
			}}).WithContext(t.Context()))
			if err != nil {
				return // refused by the breaker or a throttle
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		for n := range 10_000 {
			send(http.MethodGet, fmt.Sprintf("http://evil-%d.example/", n), n)
		}
		for n := range 1000 {
			send(http.MethodGet, fmt.Sprintf("http://one.example/evil-%d?evil=%d", n, n%500), n)
		}
		for n := range 500 {
			send(fmt.Sprintf("EVIL%d", n), "http://one.example/", n)
		}
		got := collect(t, reader)
		if len(got) < 20 {
			t.Errorf("%d metrics were emitted: that is not all", len(got))
		}
		for name, m := range got {
			all := points(t, m)
			if len(all) > catalog.MaxSeries {
				t.Errorf("%s has %d series, want at most %d", name, len(all), catalog.MaxSeries)
			}
			for _, p := range all {
				if p.attrs.HasValue("otel.metric.overflow") {
					t.Errorf("%s is past the SDK's limit", name)
				}
				for _, kv := range p.attrs.ToSlice() {
					address := kv.Key == catalog.KeyAddress && strings.HasSuffix(kv.Value.AsString(), ".example")
					if text := kv.Value.String(); !address && (strings.Contains(strings.ToLower(text), "evil") || strings.Contains(text, "://")) {
						t.Errorf("%s has %s=%s", name, kv.Key, text)
					}
				}
			}
		}
		var counted uint64
		for _, p := range points(t, got[catalog.CallDuration]) {
			counted += p.count
		}
		if counted != 11_500 {
			t.Errorf("%s counts %d calls, want all 11500", catalog.CallDuration, counted)
		}
		var rest uint64
		for _, p := range points(t, got[catalog.CallDuration]) {
			if v, _ := p.attrs.Value(attribute.Key(catalog.KeyAddress)); v.AsString() == catalog.Other {
				rest += p.count
			}
		}
		if want := uint64(11_500 - catalog.DefaultMaxOrigins); rest != want {
			t.Errorf("%d calls are those of the rest, want %d", rest, want)
		}
		if len(names.seen) > 30 {
			t.Errorf("spans have %d names: %v", len(names.seen), names.seen)
		}
	})
}

// nameCount counts spans by name. It is used by one goroutine at a time.
type nameCount struct {
	tracetest.NoopExporter
	seen map[string]int
}

func (n *nameCount) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		n.seen[s.Name()]++
	}
	return nil
}
