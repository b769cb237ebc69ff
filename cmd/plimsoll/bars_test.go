package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func ms(from, to float64) interval {
	return interval{time.Duration(from * float64(time.Millisecond)), time.Duration(to * float64(time.Millisecond))}
}

// story is a call that is retried, meets a dead connection and succeeds.
func barStory() []*callRecord {
	return []*callRecord{{
		method: "GET", url: "https://api.example.com/orders?REDACTED", status: 200,
		steps: []step{
			{attempt: &attempt{interval: ms(10, 50), number: 1, status: 503, done: true, parts: [phases]interval{dialPhase: ms(10, 20), tlsPhase: ms(20, 35), waitPhase: ms(35, 50)}}},
			{pause: &pause{interval: ms(50, 90), next: 2, cause: "status", cost: 10, level: 490}},
			{attempt: &attempt{interval: ms(90, 110), number: 2, status: 200, reused: true, recoveries: 1, done: true, stale: []time.Duration{95 * time.Millisecond}, parts: [phases]interval{waitPhase: ms(96, 100), readPhase: ms(100, 110)}}},
		},
	}}
}

func TestBarsShowAttemptsOnOneTimeAxis(t *testing.T) {
	for _, row := range []struct {
		name   string
		screen screen
		want   string
	}{
		{"plain", screen{width: 68}, `
GET https://api.example.com/orders?REDACTED
  attempt 1   503 ddddttttttwwwwww                           40.0 ms
                  dial 10.0 ms, TLS 15.0 ms, wait 15.0 ms
  retry wait                      ................           40.0 ms
                  cause status, 10 tokens reserved, 490 left
  attempt 2   200                                   xwrrrr   20.0 ms
                  reused connection, dead connections replaced: 1,
                  wait 4.00 ms, read 10.0 ms
  d dial  t TLS  w wait  r read  . wait before a retry
  x dead connection
`},
		{"wide", screen{width: 88, utf8: true}, `
GET https://api.example.com/orders?REDACTED
  attempt 1   503 ░░░░░░▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓                                       40.0 ms
                  dial 10.0 ms, TLS 15.0 ms, wait 15.0 ms
  retry wait                              ························               40.0 ms
                  cause status, 10 tokens reserved, 490 left
  attempt 2   200                                                    ×▓▓██████   20.0 ms
                  reused connection, dead connections replaced: 1, wait 4.00 ms,
                  read 10.0 ms
  ░ dial  ▒ TLS  ▓ wait  █ read  · wait before a retry  × dead connection
`},
		{"narrow", screen{width: 30}, `
GET https://api.example.com...
  attempt 1   503 40.0 ms
    dial 10.0 ms, TLS 15.0 ms,
    wait 15.0 ms
  retry wait 40.0 ms
    cause status,
    10 tokens reserved,
    490 left
  attempt 2   200 20.0 ms
    reused connection,
    dead connections replaced: 1,
    wait 4.00 ms, read 10.0 ms
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.screen.bars(barStory()); got != strings.TrimPrefix(row.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, row.want)
			}
		})
	}
}

func TestBarsKeepToTheWidthOfTheScreen(t *testing.T) {
	for width := 8; width <= 240; width++ {
		for _, s := range []screen{{width: width}, {width: width, utf8: true}} {
			for line := range strings.Lines(s.bars(barStory())) {
				line = strings.TrimRight(line, "\n")
				if n := utf8.RuneCountInString(line); n > max(width, 40) || width >= narrowestBars && n > width {
					t.Errorf("width %d: %d runes in %q", width, n, line)
				}
				if !s.utf8 && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
					t.Errorf("not ASCII: %q", line)
				}
			}
		}
	}
}

func TestColoursChangeNothingButTheColour(t *testing.T) {
	for _, width := range []int{30, 80} {
		painted := screen{width: width, utf8: true, color: true}.bars(barStory())
		if !strings.Contains(painted, "\x1b["+red+"m503") || strings.Count(painted, "\x1b[0m")*2 != strings.Count(painted, "\x1b[") {
			t.Errorf("not painted, or not ended: %q", painted)
		}
		if got, want := withoutColours(painted), (screen{width: width, utf8: true}).bars(barStory()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func withoutColours(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func TestEveryPhaseHasAtLeastOneColumn(t *testing.T) {
	calls := []*callRecord{{steps: []step{
		{pause: &pause{interval: ms(0, 100_000)}},
		{attempt: &attempt{interval: ms(100_000, 100_001), number: 2, status: 200, parts: [phases]interval{ms(100_000, 100_000.1), ms(100_000.1, 100_000.2), ms(100_000.2, 100_000.3), ms(100_000.3, 100_001)}}},
	}}}
	got := screen{width: 80}.bars(calls)
	if !strings.Contains(got, "dtwr") {
		t.Errorf("got\n%s", got)
	}
}

func TestBriefHasThreeFigures(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0 ms", 0: "0.00 ms", 1234 * time.Microsecond: "1.23 ms", 9_996 * time.Microsecond: "10.0 ms", 12_345 * time.Microsecond: "12.3 ms",
		123_456 * time.Microsecond: "123 ms", 1234 * time.Millisecond: "1.23 s", 61 * time.Second: "61.00 s", 2*time.Hour + time.Second: "2h0m1s",
	} {
		if got := brief(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
