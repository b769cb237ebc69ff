// Package yaml writes YAML documents: just what rule and provisioning files
// need, in the order that is given, the same bytes every time.
//
// Strings stay as they are or are quoted, so that every YAML parser reads the
// same string back; those of several lines become literal blocks. It does not
// read YAML.
package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Mapping is a YAML mapping that keeps its order.
type Mapping []Entry

// Entry is one key of a [Mapping] with its value: a string, an int, a bool, a
// Mapping or a Sequence.
type Entry = struct {
	Key   string
	Value any
}

// Sequence is a YAML sequence of the same values.
type Sequence []any

// Sorted returns a mapping of m in the order of its keys.
func Sorted(m map[string]string) Mapping {
	var out Mapping
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Entry{k, m[k]})
	}
	return out
}

// Document returns m as a document that starts with comment.
func Document(comment string, m Mapping) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		out.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
	writeMapping(&out, m, "")
	return out.Bytes()
}

func writeMapping(out *bytes.Buffer, m Mapping, indent string) {
	for i, e := range m {
		if i > 0 {
			out.WriteString(indent)
		}
		out.WriteString(scalar(e.Key, indent) + ":")
		writeValue(out, e.Value, indent)
	}
}

func writeValue(out *bytes.Buffer, value any, indent string) {
	deeper := indent + "  "
	switch v := value.(type) {
	case Mapping:
		if len(v) == 0 {
			out.WriteString(" {}\n")
			return
		}
		out.WriteString("\n" + deeper)
		writeMapping(out, v, deeper)
	case Sequence:
		if len(v) == 0 {
			out.WriteString(" []\n")
			return
		}
		out.WriteString("\n")
		for _, item := range v {
			out.WriteString(deeper + "-")
			if m, ok := item.(Mapping); ok && len(m) > 0 {
				out.WriteString(" ")
				writeMapping(out, m, deeper+"  ")
				continue
			}
			writeValue(out, item, deeper)
		}
	case string:
		out.WriteString(" " + scalar(v, deeper) + "\n")
	default: // int, bool
		fmt.Fprintf(out, " %v\n", v)
	}
}

// plain are the strings that need no quotes: nothing in them is an indicator,
// and no schema takes them for another type.
var (
	plain    = regexp.MustCompile(`^(?:/?[A-Za-z_][A-Za-z0-9_./:=-]*[A-Za-z0-9]|[A-Za-z]|[0-9]+(?:ms|s|m|h|d))$`)
	reserved = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|nan|inf)$`)
	// literal strings have several lines, none of them blank, indented or
	// with white space at its end.
	literal = regexp.MustCompile(`^[^\s#][^\n\t]*[^\s](?:\n[^\s][^\n\t]*[^\s]|\n[^\s])+$`)
)

func scalar(s, indent string) string {
	switch {
	case plain.MatchString(s) && !reserved.MatchString(s):
		return s
	case literal.MatchString(s):
		return "|-\n" + indent + strings.ReplaceAll(s, "\n", "\n"+indent)
	case !strings.ContainsAny(s, "'\n\t") && isPrintable(s):
		return "'" + s + "'"
	}
	// A string of JSON is one of YAML.
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd || r >= 0x80 && r < 0xa0 })
}
