package sse

import "time"

// DefaultType is the type of an event whose block has no event field, or an
// empty one.
const DefaultType = "message"

// An Event is one dispatched event. All its strings are valid UTF-8.
type Event struct {
	// Type is the value of the block's last event field, and [DefaultType] if
	// that is empty or absent. It is never empty.
	Type string
	// Data holds the values of the block's data fields, joined by line feeds.
	// It is empty if there was one data field without a value.
	Data string
	// ID is the last event ID when the event was dispatched: the id of this
	// block or else of an earlier one, as in MessageEvent.lastEventId. It is
	// empty if the server sent none, or reset it with an empty id field. It is
	// what a Last-Event-ID request header should carry after this event.
	ID string
	// Retry is the reconnection time that the server set after the event before
	// this one, be it in this block or in a block without data. It is valid
	// only if HasRetry is set, has a resolution of a millisecond, and is never
	// negative. It can be as long as a time.Duration gets: limit it before
	// waiting.
	Retry time.Duration
	// HasRetry tells whether the server set Retry. A time of zero is legal.
	HasRetry bool
}
