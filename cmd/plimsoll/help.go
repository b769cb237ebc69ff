package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Layout of --help.
const (
	helpWidth  = 100
	helpIndent = 28 // where the explanation of a flag begins
)

// help writes the manual of a command.
func (c command) help(w io.Writer, f *flagSet) {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: plimsoll %s %s\n\n%s%s.\n", c.name, c.args, strings.ToUpper(c.about[:1]), c.about[1:])
	for i, one := range f.all() {
		if i == 0 {
			b.WriteString("\nFlags:\n")
		}
		placeholder, text := flag.UnquoteUsage(one)
		left := "  " + strings.Join(f.dashed(one), ", ")
		if isSwitch(one) {
			placeholder = ""
		}
		if placeholder != "" {
			left += " " + placeholder
		}
		if len(left) > helpIndent-2 {
			b.WriteString(left + "\n")
			left = ""
		}
		for i, line := range wrap(text, helpWidth-helpIndent) {
			if i > 0 {
				left = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", helpIndent, left, line)
		}
	}
	if c.manual != nil {
		b.WriteString(c.manual())
	}
	fmt.Fprint(w, b.String())
}

// wrap breaks text at blanks into lines of at most width bytes, longer words
// apart.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
