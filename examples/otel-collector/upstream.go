package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/story"
)

// runUpstream is the orders service alone: it plays the story's phases over
// and over.
func runUpstream(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("otel-collector upstream", flag.ContinueOnError)
	fs.SetOutput(stderr)
	listen := fs.String("listen", ":8080", "`ADDRESS` to serve on")
	every := fs.Duration("every", 10*time.Minute, "length of the story, which is repeated")
	seed := fs.Uint64("seed", 1, "`NUMBER` that the failures are drawn from")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError{err}
	case fs.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
	case *every < time.Second:
		return usageError{fmt.Errorf("-every is %v: use at least 1s", *every)}
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	u := story.NewUpstream("orders", l, *seed)
	fmt.Fprintf(stdout, "orders is at %s\n", l.Addr())
	for {
		err := story.Run(ctx, u, story.Phases(), *every, func(p story.Phase) { fmt.Fprintf(stdout, "%s: %s\n", p.Name, p.Says) })
		if err != nil {
			return errors.Join(interrupted(ctx, err), u.Close())
		}
	}
}

// runHealth asks for a URL, for the health checks of containers that hold
// nothing that could.
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
		return usageError{errors.New("health: give one URL or more")}
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
