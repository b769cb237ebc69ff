package dashboards_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

const runbooks = "../docs/runbooks"

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryAlertHasARunbook(t *testing.T) {
	index := page(t, "README")
	known := map[string]bool{"README.md": true}
	for _, a := range alerts(standard(t, dashboards.Options{})) {
		text := page(t, a.Runbook)
		known[a.Runbook+".md"] = true
		if !strings.HasPrefix(text, "# "+a.Name+"\n") {
			t.Errorf("%s: its runbook has another title", a.Name)
		}
		for _, part := range []string{"**Meaning.**", "## See why", "## Do", "## Healing", "Traces: "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: its runbook has no %q", a.Name, part)
			}
		}
		if row := "| [" + a.Name + "](" + a.Runbook + ".md) | " + string(a.Severity) + " |"; !strings.Contains(index, row) {
			t.Errorf("the index has no row %s", row)
		}
	}
	files, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("%s is no alert's runbook", f.Name())
		}
	}
}

func TestRunbooksNamePanelsThatExist(t *testing.T) {
	titles := map[string][]string{}
	for _, b := range standard(t, dashboards.Options{}).Boards {
		for _, row := range b.Rows {
			for _, p := range row.Panels {
				titles[b.Title] = append(titles[b.Title], p.Title)
			}
		}
	}
	named := regexp.MustCompile(`\*([^*/]+) / ([^*/]+)\*`)
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(strings.ReplaceAll(string(data), "\n  ", " "), -1) {
			found++
			if !slices.Contains(titles[m[1]], m[2]) {
				t.Errorf("%s names the panel %s / %s, which doesn't exist", filepath.Base(f), m[1], m[2])
			}
		}
	}
	if found < 30 {
		t.Errorf("the runbooks name %d panels: they were not read", found)
	}
}

func TestRunbooksNameAttributesAndSpansThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range catalog.Metrics() {
		known[m.Name], known[m.PrometheusName()] = true, true
		for _, a := range m.AllAttributes() {
			known[a.Key] = true
		}
	}
	for _, e := range catalog.Events() {
		known[e.Span] = true
		for _, a := range e.Attributes {
			known[a.Key] = true
		}
	}
	quoted := regexp.MustCompile("`((?:plimsoll|http|error|server)\\.[a-z_.]+)")
	found := 0
	files, _ := filepath.Glob(runbooks + "/*.md")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(data), -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s names %s, which is not in the catalogue", filepath.Base(f), m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("the runbooks name %d attributes: they were not read", found)
	}
}
