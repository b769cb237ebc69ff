package sse

import (
	"bytes"
	"math"
	"time"
)

// maxNameBytes is the length of the longest field name that means something.
const maxNameBytes = len("event")

// maxRetryMillis is the longest reconnection time, in milliseconds.
const maxRetryMillis = math.MaxInt64 / int64(time.Millisecond)

// A part says what the next byte of the current line belongs to.
type part uint8

const (
	inName    part = iota // the field name, or the line has not begun
	inIgnored             // a comment, or the value of an unknown field
	inData
	inEvent
	inID
	inRetry
)

// A line is the state between two pieces of one line.
type line struct {
	size   int64 // bytes of the line so far; 0 at its end: the line is blank
	part   part
	name   [maxNameBytes]byte
	named  int  // used bytes of name, while part is inName
	space  bool // the value begins here: one space is not part of it
	nul    bool // the id value holds a NUL
	digits bool // the retry value is not empty and all digits so far
	bad    bool // the retry value holds something else
	millis int64
}

// feed parses buf[lo:hi], a non-empty piece of a line without line ends. On
// error it leaves pos at the first byte that did not fit.
func (r *Reader) feed(lo, hi int) *CapError {
	if room := r.lineCap - r.line.size; int64(hi-lo) > room {
		// What fits comes first: the event cap may be hit before the line cap.
		if room > 0 {
			if err := r.feed(lo, lo+int(room)); err != nil {
				return err
			}
		}
		r.pos = lo + int(room)
		return r.capError(LineCap, r.lineCap)
	}
	l := &r.line
	l.size += int64(hi - lo)
	if l.part == inName {
		n := lo // the end of the name, or of what can still be one
		stop := min(hi, lo+maxNameBytes+1-l.named)
		for n < stop && r.buf[n] != ':' {
			n++
		}
		name := r.buf[lo:n]
		if l.named > 0 || n == hi {
			if l.named+len(name) > maxNameBytes {
				l.part = inIgnored
				return nil
			}
			l.named += copy(l.name[l.named:], name)
			name = l.name[:l.named]
		}
		switch {
		case n == hi:
			return nil
		case r.buf[n] != ':':
			l.part = inIgnored
			return nil
		}
		if err := r.begin(name, n); err != nil {
			return err
		}
		lo = n + 1
		l.space = true
	}
	if lo == hi || l.part == inIgnored {
		return nil
	}
	if l.space {
		l.space = false
		if r.buf[lo] == ' ' {
			lo++
		}
	}
	v := r.buf[lo:hi]
	switch l.part {
	case inData:
		return r.keep(r.data, v, lo)
	case inEvent:
		return r.keep(r.typ, v, lo)
	case inID:
		l.nul = l.nul || bytes.IndexByte(v, 0) >= 0
		return r.keep(r.newID, v, lo)
	case inRetry:
		l.retry(v)
	}
	return nil
}

// whole does at once what feed and endLine do in turn, for a line that lies in
// buf[lo:hi] from its start to its end and has a field of an event. It reports
// false, and does nothing, for all other lines and where an error is possible.
func (r *Reader) whole(lo, hi int) bool {
	b := r.buf[lo:hi]
	n := int64(len(b)) // with its name longer than value and line feed
	if n > r.lineCap || n > r.eventCap-r.eventSize {
		return false
	}
	var t *text
	switch {
	case len(b) >= len("data:") && string(b[:len("data:")]) == "data:":
		b, t = b[len("data:"):], r.data
		if r.hasData {
			r.eventSize++
			t.append(lineFeed, &r.spares)
		}
		r.hasData = true
	case len(b) >= len("id:") && string(b[:len("id:")]) == "id:":
		if bytes.IndexByte(b, 0) >= 0 {
			return false
		}
		b, t = b[len("id:"):], r.id
		t.reset(&r.spares)
		r.hasID = true
	case len(b) >= len("event:") && string(b[:len("event:")]) == "event:":
		b, t = b[len("event:"):], r.typ
		t.reset(&r.spares)
	default:
		return false
	}
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	r.eventSize += int64(len(b))
	r.wide = r.wide || !r.ascii
	t.append(b, &r.spares)
	return true
}

// begin starts the value of the named field. at is the position of the colon or
// of the line end.
func (r *Reader) begin(name []byte, at int) *CapError {
	l := &r.line
	switch string(name) {
	case "data":
		l.part = inData
		if r.hasData {
			return r.keep(r.data, lineFeed, at)
		}
		r.hasData = true
	case "event":
		l.part = inEvent
		r.typ.reset(&r.spares)
	case "id":
		l.part, l.nul = inID, false
	case "retry":
		l.part, l.digits, l.bad, l.millis = inRetry, false, false, 0
	default:
		l.part = inIgnored
	}
	return nil
}

var lineFeed = []byte{'\n'}

// keep stores v, which lies at position at, for the event, unless that would
// pass the event cap.
func (r *Reader) keep(t *text, v []byte, at int) *CapError {
	if room := r.eventCap - r.eventSize; int64(len(v)) > room {
		r.pos = at + int(room)
		return r.capError(EventCap, r.eventCap)
	}
	r.eventSize += int64(len(v))
	r.wide = r.wide || !r.ascii
	t.append(v, &r.spares)
	return nil
}

// retry adds digits to the reconnection time, up to its maximum.
func (l *line) retry(v []byte) {
	for _, c := range v {
		if c < '0' || c > '9' {
			l.bad = true
			return
		}
		l.digits = true
		l.millis = min(l.millis*10+int64(c-'0'), maxRetryMillis)
	}
}

// endLine ends a line that is not blank. at is the position of its line end.
func (r *Reader) endLine(at int) *CapError {
	l := &r.line
	if l.part == inName { // a line without a colon is a name without a value
		if err := r.begin(l.name[:l.named], at); err != nil {
			return err
		}
	}
	switch l.part {
	case inID:
		if !l.nul {
			r.id, r.newID = r.newID, r.id
			r.hasID = true
		}
		r.newID.reset(&r.spares)
	case inRetry:
		if l.digits && !l.bad {
			r.retry = time.Duration(l.millis) * time.Millisecond
			r.hasRetry, r.newRetry = true, true
		}
	}
	l.size, l.part, l.named, l.space = 0, inName, 0, false
	return nil
}
