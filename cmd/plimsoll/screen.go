package main

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// screen is what may be written to a stream.
type screen struct {
	width int
	color bool
	utf8  bool
}

// widestScreen bounds what COLUMNS and terminals say.
const widestScreen = 240

// newScreen looks at where w goes. when is --color.
func newScreen(w io.Writer, when string, env func(string) string) screen {
	s := screen{width: 80, utf8: speaksUTF8(env)}
	terminal := isTerminal(w, env)
	if file, ok := w.(*os.File); ok && terminal {
		if n := terminalWidth(file); n > 0 {
			s.width = n
		}
		switch on := colorsOn(file); when {
		case "auto":
			s.color = on && env("NO_COLOR") == ""
		case "always":
			s.color = on
		}
		s.utf8 = s.utf8 || runtime.GOOS == "windows" // its consoles take text, not bytes
	} else {
		s.color = when == "always"
	}
	if n, err := strconv.Atoi(env("COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	s.width = min(s.width, widestScreen)
	return s
}

// isTerminal reports whether w is a terminal that takes more than plain lines.
func isTerminal(w io.Writer, env func(string) string) bool {
	file, ok := w.(*os.File)
	if !ok || env("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isConsole(file)
}

// speaksUTF8 looks at the locale, as setlocale(3) does.
func speaksUTF8(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// SGR codes (ECMA-48).
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

// paint wraps text in a colour.
func (s screen) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
