package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/sse"
)

// getStream writes the events of a stream to stdout, in the format that they
// came in, until it ends or is interrupted.
func getStream(ctx context.Context, c *client.Client, u *url.URL, stdout, stderr io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return usagef("the request cannot be made: %v", err)
	}
	s, err := c.Stream(req)
	if err != nil {
		return streamFailed(err, stdout, stderr)
	}
	defer s.Close()
	for ev, err := range s.Events() {
		if err != nil {
			return streamFailed(err, stdout, stderr)
		}
		if err := writeEvent(stdout, ev); err != nil {
			return fmt.Errorf("writing the stream: %w", err)
		}
	}
	return nil
}

// streamFailed explains a stream's end. A refused response is shown as get
// shows any; an interrupt is no failure.
func streamFailed(err error, stdout, stderr io.Writer) error {
	if e, ok := errors.AsType[*client.StreamError](err); ok {
		if e.Reason == events.StreamCanceled {
			return nil
		}
		if resp := e.Response(); resp != nil {
			if _, err := io.Copy(stdout, resp.Body); err != nil {
				return fmt.Errorf("writing the response: %w", err)
			}
		}
	}
	fmt.Fprintf(stderr, "plimsoll get: %v\n", err)
	return errSaidEverything
}

func writeEvent(w io.Writer, ev sse.Event) error {
	var b strings.Builder
	if ev.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", ev.ID)
	}
	if ev.Type != sse.DefaultType {
		fmt.Fprintf(&b, "event: %s\n", ev.Type)
	}
	for line := range strings.SplitSeq(ev.Data, "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
