package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// flagSet is a flag.FlagSet whose flags may stand behind arguments, and may
// have a second name of one letter.
type flagSet struct {
	*flag.FlagSet
	letters map[string]string // from the long name; "" where there is none
	args    []string          // what is no flag, after parse
}

func newFlagSet(name string) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // parse reports
	return &flagSet{FlagSet: fs, letters: map[string]string{}}
}

// letter gives the flag name a second name of one letter.
func (f *flagSet) letter(letter, name string) {
	f.letters[name] = letter
	long := f.Lookup(name)
	f.Var(long.Value, letter, long.Usage)
}

// all returns the flags by their long names, sorted.
func (f *flagSet) all() []*flag.Flag {
	var flags []*flag.Flag
	f.VisitAll(func(one *flag.Flag) {
		for _, letter := range f.letters {
			if letter == one.Name {
				return
			}
		}
		flags = append(flags, one)
	})
	return flags
}

// dashed returns the names of a flag as they are typed, the letter first.
func (f *flagSet) dashed(one *flag.Flag) []string {
	if letter := f.letters[one.Name]; letter != "" {
		return []string{"-" + letter, "--" + one.Name}
	}
	if len(one.Name) == 1 {
		return []string{"-" + one.Name}
	}
	return []string{"--" + one.Name}
}

// parse sets the flags among args and keeps the rest in f.args. It reports
// whether help was asked for.
func (f *flagSet) parse(args []string) (help bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			f.args = append(f.args, args...)
			return false, nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			f.args = append(f.args, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		one := f.Lookup(name)
		if one == nil && !strings.HasPrefix(arg, "--") {
			// As in -XPOST. A small letter would be a misspelt long name.
			if short := f.Lookup(arg[1:2]); short != nil && !isSwitch(short) && len(arg) > 2 && (arg[2] < 'a' || arg[2] > 'z') {
				one, name, value, given = short, arg[1:2], arg[2:], true
			}
		}
		switch {
		case one == nil && (name == "h" || name == "help"):
			return true, nil
		case one == nil:
			return false, usagef("no flag %s", typed(name))
		case !given && isSwitch(one):
			value = "true"
		case !given && len(args) == 0:
			return false, usagef("%s needs a value", typed(name))
		case !given:
			value, args = args[0], args[1:]
		}
		if err := f.Set(name, value); err != nil {
			if whole, ok := errors.AsType[*usageError](err); ok {
				return false, whole
			}
			return false, usagef("%s is %q: %v", typed(name), value, err)
		}
	}
	return false, nil
}

// typed is a flag's name as it is typed. It is cut short, and nothing after a
// blank or a colon is shown: -HAuthorization: x is not a name.
func typed(name string) string {
	if i := strings.IndexAny(name, ": \t\r\n"); i >= 0 {
		name = name[:i]
	}
	name = printable(name[:min(len(name), 40)])
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func isSwitch(one *flag.Flag) bool {
	b, ok := one.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// number is a whole number in a range.
type number struct {
	at          *int
	least, most int
}

// Set implements flag.Value.
func (n number) Set(s string) error {
	i, err := strconv.Atoi(s)
	if err != nil || i < n.least || i > n.most {
		return fmt.Errorf("use a whole number from %d to %d", n.least, n.most)
	}
	*n.at = i
	return nil
}

// String implements flag.Value.
func (n number) String() string {
	if n.at == nil {
		return ""
	}
	return strconv.Itoa(*n.at)
}

// timeLimit is a duration from 0 to a year; a number without a unit is one of
// seconds.
type timeLimit struct{ at *time.Duration }

const longestLimit = 366 * 24 * time.Hour

// Set implements flag.Value.
func (l timeLimit) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d < 0 || d > longestLimit {
		return errors.New("use a duration as in 30s or 1m30s, at most a year, or 0 for none")
	}
	*l.at = d
	return nil
}

// String implements flag.Value.
func (l timeLimit) String() string {
	if l.at == nil {
		return ""
	}
	return l.at.String()
}

// choice is one of a few words.
type choice struct {
	at    *string
	words []string
}

// Set implements flag.Value.
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("use one of %s", strings.Join(c.words, ", "))
	}
	*c.at = s
	return nil
}

// String implements flag.Value.
func (c choice) String() string {
	if c.at == nil {
		return ""
	}
	return *c.at
}
