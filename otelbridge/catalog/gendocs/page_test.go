package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

func TestTheCommittedPageIsUpToDate(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Page() {
		t.Error("docs/telemetry.md differs from the catalogue; run: go run ./otelbridge/catalog/gendocs -o docs/telemetry.md")
	}
}

func TestThePageHasEveryEventAndMetric(t *testing.T) {
	page := Page()
	for _, e := range catalog.Events() {
		if !strings.Contains(page, "| "+e.Name+" |") {
			t.Errorf("%s is not on the page", e.Name)
		}
	}
	for _, m := range catalog.Metrics() {
		if !strings.Contains(page, "| `"+m.Name+"` | `"+m.PrometheusName()+"` |") {
			t.Errorf("%s is not on the page", m.Name)
		}
	}
}
