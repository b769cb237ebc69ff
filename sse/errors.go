package sse

import "fmt"

// The names that [CapError.Cap] can have.
const (
	LineCap  = "line"
	EventCap = "event"
	TotalCap = "total"
)

// A CapError ends a stream that went past a cap. It is terminal: nothing more
// is read. Reach it with errors.As. It holds no bytes of the stream.
type CapError struct {
	// Cap is LineCap, EventCap or TotalCap.
	Cap string
	// Limit is the cap in bytes. It is never negative.
	Limit int64
	// Events is the number of events that the Reader handed over before.
	Events int64
}

// Error names the cap, its value and the option that changes it.
func (e *CapError) Error() string {
	what, option := "the stream", "WithTotalBytes"
	switch e.Cap {
	case LineCap:
		what, option = "a line", "WithLineBytes"
	case EventCap:
		what, option = "an event", "WithEventBytes"
	}
	return fmt.Sprintf("sse: %s is longer than the %s cap of %d bytes (events before: %d); if the server is trusted, raise the cap with %s",
		what, e.Cap, e.Limit, e.Events, option)
}
