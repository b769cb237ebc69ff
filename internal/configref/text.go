package main

import (
	"regexp"
	"strings"
)

// zeroes is how the sentence about the zero value begins.
var zeroes = regexp.MustCompile(`^(0|nil|Nil|""|Zero|zero|false|0 or negative|0 or less)(:| is | means )`)

// split takes the sentence about the zero value out of a field's comment.
func split(comment string) (zero, meaning string) {
	var rest []string
	for _, sentence := range sentences(strings.Join(strings.Fields(comment), " ")) {
		begin := zeroes.FindString(sentence)
		if begin == "" || zero != "" {
			rest = append(rest, sentence)
			continue
		}
		zero = strings.TrimSpace(sentence[len(begin):])
		if strings.HasPrefix(begin, "0 or ") {
			zero = strings.TrimSpace(begin) + " " + zero
		}
	}
	meaning = strings.Join(rest, " ")
	if meaning != "" && !strings.HasSuffix(meaning, ".") {
		meaning += "."
	}
	return cell(strings.TrimSuffix(zero, ".")), cell(meaning)
}

// sentences cuts text after each full stop that ends one. A semicolon before a
// statement about the zero value ends one as well.
func sentences(text string) []string {
	var found []string
	begin := 0
	for i := range text {
		if text[i] != ' ' || i == 0 {
			continue
		}
		if end := text[i-1]; end == '.' || end == ';' && zeroes.MatchString(text[i+1:]) {
			found = append(found, strings.TrimSuffix(text[begin:i], ";")+strings.Repeat(".", strings.Count(text[i-1:i], ";")))
			begin = i + 1
		}
	}
	return append(found, text[begin:])
}

var (
	link = regexp.MustCompile(`\[(\*?[A-Za-z][\w./]*)\]`)
	code = regexp.MustCompile(`\b[a-z]\w*\.[A-Z]\w*\([^)]*\)+|\*?\b[a-z]\w*(\.[A-Z]\w*)+(\{\})?|\*?\b[A-Z]\w*(\.[A-Z]\w*)+|\*[A-Z]\w*` +
		`|\b(plimsoll|url)\.[a-z_.]*[a-z]|\b[A-Z]+(_[A-Z]+)+\b`)
)

// cell is text for one cell of a table: Go names become code.
func cell(text string) string {
	text = link.ReplaceAllString(text, "$1")
	var b strings.Builder
	for {
		at := code.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(escape(text[:at[0]]) + "`" + text[at[0]:at[1]] + "`")
		text = text[at[1]:]
	}
	b.WriteString(escape(text))
	return b.String()
}

func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(text)
}

// line is a whole comment as one cell.
func line(comment string) string { return cell(strings.Join(strings.Fields(comment), " ")) }

// paragraphs is a comment as text of the page.
func paragraphs(comment string) string {
	var out []string
	for p := range strings.SplitSeq(strings.TrimSpace(comment), "\n\n") {
		out = append(out, line(p))
	}
	return strings.Join(out, "\n\n")
}
