package sse

import (
	"strings"
	"unicode/utf8"
)

const (
	// pinBytes bounds the allocation that the last event ID may keep alive.
	pinBytes = 8 << 10
	// A typeNames holds so many names of at most so many bytes.
	maxTypeNames     = 16
	maxTypeNameBytes = 64
)

// typeNames are the first event types of a stream. Their strings are shared by
// all events and keep no data alive.
type typeNames struct {
	names []string // at most maxTypeNames
	last  int      // index of the one found last, if there is one
}

// find returns the name with the bytes of t. It remembers t if there is room
// and t is well-formed.
func (n *typeNames) find(t *text) (string, bool) {
	if t.size > maxTypeNameBytes {
		return "", false
	}
	b := t.start()
	if n.last < len(n.names) && n.names[n.last] == string(b) {
		return n.names[n.last], true
	}
	for i, name := range n.names {
		if name == string(b) {
			n.last = i
			return name, true
		}
	}
	if len(n.names) == maxTypeNames || !utf8.Valid(b) {
		return "", false
	}
	n.last = len(n.names)
	n.names = append(n.names, string(b))
	return n.names[n.last], true
}

// dispatch ends the block at a blank line. It fills ev, which must be zero, and
// reports whether the block gives an event.
func (r *Reader) dispatch(ev *Event) (ok bool, _ *CapError) {
	if !r.hasData && !r.hasID && r.eventSize == 0 {
		return false, nil // mostly a blank line behind a comment
	}

	// The strings that have to be made, in one allocation.
	size := r.data.size
	newType := r.hasData && r.typ.size > 0
	if newType {
		if name, known := r.types.find(r.typ); known {
			ev.Type, newType = name, false
		} else {
			size += r.typ.size
		}
	} else {
		ev.Type = DefaultType
	}
	newID := r.hasID && !r.id.equal(r.lastID)
	if newID {
		size += r.id.size
	} else {
		ev.ID = r.lastID
	}
	if r.wide {
		more, err := r.measure(newType, newID)
		if err != nil {
			return false, err
		}
		size += more
	}
	if size > 0 {
		var b strings.Builder
		b.Grow(size)
		r.put(r.data, &b)
		data := b.Len()
		if newType {
			r.put(r.typ, &b)
		}
		typ := b.Len()
		if newID {
			r.put(r.id, &b)
		}
		s := b.String()
		ev.Data = s[:data]
		if newType {
			ev.Type = s[data:typ]
		}
		if newID {
			ev.ID = s[typ:]
		}
	}

	ok = r.hasData
	r.hasData, r.hasID, r.wide, r.eventSize = false, false, false, 0
	r.data.reset(&r.spares)
	r.typ.reset(&r.spares)
	r.id.reset(&r.spares)
	if newID {
		if size > pinBytes && size > len(ev.ID) {
			ev.ID = strings.Clone(ev.ID)
		}
		r.lastID = ev.ID
	}
	if !ok {
		return false, nil
	}
	if r.newRetry {
		ev.Retry, ev.HasRetry = r.retry, true
		r.newRetry = false
	}
	r.events++
	return true, nil
}

// put copies t to the end of b.
func (r *Reader) put(t *text, b *strings.Builder) {
	if r.wide {
		t.decodeTo(b)
	} else {
		t.writeTo(b)
	}
}

// measure finds the values of the event that are ill-formed and gives by how
// much decoding them makes the event longer, unless that is beyond the event
// cap.
func (r *Reader) measure(newType, newID bool) (more int, _ *CapError) {
	check := func(t *text) {
		t.ill = false
		if len(t.segs) == 0 && utf8.Valid(t.start()) {
			return
		}
		var d decoder
		t.pieces(&d)
		t.ill = d.ill
		more += d.n - t.size // never negative
	}
	check(r.data)
	if newType {
		check(r.typ)
	}
	if newID {
		check(r.id)
	}
	if int64(more) > r.eventCap-r.eventSize {
		return 0, r.capError(EventCap, r.eventCap)
	}
	return more, nil
}
