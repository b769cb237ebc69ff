package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/plimsoll-http/plimsoll/events"
)

// isToken reports whether s is a token (RFC 9110, section 5.6.2): a method or
// a field's name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s may be a field's value (RFC 9110, section
// 5.5).
func isFieldValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// plainFields are the header fields whose values are shown. Everything else is
// hidden: nobody can tell a token by the name of its field.
var plainFields = []string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age", "Allow", "Alt-Svc",
	"Cache-Control", "Connection", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range", "Content-Type",
	"Date", "Expires", "Host", "Keep-Alive", "Last-Modified", "Location", "Ratelimit", "Ratelimit-Limit", "Ratelimit-Policy",
	"Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After", "Server", "Strict-Transport-Security", "Trailer",
	"Transfer-Encoding", "Upgrade", "User-Agent", "Vary",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
}

const redacted = "[redacted]"

// showHeader writes the fields, each with mark in front, in order of their
// names.
func showHeader(w io.Writer, mark string, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fmt.Fprintf(w, "%s %s: %s\n", mark, printable(name), shown(name, value))
		}
	}
}

// shown is a field's value as it may be seen.
func shown(name, value string) string {
	if value == "" {
		return ""
	}
	if !isPlain(name) {
		return redacted
	}
	if http.CanonicalHeaderKey(name) == "Location" {
		u, err := url.Parse(value)
		if err != nil {
			return redacted
		}
		return events.URLOf(u).String()
	}
	return printable(value)
}

func isPlain(name string) bool {
	return slices.Contains(plainFields, http.CanonicalHeaderKey(name))
}

// printable escapes what could move a terminal's cursor, or worse.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strings.Trim(strconv.QuoteToGraphic(s), `"`)
	}
	return s
}
