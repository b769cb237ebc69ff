package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-http/plimsoll/sse"
)

func ExampleAll() {
	body := strings.NewReader(": welcome\n\n" +
		"event: add\nid: 1\ndata: 73857293\n\n" +
		"id: 2\ndata: two\ndata: lines\n\n")
	for ev, err := range sse.All(body) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s %q\n", ev.Type, ev.ID, ev.Data)
	}
	// Output:
	// add 1 "73857293"
	// message 2 "two\nlines"
}

// Past a cap the iteration ends with one error.
func ExampleAll_caps() {
	body := strings.NewReader("data: short\n\ndata: much too long\n\n")
	for ev, err := range sse.All(body, sse.WithLineBytes(16)) {
		if ce := (*sse.CapError)(nil); errors.As(err, &ce) {
			fmt.Println(err)
			fmt.Println(ce.Cap, ce.Limit)
			return
		}
		fmt.Println(ev.Data)
	}
	// Output:
	// short
	// sse: a line is longer than the line cap of 16 bytes (events before: 1); if the server is trusted, raise the cap with WithLineBytes
	// line 16
}

// A subscription that outlives its connections carries the last event ID and
// the bytes used from one Reader to the next.
func ExampleNewReader() {
	bodies := []string{
		"retry: 250\nid: 1\ndata: one\n\nid: 2\ndata: cut o",
		"id: 2\ndata: two\n\n",
	}
	used, lastID := int64(0), ""
	for _, body := range bodies {
		fmt.Printf("Last-Event-ID: %q\n", lastID)
		r := sse.NewReader(strings.NewReader(body),
			sse.WithTotalBytes(1<<20, used), sse.WithLastEventID(lastID))
		for {
			ev, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(ev.ID, ev.Data)
		}
		used += r.Bytes()
		lastID = r.LastEventID()
		if wait, ok := r.Retry(); ok {
			fmt.Println("wait", wait)
		}
	}
	fmt.Println(used, "bytes")
	// Output:
	// Last-Event-ID: ""
	// 1 one
	// wait 250ms
	// Last-Event-ID: "1"
	// 2 two
	// 62 bytes
}
