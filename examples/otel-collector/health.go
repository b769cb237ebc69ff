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

// runHealth asks for URLs, for the health checks of containers that hold
// nothing that could. tcp://HOST:PORT is well where something accepts.
func runHealth(ctx context.Context, args []string, _, stderr io.Writer) error {
	fs := flag.NewFlagSet("otel-collector health", flag.ContinueOnError)
	fs.SetOutput(stderr)
	wait := fs.Duration("wait", 0, "ask again for this long until the answer is good")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError{err}
	case fs.NArg() == 0:
		return usageError{errors.New("health: give one URL or more, such as http://localhost:8080/ or tcp://localhost:8080")}
	}
	ctx, cancel := context.WithTimeout(ctx, *wait+5*time.Second)
	defer cancel()
	until := time.Now().Add(*wait)
	for _, url := range fs.Args() {
		for {
			err := healthy(ctx, url)
			if err == nil {
				break
			}
			if time.Now().After(until) {
				return err
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(time.Second):
			}
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
