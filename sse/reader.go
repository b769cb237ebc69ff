package sse

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"time"
)

const (
	bufferBytes   = 16 << 10
	maxEmptyReads = 100
	bom           = "\uFEFF"
)

// All ranges over the events of src. An error is yielded once, with a zero
// Event, and ends the iteration; the end of the stream ends it without one. A
// loop that breaks leaves src open, and a second range goes on behind the last
// event. src must not be nil.
func All(src io.Reader, opts ...Option) iter.Seq2[Event, error] {
	return NewReader(src, opts...).Events()
}

// A Reader parses one stream. Make it with [NewReader]. It is not safe for
// concurrent use.
type Reader struct {
	src io.Reader // nil after the end

	lineCap, eventCap, totalCap int64 // never negative; math.MaxInt64: none
	used                        int64 // bytes of the streams before, of totalCap

	buf      []byte // nil before the first read and after the end
	pos, end int    // buf[pos:end] is read and not parsed
	lf, cr   int    // the first of each at or behind pos, end if none; stale if < pos
	ascii    bool   // buf[:end] is ASCII alone
	parsed   int64  // bytes in the buffers before this one
	later    error  // what src returned together with the bytes in buf
	over     bool   // src gave a byte more than the total cap; it is not in buf

	err    error // the terminal error
	told   bool  // Events has yielded err
	bomAt  int   // bytes of the byte order mark seen; -1: its time is over
	skipLF bool  // the byte before was a CR, whose line is ended
	line   line

	// The block being read.
	data, typ *text
	id, newID *text // the last valid id; the one being read, else empty
	hasData   bool  // there was a data field
	hasID     bool  // id is set
	wide      bool  // some value comes from a buffer that is not ASCII alone
	eventSize int64
	spares    spares

	// What outlives a block.
	lastID   string // part of an event's allocation of at most pinBytes, or alone
	types    typeNames
	retry    time.Duration
	hasRetry bool
	newRetry bool // no event was handed over since retry was set
	events   int64
}

// NewReader returns a Reader of src with the given options. It reads nothing
// yet. It panics if src is nil.
func NewReader(src io.Reader, opts ...Option) *Reader {
	if src == nil {
		panic("sse: NewReader: the io.Reader is nil")
	}
	r := &Reader{
		src:      src,
		lineCap:  DefaultLineBytes,
		eventCap: DefaultEventBytes,
		totalCap: DefaultTotalBytes,
		data:     &text{limit: dataFirst},
		typ:      &text{limit: otherFirst},
		id:       &text{limit: otherFirst},
		newID:    &text{limit: otherFirst},
	}
	for _, o := range opts {
		o(r)
	}
	return r
}

