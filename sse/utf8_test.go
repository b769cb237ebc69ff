package sse

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// All sequences of up to four bytes at the edges of the ranges that the UTF-8
// decoder tells apart, against that decoder as the standard describes it.
func TestDecodingReplacesExactlyWhatTheStandardReplaces(t *testing.T) {
	edges := []byte{'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
		0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF}
	var visit func(s []byte)
	visit = func(s []byte) {
		in := string(s)
		want := standardDecode(in)
		if got := decode(in); got != want {
			t.Fatalf("% x is decoded to %+q, want %+q", in, got, want)
		}
		if len(want) < len(in) {
			t.Fatalf("% x became shorter", in)
		}
		for cuts := range 1 << max(len(s)-1, 0) { // bit i: behind byte i
			var b strings.Builder
			count, write := decoder{}, decoder{b: &b}
			for lo, i := 0, 0; i < len(s); i++ {
				if cuts>>i&1 == 1 || i == len(s)-1 {
					count.write(s[lo : i+1])
					write.write(s[lo : i+1])
					lo = i + 1
				}
			}
			count.end()
			write.end()
			if b.String() != want || write.n != len(want) || count.n != len(want) || count.ill == utf8.ValidString(in) {
				t.Fatalf("% x with cuts %b is decoded to %+q of length %d (%v), want %+q", in, cuts, b.String(), count.n, count.ill, want)
			}
		}
		if len(s) == 4 {
			return
		}
		for _, c := range edges {
			visit(append(s, c))
		}
	}
	visit(make([]byte, 0, 4))
}

func TestOneHighBitAnywhereIsNoASCII(t *testing.T) {
	for n := range 80 {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0x7F
		}
		if !isASCII(b) {
			t.Fatalf("%d bytes of ASCII are none", n)
		}
		for i := range b {
			b[i] = 0x80
			if isASCII(b) {
				t.Fatalf("byte %d of %d is not seen", i, n)
			}
			b[i] = 0x7F
		}
	}
}
