package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// completionManual is what --help says below the flags.
func completionManual() string {
	return `
The script is made from the flags of the commands, so write it anew after an update.

Examples:
  source <(plimsoll completion bash)            # in ~/.bashrc
  source <(plimsoll completion zsh)             # in ~/.zshrc, after compinit
  plimsoll completion fish | source             # in ~/.config/fish/config.fish
`
}

func shells() []string { return []string{"bash", "zsh", "fish"} }

func completionFlags(*flagSet) func(context.Context, []string, streams) error {
	return func(_ context.Context, args []string, std streams) error {
		var script string
		switch args[0] {
		case "bash":
			script = bashCompletion(completions())
		case "zsh":
			script = zshCompletion(completions())
		case "fish":
			script = fishCompletion(completions())
		default:
			return usagef("the shell is %q: use one of %s", args[0], strings.Join(shells(), ", "))
		}
		_, err := io.WriteString(std.out, script)
		return err
	}
}

// completed is one flag as a shell completes it.
type completed struct {
	names []string // with their dashes
	about string   // in a few words
	takes string   // "": nothing, "file", "dir", "word" (of words) or "text"
	words []string
}

// completedCommand is one command as a shell completes it.
type completedCommand struct {
	command
	flags []completed
}

// completions reads the flag sets of all commands.
func completions() []completedCommand {
	var all []completedCommand
	for _, c := range commands() {
		f := newFlagSet(c.name)
		c.flags(f)
		cc := completedCommand{command: c}
		for _, one := range f.all() {
			cc.flags = append(cc.flags, complete(f, one))
		}
		cc.flags = append(cc.flags, completed{names: []string{"-h", "--help"}, about: "show the manual"})
		all = append(all, cc)
	}
	return all
}

func complete(f *flagSet, one *flag.Flag) completed {
	placeholder, text := flag.UnquoteUsage(one)
	c := completed{names: f.dashed(one), about: inBrief(text), takes: "text"}
	if pick, ok := one.Value.(choice); ok {
		c.takes, c.words = "word", pick.words
		return c
	}
	switch {
	case isSwitch(one):
		c.takes = ""
	case placeholder == "FILE":
		c.takes = "file"
	case placeholder == "DIR":
		c.takes = "dir"
	}
	return c
}

// inBrief is the first clause of an explanation, without what a shell could
// take for its own.
func inBrief(text string) string {
	if i := strings.IndexAny(text, ";:,."); i > 0 {
		text = text[:i]
	}
	return strings.NewReplacer("'", "", `"`, "", "[", "(", "]", ")", "`", "", `\`, "", "$", "").Replace(text)
}

// of returns the names of the flags that take one kind of thing.
func (c completedCommand) of(kind string) []string {
	var names []string
	for _, f := range c.flags {
		if f.takes == kind {
			names = append(names, f.names...)
		}
	}
	return names
}

// bashCompletion works with bash 3.2, that of macOS, too.
func bashCompletion(all []completedCommand) string {
	var b strings.Builder
	b.WriteString(`# bash completion for plimsoll; made by "plimsoll completion bash"
_plimsoll() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} IFS=$'\n'
	COMPREPLY=()
	[ "$cur" != = ] || cur= # bash splits --flag=value into three words
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	if [ "$COMP_CWORD" -eq 1 ]; then
`)
	fmt.Fprintf(&b, "\t\tCOMPREPLY=($(compgen -W $'%s' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", strings.Join(names(), `\n`))
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\tcase $prev in\n", c.name)
		for _, kind := range []struct{ takes, do string }{
			{"file", `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))`},
			{"dir", `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur"))`},
			{"text", `:`},
		} {
			if names := c.of(kind.takes); len(names) > 0 {
				fmt.Fprintf(&b, "\t\t%s)\n\t\t\t%s\n\t\t\treturn\n\t\t\t;;\n", strings.Join(names, "|"), kind.do)
			}
		}
		var flags []string
		for _, f := range c.flags {
			flags = append(flags, f.names...)
			if f.takes == "word" {
				fmt.Fprintf(&b, "\t\t%s)\n\t\t\tCOMPREPLY=($(compgen -W $'%s' -- \"$cur\"))\n\t\t\treturn\n\t\t\t;;\n", strings.Join(f.names, "|"), strings.Join(f.words, `\n`))
			}
		}
		b.WriteString("\t\tesac\n")
		fmt.Fprintf(&b, "\t\tcase $cur in\n\t\t-*) COMPREPLY=($(compgen -W $'%s' -- \"$cur\")) ;;\n", strings.Join(flags, `\n`))
		if c.words != nil {
			fmt.Fprintf(&b, "\t\t*) COMPREPLY=($(compgen -W $'%s' -- \"$cur\")) ;;\n", strings.Join(c.words, `\n`))
		}
		b.WriteString("\t\tesac\n\t\t;;\n")
	}
	b.WriteString("\tesac\n}\ncomplete -F _plimsoll plimsoll\n")
	return b.String()
}

func zshCompletion(all []completedCommand) string {
	var b strings.Builder
	b.WriteString("#compdef plimsoll\n# zsh completion for plimsoll; made by \"plimsoll completion zsh\"\n_plimsoll() {\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t\t'%s:%s'\n", c.name, inBrief(c.about))
	}
	b.WriteString("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range c.flags {
			action := ""
			switch f.takes {
			case "file":
				action = ":file:_files"
			case "dir":
				action = ":directory:_files -/"
			case "word":
				action = ":word:(" + strings.Join(f.words, " ") + ")"
			case "text":
				action = ":value: "
			}
			for _, name := range f.names {
				fmt.Fprintf(&b, " \\\n\t\t\t'*%s[%s]%s'", name, f.about, action)
			}
		}
		if c.words != nil {
			fmt.Fprintf(&b, " \\\n\t\t\t'1:word:(%s)'", strings.Join(c.words, " "))
		} else if c.most > 0 {
			b.WriteString(" \\\n\t\t\t'1:URL:_urls'")
		}
		b.WriteString("\n\t\t;;\n")
	}
	b.WriteString("\tesac\n}\nif [ \"$funcstack[1]\" = _plimsoll ]; then\n\t_plimsoll \"$@\"\nelse\n\tcompdef _plimsoll plimsoll\nfi\n")
	return b.String()
}

func fishCompletion(all []completedCommand) string {
	var b strings.Builder
	b.WriteString("# fish completion for plimsoll; made by \"plimsoll completion fish\"\ncomplete -c plimsoll -f\n")
	for _, c := range all {
		fmt.Fprintf(&b, "complete -c plimsoll -n __fish_use_subcommand -a %s -d '%s'\n", c.name, inBrief(c.about))
	}
	for _, c := range all {
		seen := "-n '__fish_seen_subcommand_from " + c.name + "'"
		for _, f := range c.flags {
			fmt.Fprintf(&b, "complete -c plimsoll %s", seen)
			for _, name := range f.names {
				if long, ok := strings.CutPrefix(name, "--"); ok {
					b.WriteString(" -l " + long)
				} else {
					b.WriteString(" -s " + name[1:])
				}
			}
			switch f.takes {
			case "file":
				b.WriteString(" -r -F")
			case "dir":
				b.WriteString(" -x -a '(__fish_complete_directories)'")
			case "word":
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.words, " "))
			case "text":
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d '%s'\n", f.about)
		}
		if c.words != nil {
			fmt.Fprintf(&b, "complete -c plimsoll %s -a '%s'\n", seen, strings.Join(c.words, " "))
		}
	}
	return b.String()
}
