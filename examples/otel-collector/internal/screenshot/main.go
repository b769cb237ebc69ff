// Command screenshot writes the README's picture: the page when a budget that
// was kept in the legacy way has drained, with the alert that fired long before
// the first retry was denied. It needs Chromium. Time passes by steps, so that
// the picture is the same on every machine but for the clock.
//
//	go run ./internal/screenshot -o ../../docs/images/budget-dashboard.png
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/browser"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/demo"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/show"
	"github.com/plimsoll-http/plimsoll/examples/otel-collector/internal/web"
)

// Size of the picture in pixels, and what it may weigh in bytes.
const (
	width, height = 1280, 920
	heaviest      = 300_000
)

// limit is how long anything may take.
const limit = 2 * time.Minute

// past is how much there is to see before the trouble, and story how many
// seconds of it the picture may take.
const (
	past  = 2 * time.Minute
	story = 90
)

func main() {
	out := flag.String("o", "budget-dashboard.png", "`FILE` to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) (err error) {
	var chromium string
	for _, name := range browser.Names {
		if chromium, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("none of %v is on PATH: %w", browser.Names, err)
	}
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := show.Start(ctx, l, demo.Config{Seed: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	begin := time.Now().Add(-past - story*time.Second)
	if err := s.Backfill(ctx, begin, begin.Add(past), nil); err != nil {
		return err
	}
	s.Page.Ready()
	png, err := picture(ctx, chromium, s)
	if err != nil {
		return err
	}
	if len(png) > heaviest {
		return fmt.Errorf("the picture has %d bytes, more than %d", len(png), heaviest)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, png, 0o644)
}

// picture drains the budget and takes the picture when a failure has reached a
// caller.
func picture(ctx context.Context, chromium string, s *show.Show) ([]byte, error) {
	tab, err := browser.Open(ctx, chromium)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	for _, step := range []func() error{
		func() error { return tab.Look(width, height, 1, "light") },
		func() error { return tab.Go(s.Page.URL + "/d/plimsoll-retry-budget?range=60") },
		func() error { return tab.Show(s.Now(), limit) },
		func() error { return tab.Click("#accounting") },
		func() error { return tab.Until(`document.querySelector("#accounting[aria-checked=true]")`, limit) },
		func() error { return tab.Click(`[data-trouble="kill"]`) },
		func() error {
			return tab.Until(`document.querySelector("[data-trouble=kill][aria-pressed=true]")`, limit)
		},
		func() error { return steps(ctx, s, tab, story, escaped) },
		func() error { return tab.Eval(`document.activeElement.blur()`, nil) },
		func() error { return tab.Hover(2, 2) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return tab.Shot()
}

// escaped is true when the page shows that the first failure has reached a
// caller, and that the first retry was denied.
const escaped = `document.querySelector('[data-alert="PlimsollRetriesDenied"]').dataset.state === "firing" &&
	Number(document.querySelector('.panel[data-title="Escapes"] .value').dataset.value) > 0`

// steps lets seconds pass until the page shows what script asks, n at most.
func steps(ctx context.Context, s *show.Show, tab *browser.Tab, n int, script string) error {
	for range n {
		if err := s.Step(ctx); err != nil {
			return err
		}
		if err := tab.Show(s.Now(), limit); err != nil {
			return err
		}
		var done bool
		if err := tab.Eval(script, &done); err != nil || done {
			return err
		}
	}
	return fmt.Errorf("not within %d seconds: %s", n, script)
}
