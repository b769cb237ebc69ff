// Command screenshot writes the README's picture: the page while a budget that
// is kept in the legacy way drains, with the alert firing. It needs Chromium.
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

const (
	past  = 2 * time.Minute
	limit = 2 * time.Minute
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
	var png []byte
	err = s.Run(ctx, past, func(ctx context.Context) (err error) {
		png, err = picture(ctx, chromium, s.Page.URL)
		return err
	})
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

// picture drains the budget and takes the picture when a quarter is left.
func picture(ctx context.Context, chromium, url string) ([]byte, error) {
	tab, err := browser.Open(ctx, chromium)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	const level = `Number(document.querySelector('.panel[data-title="Lowest level"] .value').dataset.value)`
	for _, step := range []func() error{
		func() error { return tab.Look(width, height, 1, "light") },
		func() error { return tab.Go(url + "/d/plimsoll-retry-budget?range=60") },
		func() error { return tab.Until(level+" > 450", limit) },
		func() error { return tab.Click("#accounting") },
		func() error { return tab.Click(`[data-trouble="kill"]`) },
		func() error {
			return tab.Until(`document.querySelector('[data-alert="PlimsollBudgetDraining"]').dataset.state === "firing" && `+level+" < 140", limit)
		},
		func() error { return tab.Eval(`document.activeElement.blur()`, nil) },
		func() error { return tab.Hover(2, 2) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return tab.Shot()
}
