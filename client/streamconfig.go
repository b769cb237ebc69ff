package client

import (
	"fmt"
	"time"
)

// StreamConfig bounds the event streams of [Client.Stream]. Zero fields take
// the documented default; negative ones are an error.
type StreamConfig struct {
	// ConnectTimeout bounds each attempt up to an established connection,
	// without queueing for one. 0: 10 s.
	ConnectTimeout time.Duration
	// HeaderTimeout bounds each attempt from there to the response headers.
	// 0: 30 s.
	HeaderTimeout time.Duration
	// ReadIdleTimeout is the longest wait for a byte; comments count as life.
	// 0: 60 s.
	ReadIdleTimeout time.Duration
	// TotalBytes caps the decoded bytes over all connections of one
	// subscription. 0: 1 GiB.
	TotalBytes int64
	// LineBytes caps one line, without its end. 0: 1 MiB.
	LineBytes int64
	// EventBytes caps the values of one event. 0: 16 MiB.
	EventBytes int64
	// Resume reconnects with Last-Event-ID when the connection is lost or the
	// server ends it. Each reconnection is paid from the retry budget.
	Resume bool
}

func (s StreamConfig) resolved() (StreamConfig, error) {
	for _, d := range []struct {
		field string
		value *time.Duration
		or    time.Duration
	}{
		{"ConnectTimeout", &s.ConnectTimeout, 10 * time.Second},
		{"HeaderTimeout", &s.HeaderTimeout, 30 * time.Second},
		{"ReadIdleTimeout", &s.ReadIdleTimeout, 60 * time.Second},
	} {
		if *d.value < 0 {
			return s, fmt.Errorf("client: Config.Stream.%s is %v: use 0 for %v, or a positive duration", d.field, *d.value, d.or)
		}
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	for _, b := range []struct {
		field string
		value *int64
		or    int64
	}{
		{"TotalBytes", &s.TotalBytes, 1 << 30},
		{"LineBytes", &s.LineBytes, 1 << 20},
		{"EventBytes", &s.EventBytes, 16 << 20},
	} {
		if *b.value < 0 {
			return s, fmt.Errorf("client: Config.Stream.%s is %d: use 0 for %d, or a positive number of bytes", b.field, *b.value, b.or)
		}
		if *b.value == 0 {
			*b.value = b.or
		}
	}
	return s, nil
}
