package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit statuses.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// usageError is an error of the command line.
type usageError struct{ error }

// run runs the command that args name and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command := runDemo
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			command, args = runUpstream, args[1:]
		case "health":
			command, args = runHealth, args[1:]
		}
	}
	err := command(ctx, args, stdout, stderr)
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "otel-collector:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "otel-collector:", err)
	return exitFailed
}

// options are the flags of the demonstration.
type options struct {
	listen   string
	duration time.Duration
	headless bool
	endpoint string
	redis    string
	orders   string
	history  time.Duration
	seed     uint64
	verbose  bool
}

// Bounds of the flags.
const (
	shortestStory  = 20 * time.Second
	headlessStory  = 100 * time.Second
	longestStory   = 24 * time.Hour
	longestHistory = 15 * time.Minute
)

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("otel-collector", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8484", "`ADDRESS` of the page, on loopback; port 0: a free one")
	fs.DurationVar(&o.duration, "duration", 0, "play the story within this time and end; 0: run until interrupted, trouble by hand (with -headless: "+headlessStory.String()+", or without end if -upstream is given)")
	fs.BoolVar(&o.headless, "headless", false, "no page: play the story, print the lead time and a summary")
	fs.StringVar(&o.endpoint, "otlp-endpoint", "", "`HOST:PORT` of a collector (OTLP over gRPC, no TLS) to use instead of the one inside")
	fs.StringVar(&o.redis, "redis", "", "`HOST:PORT` of a Redis that the breaker's gates are shared through")
	fs.StringVar(&o.orders, "upstream", "", "`HOST:PORT` of an orders service (command upstream) to call instead of the own one; its troubles come by themselves")
	fs.DurationVar(&o.history, "history", 3*time.Minute, "how much past to make before the start; 0: none")
	fs.Uint64Var(&o.seed, "seed", 1, "`NUMBER` that the upstreams' failures are drawn from")
	fs.BoolVar(&o.verbose, "v", false, "show warnings of the collector and of Prometheus")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usageError{err}
	}
	switch {
	case fs.NArg() > 0:
		return o, usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
	case o.duration != 0 && (o.duration < shortestStory || o.duration > longestStory):
		return o, usageError{fmt.Errorf("-duration is %v: use %v to %v, or 0", o.duration, shortestStory, longestStory)}
	case o.history < 0 || o.history > longestHistory:
		return o, usageError{fmt.Errorf("-history is %v: use 0 to %v", o.history, longestHistory)}
	case o.duration != 0 && o.orders != "" && !o.headless:
		return o, usageError{errors.New("-duration and -upstream: the story needs the own orders service; leave one out, or add -headless to only watch")}
	}
	if o.headless && o.duration == 0 && o.orders == "" {
		o.duration = headlessStory
	}
	return o, nil
}
