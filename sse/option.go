package sse

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// The default caps, in bytes.
const (
	DefaultLineBytes  int64 = 1 << 20  // 1 MiB
	DefaultEventBytes int64 = 16 << 20 // 16 MiB
	DefaultTotalBytes int64 = 1 << 30  // 1 GiB
)

// An Option changes a default of [All] or [NewReader]. Of several options of
// the same kind the last one counts.
type Option func(*Reader)

// WithLineBytes sets the line cap: the largest number of bytes in one line,
// without its line end. 0 means [DefaultLineBytes], a negative value no cap.
func WithLineBytes(n int64) Option {
	n = capOr(n, DefaultLineBytes)
	return func(r *Reader) { r.lineCap = n }
}

// WithEventBytes sets the event cap: the largest number of bytes in the data,
// event and id values of one event, the line feeds between data lines included.
// 0 means [DefaultEventBytes], a negative value no cap.
func WithEventBytes(n int64) Option {
	n = capOr(n, DefaultEventBytes)
	return func(r *Reader) { r.eventCap = n }
}

// WithTotalBytes sets the total cap: the largest number of bytes of all streams
// of one subscription together. used is what the streams before this one have
// taken of it, the sum of their [Reader.Bytes]; 0 for the first. If used has
// reached n, the first byte of this stream is one too many. For n, 0 means
// [DefaultTotalBytes] and a negative value no cap. It panics if used is
// negative.
func WithTotalBytes(n, used int64) Option {
	if used < 0 {
		panic(fmt.Sprintf("sse: WithTotalBytes: used is %d; it is a number of bytes and must not be negative", used))
	}
	if n = capOr(n, DefaultTotalBytes); n == math.MaxInt64 {
		used = 0
	}
	return func(r *Reader) { r.totalCap, r.used = n, used }
}

// WithLastEventID sets the last event ID to start with, for a stream that
// continues an earlier one: events before the first id field have it as their
// ID. The default is none. id should come from [Reader.LastEventID] or
// [Event.ID]; it is used as it is, except that ill-formed UTF-8 is replaced.
func WithLastEventID(id string) Option {
	if !utf8.ValidString(id) {
		id = decode(id)
	}
	return func(r *Reader) { r.lastID = id }
}

// capOr gives the cap that n stands for.
func capOr(n, byDefault int64) int64 {
	switch {
	case n == 0:
		return byDefault
	case n < 0:
		return math.MaxInt64
	}
	return n
}
