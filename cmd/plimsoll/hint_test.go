package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func TestAFailingStatusIsExplainedWhereNoSummaryIs(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	hour := faultserver.RespondWith(429, http.Header{"Retry-After": {"3600"}}, "b")
	for _, row := range []struct {
		args   string
		script faultserver.Script
		status int
		want   string // all of stderr, "plimsoll get: " before it
	}{
		{"--json --retry 1", faultserver.Respond(503, "b"), exitHTTP, "status 503 after 2 attempts; --retry N allows more"},
		{"--json", faultserver.Respond(404, "b"), exitHTTP, "status 404 after 1 attempt"},
		{"--json", hour, exitRefused, "status 429 after 1 attempt; the server asks for 1h0m0s; more than 60 s is not waited for"},
		{"--json --timeout 0", hour, exitRefused, "status 429 after 1 attempt; the server asks for 1h0m0s; more than 60 s is not waited for"},
		{"-s --retry 1", faultserver.Respond(503, "b"), exitHTTP, "status 503 after 2 attempts"},
		{"-s", faultserver.Respond(404, "b"), exitHTTP, "status 404 after 1 attempt"},
		{"-s", hour, exitRefused, "status 429 after 1 attempt"},
		{"-s --fail=false", faultserver.Respond(404, "b"), exitOK, ""},
		{"--json --fail=false", faultserver.Respond(404, "b"), exitOK, ""},
	} {
		s.Next(row.script)
		if strings.Contains(row.args, "--retry 1") {
			s.Next(row.script)
		}
		got := runIt(t.Context(), append(append([]string{"get"}, strings.Fields(row.args)...), s.URL())...)
		want := row.want
		if want != "" {
			want = "plimsoll get: " + want + "\n"
		}
		if got.status != row.status || got.stderr != want || strings.HasPrefix(row.args, "-s") && got.stdout != "b" {
			t.Errorf("%s: %+v, want status %d and %q", row.args, got, row.status, want)
		}
	}
}

func TestTheSummaryNeedsNoLineForAStatusWithoutAHint(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(404, "none"))
	if got := runIt(t.Context(), "get", s.URL()); strings.Contains(got.stderr, "plimsoll get:") || !strings.Contains(got.stderr, "404 Not Found") {
		t.Errorf("%+v", got)
	}
}

func TestAWaitThatDoesNotFitNamesTheBoundThatDecided(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.RespondWith(503, http.Header{"Retry-After": {"45"}}, "later"))
	got := runIt(t.Context(), "get", s.URL())
	if got.status != exitRefused {
		t.Errorf("%+v", got)
	}
	inOrder(t, got.stderr, "status 503 after 1 attempt; the next attempt is due in 45s and --timeout leaves ", "s; a longer --timeout allows it")

	for _, row := range []struct {
		timeout, delay, left time.Duration
		stream               bool
		want                 string
	}{
		{30 * time.Second, time.Hour, 29 * time.Second, false, "the server asks for 1h0m0s; more than 60 s is not waited for"},
		{30 * time.Second, 40 * time.Second, 29 * time.Second, false, "the next attempt is due in 40s and --timeout leaves 29s; a longer --timeout allows it"},
		{2 * time.Minute, 40 * time.Second, 9 * time.Second, false, "the next attempt is due in 40s and --timeout leaves 9s; a longer --timeout allows it"},
		{time.Hour, 40 * time.Second, 9 * time.Second, false, "the next attempt is due in 40s and 9s are left of the 2m0s for all waits"},
		{0, 40 * time.Second, -time.Second, false, "the next attempt is due in 40s and 0s are left of the 2m0s for all waits"},
		{30 * time.Second, 40 * time.Second, 9 * time.Second, true, "the next attempt is due in 40s and 9s are left of the 2m0s for all waits"},
		{30 * time.Second, 90 * time.Second, 80 * time.Second, true, "the next attempt is due in 1m30s; a Retry-After above 60 s is not waited for, and 1m20s are left of the 2m0s for all waits"},
		{30 * time.Second, 0, 0, false, "no time is left for a retry"},
	} {
		o := &getOptions{timeout: row.timeout, stream: row.stream}
		skip := events.RetrySkipped{Reason: events.SkipDeadline, Delay: row.delay, Remaining: row.left}
		if got := hint(o, exitRefused, skip); got != row.want {
			t.Errorf("%+v:\n%s, want\n%s", row, got, row.want)
		}
	}
}

func TestABodyThatBreaksOffSaysThatTheFileWasNotWritten(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	file := filepath.Join(t.TempDir(), "file")
	for size, says := range map[int]string{8: "after 4 bytes of the body: unexpected EOF", 2: "after 1 byte of the body: unexpected EOF"} {
		for _, args := range [][]string{{"-o", file}, {"-s", "-o", file}} {
			s.Next(faultserver.KillInBody(size, faultserver.FIN))
			got := runIt(t.Context(), append([]string{"get", s.URL()}, args...)...)
			if got.status != exitTransfer || !strings.Contains(got.stderr, says+"; "+file+" was not written\n") {
				t.Errorf("%d, %v: %+v", size, args, got)
			}
		}
		s.Next(faultserver.KillInBody(size, faultserver.FIN))
		if got := runIt(t.Context(), "get", s.URL()); !strings.Contains(got.stderr, says+"\n") {
			t.Errorf("without a file: %+v", got)
		}
	}
}

func TestOneOfAThingIsSingular(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	s.Next(faultserver.Respond(200, "x"))
	if got := runIt(t.Context(), "get", s.URL()); !strings.Contains(got.stderr, "HTTP/1.1  1 byte  ") {
		t.Errorf("%+v", got)
	}
	s.Next(faultserver.Respond(200, "x"), faultserver.Respond(200, ""))
	if got := runIt(t.Context(), "get", "-n", "2", s.URL()); !strings.Contains(got.stderr, "; 1 byte, 2 attempts") {
		t.Errorf("%+v", got)
	}
}

func TestTheManualOfGetTellsTheDefaultOfFail(t *testing.T) {
	manual := strings.Join(strings.Fields(runIt(t.Context(), "get", "--help").stdout), " ")
	for _, want := range []string{"take a status of 400 or above for a failure; on unless --fail=false is given", "nothing but the body and errors, a status that is a failure among them"} {
		if !strings.Contains(manual, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