// Events ranges over the events that Next would return. A terminal error other
// than io.EOF is yielded once in the life of the Reader, with a zero Event. A
// loop that breaks can be continued by another one.
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, err := r.Next()
			if err != nil {
				if err != io.EOF && !r.told {
					r.told = true
					yield(Event{}, err)
				}
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// LastEventID is the last event ID, what a reconnection sends as Last-Event-ID:
// the id of the last block that a blank line ended, be it with data or without,
// or else what [WithLastEventID] gave. Empty: send no such header.
func (r *Reader) LastEventID() string { return r.lastID }

// Retry is the reconnection time in force, set by the last valid retry field,
// and whether there was one. It is never negative and can be as long as a
// time.Duration gets: limit it before waiting.
func (r *Reader) Retry() (wait time.Duration, ok bool) { return r.retry, r.hasRetry }

// Bytes is the number of bytes parsed of this stream, without those given to
// [WithTotalBytes] as used. Right after an event it ends with the line end of
// the event's blank line (of a CRLF with its CR); after a [*CapError], before
// the first byte that did not fit.
func (r *Reader) Bytes() int64 { return r.parsed + int64(r.pos) }

// Next returns the next event. It blocks until a blank line ends one. At the
// end of the stream it returns io.EOF, when a cap is passed a [*CapError], and
// when src fails src's error as it is. An error is terminal: every later call
// returns the same.
func (r *Reader) Next() (ev Event, err error) {
	for r.err == nil {
		for r.pos < r.end {
			if r.skipLF {
				r.skipLF = false
				if r.buf[r.pos] == '\n' {
					r.pos++
					continue
				}
			}
			if r.bomAt >= 0 {
				more, err := r.skipBOM()
				if err != nil {
					return Event{}, r.fail(err)
				}
				if more {
					continue
				}
			}
			at := r.lineEnd()
			if at > r.pos {
				if r.line.size == 0 && at < r.end && r.whole(r.pos, at) {
					r.skipLF = r.buf[at] == '\r'
					r.pos = at + 1
					continue
				}
				if err := r.feed(r.pos, at); err != nil {
					return Event{}, r.fail(err)
				}
				r.pos = at
				if at == r.end {
					break
				}
			}
			r.skipLF = r.buf[at] == '\r'
			if r.line.size > 0 {
				if err := r.endLine(at); err != nil {
					return Event{}, r.fail(err)
				}
				r.pos++
				continue
			}
			ok, err := r.dispatch(&ev)
			if err != nil {
				return Event{}, r.fail(err)
			}
			r.pos++
			if ok {
				return ev, nil
			}
			ev = Event{}
		}
		if err := r.fill(); err != nil {
			_ = r.fail(err) // it is r.err from now on
		}
	}
	return Event{}, r.err
}

// lineEnd is the position of the next CR or LF in buf, or end. Each byte is
// looked at once for each of the two, however short the lines are.
func (r *Reader) lineEnd() int {
	if r.buf[r.pos] == '\n' {
		r.lf = r.pos
		return r.pos
	}
	if r.lf < r.pos {
		r.lf = r.end
		if i := bytes.IndexByte(r.buf[r.pos:r.end], '\n'); i >= 0 {
			r.lf = r.pos + i
		}
	}
	if r.cr < r.pos {
		r.cr = r.end
		if i := bytes.IndexByte(r.buf[r.pos:r.end], '\r'); i >= 0 {
			r.cr = r.pos + i
		}
	}
	return min(r.lf, r.cr)
}

// skipBOM takes one byte of a byte order mark at the start of the stream and
// reports whether it was one. When the mark turns out not to be one, its bytes
// begin the first line, whose field is then an unknown one.
func (r *Reader) skipBOM() (more bool, _ *CapError) {
	if r.buf[r.pos] == bom[r.bomAt] {
		r.pos++
		r.bomAt++
		if r.bomAt == len(bom) {
			r.bomAt = -1
		}
		return true, nil
	}
	held := int64(r.bomAt)
	r.bomAt = -1
	if held == 0 {
		return false, nil
	}
	if held > r.lineCap {
		r.pos -= int(held - r.lineCap)
		return false, r.capError(LineCap, r.lineCap)
	}
	r.line.size, r.line.part = held, inIgnored
	return false, nil
}

// fill reads the next bytes of src into buf, all of whose bytes are parsed.
func (r *Reader) fill() error {
	for _, t := range []*text{r.data, r.typ, r.id, r.newID} {
		t.own(&r.spares)
	}
	r.parsed += int64(r.end)
	r.pos, r.end, r.lf, r.cr = 0, 0, -1, -1
	switch {
	case r.over:
		return r.capError(TotalCap, r.totalCap)
	case r.later != nil:
		return r.later
	}
	if r.buf == nil {
		r.buf = make([]byte, bufferBytes)
	}
	room := max(r.totalCap-r.used, 0) - r.parsed // never negative
	into := r.buf
	if room < int64(len(into)) {
		into = into[:room+1] // one more, to tell the end from too much
	}
	for range maxEmptyReads {
		n, err := r.src.Read(into)
		if n < 0 || n > len(into) {
			return fmt.Errorf("sse: the io.Reader returned a count of %d for a buffer of %d bytes; it breaks its contract", n, len(into))
		}
		if n == 0 && err == nil {
			continue
		}
		if int64(n) > room {
			n, r.over = int(room), true
			if n == 0 {
				return r.capError(TotalCap, r.totalCap)
			}
		}
		if n == 0 {
			return err
		}
		r.end, r.later = n, err
		r.ascii = isASCII(r.buf[:n])
		return nil
	}
	return io.ErrNoProgress
}

func (r *Reader) capError(name string, limit int64) *CapError {
	return &CapError{Cap: name, Limit: limit, Events: r.events}
}

// fail makes err the terminal error and lets go of everything that is only
// needed for parsing.
func (r *Reader) fail(err error) error {
	r.err = err
	r.parsed += int64(r.pos)
	r.src, r.buf, r.later = nil, nil, nil
	r.pos, r.end = 0, 0
	r.data, r.typ, r.id, r.newID = nil, nil, nil, nil
	r.spares, r.types = spares{}, typeNames{}
	return err
}
