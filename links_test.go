package plimsoll_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// markdown returns the Markdown files of the repository, by their path with
// slashes.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && p != "." && p != ".github"
			if hidden || p == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".md" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(p)] = strings.ReplaceAll(string(text), "\r\n", "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d Markdown files found", len(found))
	}
	return found
}

var (
	inlineCode  = regexp.MustCompile("`+[^`\n]*`+")
	inlineLink  = regexp.MustCompile(`\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)`)
	defined     = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?`)
	reference   = regexp.MustCompile(`\]\[([^\]\n]+)\]`)
	definition  = regexp.MustCompile(`(?m)^ {0,3}\[([^\]]+)\]:`)
	autoLink    = regexp.MustCompile(`<((?:https?|mailto):[^>\s]*)>`)
	htmlLink    = regexp.MustCompile(`(?i)<(?:a|img)\b[^>]*?\b(?:href|src)="([^"]*)"`)
	htmlAnchor  = regexp.MustCompile(`(?i)<[a-z]+\b[^>]*?\b(?:id|name)="([^"]*)"`)
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	linkText    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	lineNumber  = regexp.MustCompile(`^L[0-9]+(-L[0-9]+)?$`)
)

// prose returns a page without its code blocks, line by line.
func prose(page string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(page) {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case fence == "" && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")):
			fence = trimmed[:3]
			b.WriteString("\n")
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			b.WriteString("\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// targets returns what a page links to, and the names of references that it
// does not define.
func targets(page string) (links, undefined []string) {
	text := prose(page)
	text = inlineCode.ReplaceAllString(text, "code")
	for _, re := range []*regexp.Regexp{inlineLink, defined, autoLink, htmlLink} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			links = append(links, m[1])
		}
	}
	known := map[string]bool{}
	for _, m := range definition.FindAllStringSubmatch(text, -1) {
		known[strings.ToLower(m[1])] = true
	}
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if !known[strings.ToLower(m[1])] {
			undefined = append(undefined, m[1])
		}
	}
	return links, undefined
}

// anchors returns the fragments that a forge gives the headings of a page: in
// lower case, spaces as hyphens, other punctuation dropped, repetitions
// numbered.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	text := prose(page)
	for line := range strings.Lines(text) {
		m := headingLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		heading := linkText.ReplaceAllString(m[1], "$1")
		var b strings.Builder
		for _, r := range strings.ToLower(heading) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		slug := b.String()
		for n := 1; found[slug]; n++ {
			slug = fmt.Sprintf("%s-%d", b.String(), n)
		}
		found[slug] = true
	}
	for _, m := range htmlAnchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// problem says what is wrong with a link from a page, "" if nothing is. Of links
// to other hosts the form is judged alone.
func problem(pages map[string]string, from, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	switch {
	case target == "":
		return "it is empty"
	case u.Scheme == "http" || u.Scheme == "https":
		if u.Host == "" || strings.ContainsAny(target, " <>\"") || strings.HasSuffix(u.Host, ".") {
			return "it is no URL"
		}
		return ""
	case u.Scheme == "mailto":
		return ""
	case u.Scheme != "":
		return "its scheme is unknown"
	case strings.HasPrefix(u.Path, "/"):
		return "it begins with a slash, which is the host's root on a forge"
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
		if _, err := os.Stat(filepath.FromSlash(to)); err != nil {
			return "there is no such file"
		}
	}
	if u.Fragment == "" {
		return ""
	}
	page, isPage := pages[to]
	switch {
	case isPage && !anchors(page)[u.Fragment]:
		return "that page has no such heading"
	case !isPage && !lineNumber.MatchString(u.Fragment):
		return "only a line can be pointed to in a file that is no page"
	}
	return ""
}

func TestEveryLinkResolves(t *testing.T) {
	pages := markdown(t)
	seen := 0
	for from, page := range pages {
		links, undefined := targets(page)
		for _, target := range links {
			seen++
			if p := problem(pages, from, target); p != "" {
				t.Errorf("%s links to %q: %s", from, target, p)
			}
		}
		for _, name := range undefined {
			t.Errorf("%s refers to [%s] and does not define it", from, name)
		}
	}
	if seen < 50 {
		t.Errorf("only %d links found", seen)
	}
}

// What nobody links to, nobody finds.
func TestEveryPageIsReachedFromTheReadme(t *testing.T) {
	pages := markdown(t)
	reached := map[string]bool{}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		if reached[from] {
			continue
		}
		reached[from] = true
		links, _ := targets(pages[from])
		for _, target := range links {
			if u, err := url.Parse(target); err == nil && u.Scheme == "" && u.Path != "" {
				to := path.Join(path.Dir(from), u.Path)
				queue = append(queue, to)
				for page := range pages { // a folder shows its pages
					if path.Dir(page) == to {
						queue = append(queue, page)
					}
				}
			}
		}
	}
	for page := range pages {
		if strings.HasPrefix(page, "docs/") && !reached[page] {
			t.Errorf("no chain of links leads from README.md to %s", page)
		}
	}
}

// The checks above must be able to fail.
func TestABrokenLinkIsFound(t *testing.T) {
	const page = "# The `a` of *b*\n## Twice\n## Twice\n[x](#the-a-of-b) ![y](README.md \"t\") [z][w] `[c](nowhere)`\n\n[w]: docs\n[v]: <https://example.com/a>\n" +
		"```sh\n[d](nowhere)\n# no heading\n```\n<a id=\"here\" href=\"LICENSE\">e</a> [f][g]\n"
	links, undefined := targets(page)
	slices.Sort(links)
	links = slices.Compact(links) // the definition's is an autolink as well
	if want := []string{"#the-a-of-b", "LICENSE", "README.md", "docs", "https://example.com/a"}; !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
	if !slices.Equal(undefined, []string{"g"}) {
		t.Errorf("undefined %q", undefined)
	}
	pages := map[string]string{"p.md": page, "docs/q.md": "# Q\n"}
	for target, bad := range map[string]bool{
		"#the-a-of-b": false, "#twice": false, "#twice-1": false, "#here": false, "#twice-2": true, "#no-heading": true,
		"README.md": false, "nowhere.md": true, "docs": false, "/docs": true, "LICENSE#L3": false, "LICENSE#x": true,
		"https://example.com/#x": false, "https:///x": true, "ftp://example.com": true, "mailto:a@example.com": false, "": true,
	} {
		if got := problem(pages, "p.md", target); (got != "") != bad {
			t.Errorf("%q: %q", target, got)
		}
	}
}
