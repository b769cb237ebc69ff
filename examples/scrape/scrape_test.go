package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// scraped are the metrics, once there are some of the client's.
func scraped(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- run(ctx, l, io.Discard) }()
	defer func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		resp, err := http.Get("http://" + l.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), `plimsoll_outcome="recovered"`) { // a retry helped
			return string(body)
		}
	}
	return ""
}

func TestPrometheusGetsTheNamesOfTheCatalogue(t *testing.T) {
	text := scraped(t)
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
	}
	known := map[string]bool{}
	for _, m := range catalog.Metrics() {
		known[m.PrometheusName()] = true
	}
	found := 0
	for name := range named {
		if strings.HasPrefix(name, "plimsoll_") || strings.HasPrefix(name, "http_client_") {
			found++
			if !known[name] {
				t.Errorf("%s is not in the catalogue", name)
			}
		}
	}
	for _, want := range []string{"plimsoll_retry_budget_tokens", "plimsoll_call_duration_seconds", "plimsoll_retry_armed_total", "http_client_request_duration_seconds"} {
		if !named[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if found < 20 {
		t.Errorf("only %d metrics:\n%s", found, text)
	}
	if !regexp.MustCompile(`plimsoll_retry_budget_capacity\{[^}]*plimsoll_client="shop"[^}]*\} 500`).MatchString(text) {
		t.Error(text)
	}
}

func TestTheRulesThatTheConfigurationLoadsAreThere(t *testing.T) {
	files, err := filepath.Glob("../../dashboards/generated/plimsoll-*.yaml")
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
