package main

import (
	"context"
	"fmt"
	"io"
)

// command is one subcommand.
type command struct {
	name        string
	args        string // what follows the flags, for the usage line
	least, most int    // number of arguments
	about       string
	manual      func() string // what --help says below the flags; nil: nothing
	words       []string      // what the argument may be; nil: anything

	// flags declares the flags on f and returns what runs the command. It has
	// no other effect, since help and completion call it too. The function
	// that it returns gives a usageError for flags and arguments that make no
	// sense.
	flags func(f *flagSet) func(ctx context.Context, args []string, std streams) error
}

func commands() []command {
	all := []command{
		{name: "get", args: "[flags] URL", least: 1, most: 1, about: "send one instrumented request and show its attempts", manual: getManual, flags: getFlags},
		{name: "demo", args: "[flags]", about: "show a retry budget draining and refilling, live", flags: demoFlags},
	}
	all = append(all, artefactCommands()...)
	return append(all, command{
		name: "completion", args: "bash|zsh|fish", least: 1, most: 1, about: "write the shell's completion of this command",
		manual: completionManual, words: shells(), flags: completionFlags,
	})
}

// names are the words that may stand for COMMAND.
func names() []string {
	var all []string
	for _, c := range commands() {
		all = append(all, c.name)
	}
	return append(all, "help", "version")
}

// start parses args and runs the command.
func (c command) start(ctx context.Context, args []string, std streams) error {
	f := newFlagSet(c.name)
	do := c.flags(f)
	help, err := f.parse(args)
	switch n := len(f.args); {
	case help:
		c.help(std.out, f)
		return nil
	case err != nil:
		return err
	case n < c.least:
		return usagef("%s given, %d needed: plimsoll %s %s", quantity(n, "argument"), c.least, c.name, c.args)
	case n > c.most:
		return usagef("%s given, at most %d taken: plimsoll %s %s", quantity(n, "argument"), c.most, c.name, c.args)
	}
	return do(ctx, f.args, std)
}

// usageError is a mistake of the person at the keyboard.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

func overview(w io.Writer) {
	fmt.Fprint(w, "plimsoll shows what the plimsoll HTTP client does.\n\nUsage: plimsoll COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "  version     write the version\n\n"+
		"'plimsoll COMMAND --help' shows a command's flags, with examples.\n"+
		"Exit status: 0 success, 2 bad flags or arguments, others: see 'plimsoll get --help'.\n")
}
