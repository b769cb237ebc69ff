// Package sse parses a Server-Sent Events stream, the text/event-stream format
// of the WHATWG HTML standard, section "Server-sent events", from any
// [io.Reader], incrementally and within caps.
//
// [All] ranges over the events of one stream. [Reader] is the same parser with
// a Next method and with the state that a client needs in order to reconnect:
// the last event ID, the reconnection time and the number of bytes parsed.
//
// # What is parsed
//
// How the bytes are cut into reads never changes the events, the errors or the
// byte counts. Lines end in CR, LF or CRLF, in any mixture. An event is handed
// over as soon as the line end of its blank line is read: after a lone CR the
// parser does not wait to see whether an LF follows. One byte order mark at the
// very start is dropped, and nowhere else. Text is decoded as by the WHATWG
// Encoding standard's "UTF-8 decode": each maximal part of an ill-formed
// sequence becomes one U+FFFD, so that every string of an [Event] is valid
// UTF-8.
//
// A block of lines without a data field gives no event, but its id field still
// becomes the last event ID. An id field that contains NUL and a retry field
// that is not all ASCII digits are ignored, as are comments and unknown fields.
// A block that the end of the stream cuts off is discarded: its id, too, counts
// for nothing. Its retry field does count, since it takes effect at once.
//
// Two things differ from a browser's EventSource, on purpose. The standard does
// not say what an endless retry time means; here it is the longest
// [time.Duration] in whole milliseconds. And a new stream starts with the last
// event ID given to [WithLastEventID], by default none; browsers carry it over
// a reconnection in the same way, while the standard's text resets it.
//
// # Caps
//
// Three caps bound what a server can make the parser hold or read. Each has a
// default; zero means that default and a negative value no cap.
//
//   - line ([WithLineBytes], 1 MiB): the bytes of one line as received, without
//     its line end and without the byte order mark. Comments and unknown fields
//     count.
//   - event ([WithEventBytes], 16 MiB): the bytes of one block's data, event and
//     id values, and one for each line feed that joins two data lines. A value
//     that a later field replaces still counts. Each U+FFFD counts as its three
//     bytes. For a block with only data fields this is len(Event.Data).
//   - total ([WithTotalBytes], 1 GiB): every byte of the stream, comments and
//     line ends included, plus what earlier connections of the same
//     subscription have used.
//
// What is exactly as long as its cap passes; the first byte beyond it ends the
// stream with one [*CapError]. Events that were complete before that byte are
// handed over first. The caps count the bytes that the io.Reader delivers: of a
// compressed response body those after decompression.
//
// The line and event caps are checked before anything is stored. Comments,
// field names and unknown fields are never stored. What a Reader holds of an
// unfinished event is at most the smaller of what was received and the event
// cap, plus 64 KiB and the last event ID; above 16 MiB it is a thousandth more.
// It grows in pieces and is never moved.
//
// When the event is complete, its text exists twice for a moment, here and in
// the Event's strings, which from then on are the caller's: for an event as long
// as the cap that is twice the cap, ill-formed text included. A string is one
// piece of memory that cannot grow, and how long it gets is known at the blank
// line alone; to have less, every event above 64 KiB would have to keep as much
// as the cap allows. An event beyond a cap is never copied.
//
// # Goroutines, blocking, errors, panics
//
// The package starts no goroutine and sets no timer. A Reader must not be used
// by two goroutines at once. Next blocks as long as the io.Reader's Read does;
// to end it early, make that Read fail, for instance by closing the response
// body. The io.Reader is never closed here. It is read in steps of up to
// 16 KiB, beyond the event that is handed over; with a total cap, never more
// than one byte past the cap.
//
// Errors of the io.Reader come back unchanged, after the events before them.
// [io.EOF] is the orderly end: Next returns it, [All] just stops. One hundred
// reads in a row that give neither bytes nor an error are [io.ErrNoProgress].
// After an error nothing more is read. [NewReader] panics when the io.Reader is
// nil, and [WithTotalBytes] when used is negative.
//
// # Allocations
//
// The strings of one event share one allocation. Up to sixteen event types are
// remembered, and an id equal to the one before is reused, so that a stream
// needs at most one allocation for an event of up to 32 KiB. To keep a small
// part of a large event for long, clone it with [strings.Clone].
package sse
