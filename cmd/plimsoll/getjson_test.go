package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// objects parses lines of JSON; every line must be one object.
func objects(t *testing.T, lines string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(lines) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if name, _ := m["event"].(string); name == "" {
			t.Errorf("line %q has no event", line)
		}
		if _, ok := m["ms"].(float64); !ok {
			t.Errorf("line %q has no ms", line)
		}
		all = append(all, m)
	}
	return all
}

func eventNames(all []map[string]any) string {
	var names []string
	for _, m := range all {
		names = append(names, m["event"].(string))
	}
	return strings.Join(names, " ")
}

func TestJSONIsAllThatStandsOnStdout(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(503, "busy"), faultserver.Respond(200, "answer"))
	file := filepath.Join(t.TempDir(), "body")
	got := runIt(t.Context(), "get", "--json", "--breaker", "3", "-H", "X-A: s3cret", "-o", file, strings.Replace(s.URL("/?s3cret"), "://", "://s3cret@", 1))
	if got.status != exitOK || got.stderr != "" || strings.Contains(got.stdout, "s3cret") {
		t.Errorf("%+v", got)
	}
	if body, err := os.ReadFile(file); err != nil || string(body) != "answer" {
		t.Errorf("body %q, %v", body, err)
	}
	all := objects(t, got.stdout)
	want := "CallStarted AttemptStarted ConnOpened ConnAcquired AttemptDone BudgetReserved ConnReleased RetryArmed AttemptStarted ConnAcquired AttemptDone BudgetSettled ConnReleased CallDone Attempt Attempt ConnClosed Summary"
	if names := eventNames(all); names != want {
		t.Errorf("events\n%s\nwant\n%s", names, want)
	}
	for _, m := range all {
		switch m["event"] {
		case "RetryArmed":
			if m["waitedMs"] == nil || m["cost"] != 10.0 || m["cause"] != "status" {
				t.Errorf("%v", m)
			}
		case "Attempt":
			for _, name := range []string{"number", "method", "url", "status", "class", "reused", "recoveries", "beginMs", "dialMs", "tlsMs", "waitMs", "readMs", "totalMs"} {
				if m[name] == nil {
					t.Errorf("%s is missing in %v", name, m)
				}
			}
		case "Summary":
			budget := m["budgets"].(map[string]any)[s.URL()].(map[string]any)
			breaker := m["breakers"].(map[string]any)[s.URL()].(map[string]any)
			if m["exit"] != 0.0 || m["requests"] != 1.0 || m["attempts"] != 2.0 || m["retries"] != 1.0 || m["status"] != 200.0 || m["bytes"] != 6.0 || m["error"] != "" || budget["tokens"] != 500.0 || breaker["state"] != "closed" {
				t.Errorf("%v", m)
			}
		}
	}
}

func TestJSONTellsAFailureToo(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.KillAfterReading(faultserver.RST))
	got := runIt(t.Context(), "get", "--json", "--retry", "0", s.URL("/?s3cret"))
	all := objects(t, got.stdout)
	last := all[len(all)-1]
	if text, _ := last["error"].(string); got.status != exitTransfer || last["exit"] != 56.0 || last["failed"] != 1.0 || last["skipped"] != string(events.SkipDisabled) && last["skipped"] != string(events.SkipAttempts) || !strings.Contains(text, "reset") || strings.Contains(text, "s3cret") {
		t.Errorf("status %d, %v", got.status, last)
	}
}

func TestJSONHoldsTheEventsOfAStream(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Handler: streaming(t)})
	got := runIt(t.Context(), "get", "--json", "--stream", s.URL("/cut"))
	var data []string
	for _, m := range objects(t, got.stdout) {
		if m["event"] == "StreamEvent" {
			data = append(data, m["id"].(string)+m["type"].(string)+m["data"].(string))
		}
	}
	if text := strings.Join(data, " "); got.status != exitOK || text != "1messageone 2lasttwo\nlines" {
		t.Errorf("status %d, %q", got.status, text)
	}
}
