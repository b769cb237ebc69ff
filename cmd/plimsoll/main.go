// Command plimsoll shows what the client does.
//
//	plimsoll get URL      one instrumented request, with the timeline of its events
//	plimsoll demo         a budget that drains and refills, live in the terminal
//	plimsoll dashboards   the Grafana dashboards
//	plimsoll rules        the Prometheus alert and recording rules
//
// Exit status: 0 where all went well, 1 where the request or the run failed, 2
// for flags and arguments that make no sense.
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
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// command is one subcommand. It returns a usageError for flags and arguments
// that make no sense.
type command struct {
	name  string
	about string
	run   func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"get", "send one instrumented request and show the timeline of its events", runGet},
		{"demo", "show a retry budget draining and refilling, live", runDemo},
		{"dashboards", "write the Grafana dashboards", runDashboards},
		{"rules", "write the Prometheus alert and recording rules", runRules},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// usageError is a mistake of the person at the keyboard. shown means that the
// flag package has printed it already.
type usageError struct {
	text  string
	shown bool
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// errSaidEverything ends a command with exit status 1 that has explained
// itself.
var errSaidEverything = errors.New("failed")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return exitStatus(c, c.run(ctx, args[1:], stdout, stderr), stderr)
		}
	}
	fmt.Fprintf(stderr, "plimsoll: no command %q: use one of get, demo, dashboards, rules\n", args[0])
	return exitUsage
}

func exitStatus(c command, err error, stderr io.Writer) int {
	var mistake *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &mistake):
		if !mistake.shown {
			fmt.Fprintf(stderr, "plimsoll %s: %s\nRun 'plimsoll %s -h' for its flags.\n", c.name, mistake.text, c.name)
		}
		return exitUsage
	case errors.Is(err, errSaidEverything):
		return exitFailed
	}
	fmt.Fprintf(stderr, "plimsoll %s: %v\n", c.name, err)
	return exitFailed
}

func usage(w io.Writer) {
	fmt.Fprint(w, "plimsoll shows what the plimsoll HTTP client does.\n\nUsage: plimsoll COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "\n'plimsoll COMMAND -h' shows a command's flags.\nExit status: 0 success, 1 the request or run failed, 2 bad flags or arguments.\n")
}

// flags makes a flag set that reports mistakes as usageError.
func flags(name, synopsis string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintf(stderr, "Usage: plimsoll %s %s\n", name, synopsis)
		fs.PrintDefaults()
	}
	return fs
}

// parse parses args and checks the number of arguments that are no flags.
func parse(fs *flag.FlagSet, args []string, least, most int) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &usageError{text: err.Error(), shown: true}
	}
	switch n := fs.NArg(); {
	case n < least:
		return usagef("%d arguments given, %d needed", n, least)
	case n > most:
		return usagef("argument %q is one too many: put flags before arguments", fs.Arg(most))
	}
	return nil
}
