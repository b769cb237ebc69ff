package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// patience is how long all answers together may take.
const patience = 4 * time.Second

// runHealth asks for URLs, for the health checks of containers that hold
// nothing that could. tcp://HOST:PORT is well where something accepts.
func runHealth(ctx context.Context, args []string, _, stderr io.Writer) error {
	fs := flag.NewFlagSet("otel-collector health", flag.ContinueOnError)
	fs.SetOutput(stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError{err}
	case fs.NArg() == 0:
		return usageError{errors.New("health: give one URL or more, such as http://localhost:8080/ or tcp://localhost:8080")}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, url := range fs.Args() {
		if err := healthy(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

func healthy(ctx context.Context, url string) error {
	if address, ok := strings.CutPrefix(url, "tcp://"); ok {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("health: %w", err)
		}
		return c.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return usageError{fmt.Errorf("health: %w", err)}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("health: %s: %s", url, resp.Status)
	}
	return nil
}
