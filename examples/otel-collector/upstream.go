package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
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
			if ctx.Err() != nil {
				err = nil // asked to end
			}
			return errors.Join(err, u.Close())
		}
	}
}
