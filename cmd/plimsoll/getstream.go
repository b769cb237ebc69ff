package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/sse"
)

// stream writes the events of a stream, in the format that they came in, until
// it ends or is interrupted. What came until then stays in --output.
func (s *session) stream() int {
	req, err := s.request()
	if err != nil {
		return s.failed(err, exitFailed)
	}
	events, err := s.client.Stream(req)
	if err != nil {
		return s.streamFailed(err)
	}
	defer events.Close()
	s.timeline.response(events.Response())
	for ev, err := range events.Events() {
		if err != nil {
			status := s.streamFailed(err)
			if err := s.out.keep(); err != nil {
				return s.failed(outputError(err), exitWrite)
			}
			return status
		}
		if err := s.event(ev); err != nil {
			if errors.Is(err, syscall.EPIPE) {
				return exitWrite
			}
			return s.failed(fmt.Errorf("writing the stream: %w", err), exitWrite)
		}
	}
	if err := s.out.keep(); err != nil {
		return s.failed(outputError(err), exitWrite)
	}
	return exitOK
}

// streamFailed explains a stream's end. A refused response is shown as that of
// any request is.
func (s *session) streamFailed(err error) int {
	status := exitOfError(s.ctx, err)
	if e, ok := errors.AsType[*client.StreamError](err); ok {
		if resp := e.Response(); resp != nil && status == exitTransfer {
			if resp.StatusCode >= 400 {
				status = exitHTTP
			}
			if _, ok := s.out.(*download); !ok {
				if failure := s.copy(s.out, resp); failure != exitOK {
					return failure
				}
			}
		}
	}
	return s.failed(err, status)
}

func (s *session) event(ev sse.Event) error {
	s.timeline.streamEvent(ev)
	text := eventText(ev)
	n, err := io.WriteString(s.out, text)
	s.tally.bytes += int64(n)
	if err == nil {
		err = s.timeline.failure()
	}
	return err
}

func eventText(ev sse.Event) string {
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
	return b.String()
}
