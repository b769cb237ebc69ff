package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var levels = regexp.MustCompile(`orders \[[#.]{10}\] (\d+)/500`)

func TestTheDemoShowsABudgetDrainingAndRefilling(t *testing.T) {
	got := runIt(context.Background(), "demo", "-plain", "-duration", "12s")
	if got.status != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	lowest, last := 500, 0
	for _, m := range levels.FindAllStringSubmatch(got.stdout, -1) {
		last, _ = strconv.Atoi(m[1])
		lowest = min(lowest, last)
	}
	if lowest > 450 || last <= lowest {
		t.Errorf("lowest level %d, last %d, in\n%s", lowest, last, got.stdout)
	}
	for _, want := range []string{"dead connections", "429", "Summary of orders", "Meanwhile search kept 500 of 500", "0 errors"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
	for i, c := range got.stdout {
		if c < ' ' && c != '\n' {
			t.Fatalf("control character %q at %d", c, i)
		}
	}
}

func TestAnInterruptEndsTheDemoInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(1500*time.Millisecond, cancel)
	got := runIt(ctx, "demo", "-duration", "30s")
	if got.status != exitOK || !strings.Contains(got.stdout, "Interrupted.") || !strings.Contains(got.stdout, "Summary of orders") {
		t.Errorf("%+v", got)
	}
}

func TestBarsAndSparkLinesStayInTheirBounds(t *testing.T) {
	for _, row := range []struct {
		n, of int64
		want  string
	}{{0, 500, "...."}, {1, 500, "#..."}, {250, 500, "##.."}, {500, 500, "####"}, {900, 500, "####"}, {5, 0, "...."}, {-5, 500, "...."}} {
		if got := bar(row.n, row.of, 4, '#', '.'); got != row.want {
			t.Errorf("bar of %d/%d: %q, want %q", row.n, row.of, got, row.want)
		}
	}
	if got := sparkline([]int64{-1, 0, 250, 500, 900}, 500); got != "▁▁▄██" {
		t.Errorf("spark line %q", got)
	}
}

func TestTheLiveViewHeedsWhatTheTerminalCanDo(t *testing.T) {
	f := frame{phase: "healthy", actors: []actorFrame{{name: "orders", reading: reading{tokens: 250, capacity: 500}, spark: []int64{500, 250}}}}
	var out strings.Builder
	v := newView(&out, true, screen{})
	for range 2 {
		if err := v.draw(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Contains(got, "\x1b[1m") || !strings.Contains(got, "\x1b[6A\x1b[J") || strings.ContainsFunc(got, func(r rune) bool { return r > '~' }) {
		t.Errorf("plain: %q", got)
	}
	out.Reset()
	if err := newView(&out, true, screen{color: true, utf8: true}).draw(f); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "\x1b[1mhealthy\x1b[0m") || !strings.Contains(got, "█▄") {
		t.Errorf("coloured: %q", got)
	}
}
