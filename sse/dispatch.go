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
	b := t.first
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

// dispatch ends the block at a blank line. ok is false if it gives no event.
func (r *Reader) dispatch() (ev Event, ok bool, _ *CapError) {
	if !r.hasData && r.eventSize == 0 && !r.hasID {
		return Event{}, false, nil // a blank line behind a comment, mostly
	}
	ev = Event{Type: DefaultType, ID: r.lastID}

	// The strings that have to be made, in one allocation.
	size := r.data.size
	ownType := false
	if r.hasData && r.typ.size > 0 {
		if ev.Type, ok = r.types.find(&r.typ); !ok {
			ownType = true
			size += r.typ.size
		}
	}
	ownID := r.hasID && !r.id.equal(r.lastID)
	if ownID {
		size += r.id.size
	}
	if size > 0 {
		var b strings.Builder
		b.Grow(size)
		r.data.writeTo(&b)
		if ownType {
			r.typ.writeTo(&b)
		}
		if ownID {
			r.id.writeTo(&b)
		}
		s := b.String()
		ev.Data = s[:r.data.size]
		rest := s[r.data.size:]
		if ownType {
			ev.Type, rest = rest[:r.typ.size], rest[r.typ.size:]
		}
		if ownID {
			ev.ID = rest
		}
		if !isASCII(s) {
			if err := r.decode(&ev); err != nil {
				return Event{}, false, err
			}
		}
		if ownID && size > pinBytes {
			ev.ID = strings.Clone(ev.ID)
		}
	} else if ownID {
		ev.ID = ""
	}

	ok = r.hasData
	r.lastID = ev.ID
	r.hasData, r.hasID, r.eventSize = false, false, 0
	r.data.reset(&r.spares)
	r.typ.reset(&r.spares)
	r.id.reset(&r.spares)
	r.newID.reset(&r.spares)
	if !ok {
		return Event{}, false, nil
	}
	if r.newRetry {
		ev.Retry, ev.HasRetry = r.retry, true
		r.newRetry = false
	}
	r.events++
	return ev, true, nil
}

// decode replaces what is ill-formed in ev, unless that makes the event longer
// than the event cap.
func (r *Reader) decode(ev *Event) *CapError {
	size := r.eventSize
	for _, s := range []*string{&ev.Data, &ev.Type, &ev.ID} {
		if utf8.ValidString(*s) {
			continue
		}
		n := decodedLen(*s)
		size += int64(n - len(*s)) // never negative
		if size > r.eventCap {
			return r.capError(EventCap, r.eventCap)
		}
		*s = decode(*s, n)
	}
	return nil
}

// isASCII reports whether s is ASCII alone, and so needs no decoding.
func isASCII(s string) bool {
	for len(s) >= 8 {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&utf8.RuneSelf != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
