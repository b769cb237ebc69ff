package sse

import (
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
		n := decodedLen(in)
		if got := decode(in, n); got != want || n != len(want) || !utf8.ValidString(got) {
			t.Fatalf("% x is decoded to %+q of length %d, want %+q", in, got, n, want)
		}
		if n < len(in) {
			t.Fatalf("% x became shorter", in)
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
