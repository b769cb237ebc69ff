package sse

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// decodedLen is the length of decode(s), without making it.
func decodedLen(s string) int {
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			size = malformedLen(s)
			n += len("\uFFFD")
		} else {
			n += size
		}
		s = s[size:]
	}
	return n
}

// decode decodes s as the WHATWG Encoding standard's UTF-8 decoder does: every
// maximal part of an ill-formed sequence becomes one U+FFFD. (Ranging over a Go
// string gives one for each byte, strings.ToValidUTF8 one for each run.)
func decode(s string, length int) string {
	var b strings.Builder
	b.Grow(length)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			size = malformedLen(s)
			b.WriteString("\uFFFD")
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// malformedLen is the length of the maximal part of the ill-formed sequence at
// the start of s: the bytes that could begin a well-formed one, else one byte.
// s must not be empty and must not start with a well-formed sequence.
func malformedLen(s string) int {
	lo, hi := byte(0x80), byte(0xBF) // range of the second byte
	var more int                     // bytes after the first that can be part of it
	switch c := s[0]; {
	case c < 0xE0 || c > 0xF4:
		return 1 // a two-byte lead byte stands alone, else it would be well-formed
	case c == 0xE0:
		more, lo = 1, 0xA0
	case c == 0xED:
		more, hi = 1, 0x9F
	case c < 0xF0:
		more = 1
	case c == 0xF0:
		more, lo = 2, 0x90
	case c == 0xF4:
		more, hi = 2, 0x8F
	default:
		more = 2
	}
	n := 1
	for n <= more && n < len(s) && lo <= s[n] && s[n] <= hi {
		n++
		lo, hi = 0x80, 0xBF
	}
	return n
}

// isASCII reports whether b needs no decoding.
func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for len(b) >= 32 {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&high != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
