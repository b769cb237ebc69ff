package sse

import "strings"

const (
	dataFirst    = 8 << 10 // text.limit of the data
	otherFirst   = 1 << 10 // text.limit of types and ids
	segmentBytes = 8<<10 - 16 // with next and n, a segment fills one 8 KiB size class
	spareMax     = 4
)

// A text is a value that grows while its field is read. Its start lies in one
// slice, which is kept for the next value; the rest lies in segments, so that
// growing copies nothing and wastes at most one segment.
type text struct {
	limit      int    // of first, in bytes
	first      []byte // its capacity is kept; full if there is a segment
	head, tail *segment
	size       int // length of the whole value
}

type segment struct {
	next *segment
	n    int // used bytes of buf
	buf  [segmentBytes]byte
}

// spares are segments for reuse, so that a stream of events of up to 40 KiB
// does not allocate any.
type spares struct {
	list *segment
	n    int // length of list, at most spareMax
}

func (s *spares) take() *segment {
	g := s.list
	if g == nil {
		return new(segment)
	}
	s.list, g.next = g.next, nil
	s.n--
	return g
}

func (t *text) append(v []byte, sp *spares) {
	t.size += len(v)
	if t.tail == nil {
		room := t.limit - len(t.first)
		if len(v) <= room {
			t.first = append(t.first, v...)
			return
		}
		t.first = append(t.first, v[:room]...)
		v = v[room:]
	}
	for len(v) > 0 {
		if t.tail == nil || t.tail.n == segmentBytes {
			g := sp.take()
			if t.tail == nil {
				t.head = g
			} else {
				t.tail.next = g
			}
			t.tail = g
		}
		n := copy(t.tail.buf[t.tail.n:], v)
		t.tail.n += n
		v = v[n:]
	}
}

// reset empties t and gives its segments back, to sp as far as that has room.
func (t *text) reset(sp *spares) {
	t.first, t.size = t.first[:0], 0
	for t.head != nil {
		g := t.head
		t.head, g.next = g.next, nil
		if sp.n < spareMax {
			g.n = 0
			g.next, sp.list = sp.list, g
			sp.n++
		}
	}
	t.tail = nil
}

// equal reports whether t's bytes are those of s.
func (t *text) equal(s string) bool {
	if t.size != len(s) || string(t.first) != s[:len(t.first)] {
		return false
	}
	s = s[len(t.first):]
	for g := t.head; g != nil; g = g.next {
		if string(g.buf[:g.n]) != s[:g.n] {
			return false
		}
		s = s[g.n:]
	}
	return true
}

// writeTo copies t to the end of b.
func (t *text) writeTo(b *strings.Builder) {
	b.Write(t.first)
	for g := t.head; g != nil; g = g.next {
		b.Write(g.buf[:g.n])
	}
}
