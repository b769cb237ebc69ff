package sse

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// A decoder decodes text that comes in pieces as the WHATWG Encoding standard's
// UTF-8 decoder does: every maximal part of an ill-formed sequence becomes one
// U+FFFD. (Ranging over a Go string gives one for each byte,
// strings.ToValidUTF8 one for each run.)
type decoder struct {
	b    *strings.Builder // nil: it only counts
	n    int              // bytes of the decoded text
	ill  bool             // something was replaced
	cut  [utf8.UTFMax]byte
	held int // bytes of cut: the start of a sequence that may go on in the next piece
}

func (d *decoder) write(p []byte) {
	for d.held > 0 && len(p) > 0 {
		d.cut[d.held] = p[0]
		switch seq := d.cut[:d.held+1]; {
		case !utf8.FullRune(seq):
			d.held++
		case utf8.Valid(seq):
			d.emit(seq)
			d.held = 0
		default: // p[0] is not part of it
			d.replace()
			continue
		}
		p = p[1:]
	}
	whole := len(p) - unfinished(p)
	rest := p[whole:]
	for p = p[:whole]; !utf8.Valid(p); {
		good, ill := 0, 0
		for ill == 0 {
			if r, size := utf8.DecodeRune(p[good:]); r == utf8.RuneError && size == 1 {
				ill = illLen(p[good:])
			} else {
				good += size
			}
		}
		d.emit(p[:good])
		d.replace()
		p = p[good+ill:]
	}
	d.emit(p)
	d.held += copy(d.cut[d.held:], rest)
}

// end says that no more comes.
func (d *decoder) end() {
	if d.held > 0 {
		d.replace()
	}
}

func (d *decoder) emit(p []byte) {
	d.n += len(p)
	if d.b != nil {
		d.b.Write(p)
	}
}

// replace puts U+FFFD for what is held, or for what is skipped.
func (d *decoder) replace() {
	d.held, d.ill = 0, true
	d.n += len(replacement)
	if d.b != nil {
		d.b.WriteString(replacement)
	}
}

// unfinished is how many bytes at the end of p begin a sequence that the bytes
// behind p could complete.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// illLen is the length of the maximal part of the ill-formed sequence at the
// start of p: the bytes that could begin a well-formed one, else one byte.
func illLen(p []byte) int {
	n := 1
	for n < len(p) && !utf8.FullRune(p[:n+1]) {
		n++
	}
	return n
}

// decode decodes s.
func decode(s string) string {
	var b strings.Builder
	d := decoder{b: &b}
	d.write([]byte(s))
	d.end()
	return b.String()
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
