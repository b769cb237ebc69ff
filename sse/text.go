package sse

import "strings"

const (
	firstBytes   = 1 << 10  // the smallest text.first; the next size is text.limit
	dataFirst    = 8 << 10  // text.limit of the data
	otherFirst   = 1 << 10  // text.limit of types and ids
	segmentBytes = 16 << 10 // exactly one size class
	spareMax     = 2        // segments
	keptSegments = 64       // the longest list of segments that is kept
)

// A text is a value that grows while its field is read. As long as it lies in
// one piece in the Reader's buffer, it is a view of it. Else its start is copied
// to one slice, which is kept for the next value, and the rest to segments, so
// that growing moves nothing and wastes at most one segment.
type text struct {
	size  int    // length of the whole value
	view  []byte // the whole value, in a buffer of others; nil if it is copied
	limit int    // of first, in bytes
	first []byte // at most limit long; full if there is a segment
	segs  []*segment
	rest  int  // bytes in the segments; all but the last one are full
	ill   bool // decoding changes it; only decodeTo asks, after measure has set it
}

// A segment holds no pointer, so that it needs no header and no scanning.
type segment [segmentBytes]byte

// spares are segments for reuse, so that a stream of events of up to 32 KiB
// does not allocate any. Those of a longer text are not kept: they would be live
// beside the event that it has become.
type spares struct {
	list [spareMax]*segment
	n    int // used entries of list
}

func (s *spares) take() *segment {
	if s.n == 0 {
		return new(segment)
	}
	s.n--
	return s.list[s.n]
}

// give takes g if there is room.
func (s *spares) give(g *segment) {
	if s.n < len(s.list) {
		s.list[s.n] = g
		s.n++
	}
}

// append adds v, which must stay unchanged until own or reset is called.
func (t *text) append(v []byte, sp *spares) {
	if t.size == 0 {
		t.view, t.size = v, len(v)
		return
	}
	t.own(sp)
	t.size += len(v)
	t.copy(v, sp)
}

// own makes t independent of what was given to append.
func (t *text) own(sp *spares) {
	if v := t.view; v != nil {
		t.view = nil
		t.copy(v, sp)
	}
}

func (t *text) copy(v []byte, sp *spares) {
	if t.rest == 0 {
		n := min(len(v), t.limit-len(t.first))
		if size := len(t.first) + n; size > cap(t.first) {
			if size = firstBytes; len(t.first)+n > firstBytes {
				size = t.limit
			}
			t.first = append(make([]byte, 0, size), t.first...)
		}
		t.first = append(t.first, v[:n]...)
		v = v[n:]
	}
	for len(v) > 0 {
		at := t.rest % segmentBytes
		if at == 0 {
			if n := len(t.segs); n == cap(t.segs) {
				t.segs = append(make([]*segment, 0, max(16, 2*n)), t.segs...)
			}
			t.segs = append(t.segs, sp.take())
		}
		n := copy(t.segs[len(t.segs)-1][at:], v)
		t.rest += n
		v = v[n:]
	}
}

// reset empties t and gives its segments back, to sp as far as that has room.
func (t *text) reset(sp *spares) {
	t.size, t.view, t.first = 0, nil, t.first[:0]
	if t.rest > 0 {
		t.drop(sp)
	}
}

func (t *text) drop(sp *spares) {
	if len(t.segs) <= spareMax {
		for _, g := range t.segs {
			sp.give(g)
		}
	}
	clear(t.segs)
	if t.segs, t.rest = t.segs[:0], 0; cap(t.segs) > keptSegments {
		t.segs = nil
	}
}

// start is the first piece of t, and all of it if there is no segment.
func (t *text) start() []byte {
	if t.view != nil {
		return t.view
	}
	return t.first
}

// used is the used part of segment i.
func (t *text) used(i int) []byte {
	return t.segs[i][:min(segmentBytes, t.rest-i*segmentBytes)]
}

// equal reports whether t's bytes are those of s.
func (t *text) equal(s string) bool {
	if t.size != len(s) {
		return false
	}
	b := t.start()
	if string(b) != s[:len(b)] {
		return false
	}
	s = s[len(b):]
	for i := range t.segs {
		b = t.used(i)
		if string(b) != s[:len(b)] {
			return false
		}
		s = s[len(b):]
	}
	return true
}

// writeTo copies t to the end of b.
func (t *text) writeTo(b *strings.Builder) {
	b.Write(t.start())
	for i := range t.segs {
		b.Write(t.used(i))
	}
}

// decodeTo is writeTo, but decodes t if it is ill-formed.
func (t *text) decodeTo(b *strings.Builder) {
	if t.ill {
		t.pieces(&decoder{b: b})
	} else {
		t.writeTo(b)
	}
}

// pieces gives t to d, to its end.
func (t *text) pieces(d *decoder) {
	d.write(t.start())
	for i := range t.segs {
		d.write(t.used(i))
	}
	d.end()
}
