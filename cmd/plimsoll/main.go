// Command plimsoll shows what the client does.
//
//	plimsoll get URL           one instrumented request, with bars of its attempts
//	plimsoll demo              a budget that drains and refills, live in the terminal
//	plimsoll dashboards        the Grafana dashboards
//	plimsoll rules             the Prometheus alert and recording rules
//	plimsoll completion SHELL  completion for bash, zsh or fish
//
// Flags may stand before and after the arguments, with one dash or two; after
// "--" nothing is a flag. "plimsoll COMMAND --help" is the manual of a command.
//
// The build tag nodashboards leaves dashboards and rules out, and the Grafana
// SDK with them: a first build then takes three quarters of the time.
//
// # Exit status
//
// 0 is success and 2 a flag or an argument that makes no sense. What went
// wrong with a request has a number of its own, that of curl where curl has
// one; "plimsoll get --help" lists them. 1 is any other failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

func main() {
	// A closed pipe shall be an error of the write, so that what was begun is
	// put in order; without this the process would be killed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := interruptible(context.Background())
	status := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv})
	stop()
	os.Exit(status)
}

// interruptedError is the cause of a context that a signal ended.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return "interrupted by " + e.signal.String() }

// interruptible returns a context that ends with SIGINT or SIGTERM. A second
// signal ends the process, in case something does not heed the context.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interruptedError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string // of os.Getenv
}

func run(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 {
		overview(std.err)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) == 2 && args[0] == "help" {
			return run(ctx, []string{args[1], "--help"}, std)
		}
		overview(std.out)
		return exitOK
	case "version", "-version", "--version":
		fmt.Fprintln(std.out, "plimsoll", version())
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return exitStatus(c, c.start(ctx, args[1:], std), std.err)
		}
	}
	text := fmt.Sprintf("no command %q: use one of %s", args[0], strings.Join(names(), ", "))
	if strings.Contains(args[0], "://") { // it may hold a password
		text = "a URL is no command: use plimsoll get URL"
	}
	fmt.Fprintf(std.err, "plimsoll: %s\n", text)
	return exitUsage
}

func exitStatus(c command, err error, stderr io.Writer) int {
	var (
		mistake *usageError
		ended   *endedError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &mistake):
		fmt.Fprintf(stderr, "plimsoll %s: %s\nRun 'plimsoll %s --help' for its flags.\n", c.name, mistake.text, c.name)
		return exitUsage
	case errors.As(err, &ended):
		return ended.status
	case errors.Is(err, syscall.EPIPE):
		return exitWrite // the reader has had enough
	}
	fmt.Fprintf(stderr, "plimsoll %s: %v\n", c.name, err)
	return exitFailed
}

// version is that of the module, "devel" for a build from a checkout without
// one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
