package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/config"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/promdb"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

// The example without a collector, as a process of its own, is scraped by
// Prometheus's own code as its configuration says, and the generated rules find
// what they ask for.
func TestPrometheusScrapesTheExampleWithoutACollector(t *testing.T) {
	const folder = "../scrape"
	cfg, err := config.LoadFile(filepath.Join(folder, "prometheus.yaml"), false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	scrapes, err := cfg.GetScrapeConfigs()
	if err != nil || len(scrapes) != 1 {
		t.Fatalf("%v, %v", scrapes, err)
	}
	source, err := os.ReadFile(filepath.Join(folder, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	listens := regexp.MustCompile(`"127\.0\.0\.1:\d+"`).FindString(string(source))
	written, err := os.ReadFile(filepath.Join(folder, "prometheus.yaml"))
	if err != nil || listens == "" || !strings.Contains(string(written), "["+strings.Trim(listens, `"`)+"]") {
		t.Errorf("%v: the example listens on %s, which its configuration does not scrape", err, listens)
	}

	program := filepath.Join(t.TempDir(), "scrape")
	build := exec.Command(require.Tool(t, "go"), "build", "-C", folder, "-o", program, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var out writer
	service := exec.Command(program, "-listen", "127.0.0.1:0")
	service.Stdout, service.Stderr = &out, &out
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := service.Wait(); err != nil {
			t.Errorf("%v: %s", err, out.String())
		}
	})
	var url string
	eventually(t, func() bool {
		url = regexp.MustCompile(`http://\S+/metrics`).FindString(out.String())
		return url != ""
	})

	var rules []promdb.Rules
	for _, pattern := range cfg.RuleFiles { // LoadFile has made them relative to the configuration
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 2 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, promdb.Rules{Name: name, Data: data})
		}
	}
	db, err := promdb.Open(rules, time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Scrape(promdb.Target{URL: url, Job: scrapes[0].JobName, Instance: "example"}); err != nil {
		t.Fatal(err)
	}
	for expr, least := range map[string]float64{
		`up{job="shop"}`: 1,
		`plimsoll_retry_budget_capacity{job="shop",plimsoll_client="shop"}`:                  500,
		`sum(plimsoll_call_duration_seconds_count{plimsoll_outcome="recovered"})`:            1,
		`sum(rate(plimsoll_call_duration_seconds_count{job="shop"}[10s]))`:                   1,
		`count({__name__=~".+:.+",job="shop"})`:                                              1, // a recording rule's
		`histogram_quantile(0.5, sum by (le) (http_client_request_duration_seconds_bucket))`: 0.0001,
	} {
		eventually(t, func() bool {
			v, err := db.Query(t.Context(), expr, time.Now())
			return err == nil && len(v) == 1 && v[0].F >= least
		})
	}
}
