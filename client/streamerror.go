package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
	"github.com/plimsoll-http/plimsoll/sse"
)

// StreamError is why a [Stream] could not be opened, or how it ended where that
// was not in order. A stream gives exactly one. It unwraps to its cause:
// *sse.CapError, the context's error, *ThrottledError, *breaker.RejectedError,
// the errors of package pool, and an [Error] where attempts were repeated or a
// retry, or a reconnection, was refused.
type StreamError struct {
	Reason events.StreamReason // one of events.StreamReasons
	// Status is the status of the response that was refused, and 413 where the
	// stream passed a cap on bytes; 0: none.
	Status int
	// Code is "HTTP_" and Status where Status is the cause: "HTTP_413" where
	// the stream passed a cap on bytes. Otherwise it is "".
	Code string
	Err  error // the cause; holds no URL query, header value or body

	response *http.Response
}

// Error gives reason, code and cause.
func (e *StreamError) Error() string {
	s := "client: stream " + string(e.Reason)
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	var full *sse.CapError
	switch {
	case errors.As(e.Err, &full):
		what, field := "the stream and its reconnections", "TotalBytes"
		switch full.Cap {
		case sse.LineCap:
			what, field = "a line", "LineBytes"
		case sse.EventCap:
			what, field = "an event", "EventBytes"
		}
		return fmt.Sprintf("%s: more than %d bytes in %s (events before: %d); raise Config.Stream.%s if the server is trusted",
			s, full.Limit, what, full.Events, field)
	case e.Err != nil:
		return s + ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *StreamError) Unwrap() error { return e.Err }

// Timeout reports whether time ran out: a timeout of StreamConfig or the
// context's deadline.
func (e *StreamError) Timeout() bool {
	switch e.Reason {
	case events.StreamConnectTimeout, events.StreamHeaderTimeout, events.StreamIdle, events.StreamDeadline:
		return true
	}
	return false
}

// Response returns the response that was refused, where Reason is "status",
// "content_type" or "encoding"; else nil. Its body is what arrived of up to
// 64 KiB within a second; it is in memory and need not be closed.
func (e *StreamError) Response() *http.Response { return e.response }

// streamTimeoutError says that a timeout of StreamConfig passed.
type streamTimeoutError struct {
	reason events.StreamReason
	after  time.Duration
}

func (e *streamTimeoutError) Error() string {
	switch e.reason {
	case events.StreamConnectTimeout:
		return fmt.Sprintf("client: no connection within %v (Config.Stream.ConnectTimeout)", e.after)
	case events.StreamHeaderTimeout:
		return fmt.Sprintf("client: no response headers within %v (Config.Stream.HeaderTimeout)", e.after)
	}
	return fmt.Sprintf("client: no byte of the stream for %v (Config.Stream.ReadIdleTimeout)", e.after)
}
func (*streamTimeoutError) Timeout() bool   { return true }
func (*streamTimeoutError) Temporary() bool { return true }

// Is matches context.DeadlineExceeded, as net/http's own timeouts do.
func (*streamTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

var (
	// errStreamEnded is why a stream reconnects that its server ended in order.
	errStreamEnded = fmt.Errorf("client: the server ended the stream: %w", io.EOF)

	errStreamClosed = errors.New("client: the stream is closed")
)

// endReason names what ended the stream. err is not io.EOF.
func (s *Stream) endReason(err error) events.StreamReason {
	var (
		full     *sse.CapError
		timeout  *streamTimeoutError
		mine     *Error
		rejected *breaker.RejectedError
		throttle *ThrottledError
	)
	over := s.ctx.Err()
	switch {
	case errors.As(err, &full):
		switch full.Cap {
		case sse.LineCap:
			return events.StreamLineBytes
		case sse.EventCap:
			return events.StreamEventBytes
		}
		return events.StreamTotalBytes
	case errors.As(err, &timeout):
		return timeout.reason
	case over != nil && errors.Is(over, context.DeadlineExceeded):
		return events.StreamDeadline
	case over != nil, errors.Is(err, context.Canceled):
		return events.StreamCanceled
	case errors.As(err, &rejected), errors.As(err, &throttle), errors.As(err, &mine) && mine.Skipped == events.SkipBreaker:
		return events.StreamRejected
	case errors.Is(err, errStreamEnded):
		return events.StreamEnded
	case unconnected(err):
		return events.StreamConnectTimeout
	case s.opening && timedOut(err):
		return events.StreamHeaderTimeout
	}
	return events.StreamTransport
}

// unconnected reports whether err says that there was no connection in time.
func unconnected(err error) bool {
	var (
		queued    *pool.WaitError
		dial      *pool.DialError
		handshake *pool.TLSHandshakeError
		op        *net.OpError // of a Config.Base
	)
	switch {
	case errors.As(err, &queued):
		return true
	case errors.As(err, &dial):
		return dial.Timeout()
	case errors.As(err, &handshake):
		return handshake.Timeout()
	}
	return errors.As(err, &op) && op.Op == "dial" && op.Timeout()
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// terminal is the one error of a stream that err ended.
func (s *Stream) terminal(err error) *StreamError {
	var e *StreamError
	if errors.As(err, &e) {
		return e // of a refused response
	}
	e = &StreamError{Reason: s.endReason(err), Err: err}
	switch e.Reason {
	case events.StreamCanceled, events.StreamDeadline:
		// The connection may have been lost before the context ended.
		if over := overError(s.ctx); over != nil && !errors.Is(err, s.ctx.Err()) {
			e.Err = fmt.Errorf("%w; %w", over, err)
		}
	case events.StreamTotalBytes, events.StreamLineBytes, events.StreamEventBytes:
		e.Status, e.Code = http.StatusRequestEntityTooLarge, "HTTP_413"
	}
	return e
}

// refusal is the reason why resp is no event stream; "" if it is one.
func refusal(resp *http.Response) events.StreamReason {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		return events.StreamStatus
	case mediaType != "text/event-stream" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return events.StreamContentType
	}
	for _, v := range resp.Header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(v), "identity") {
			return events.StreamEncoding
		}
	}
	return ""
}

// known is value if it is one of names: a header field may hold anything.
func known(value string, names ...string) string {
	switch {
	case value == "":
		return "absent"
	case slices.Contains(names, value):
		return value
	}
	return "another one"
}

// refusedError says why a response is no event stream.
func refusedError(resp *http.Response, reason events.StreamReason) error {
	var err error
	switch reason {
	case events.StreamContentType:
		mediaType, _, malformed := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if mediaType == "" && malformed != nil && resp.Header.Get("Content-Type") != "" {
			mediaType = "malformed"
		}
		err = fmt.Errorf("client: the response's content type is %s, want text/event-stream", known(mediaType, "malformed",
			"text/html", "text/plain", "text/xml", "application/json", "application/problem+json", "application/x-ndjson", "application/xml", "application/octet-stream"))
	case events.StreamEncoding:
		name := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
		err = fmt.Errorf("client: the response's content encoding is %s, which is not decoded; leave Accept-Encoding to the transport", known(name,
			"gzip", "x-gzip", "deflate", "br", "zstd", "compress"))
	default:
		err = fmt.Errorf("client: the response's status is %d, want 200", resp.StatusCode)
	}
	if r, ok := ReportOf(resp); ok && (r.Attempts > 1 || r.Skipped != "") {
		err = &Error{Report: r, Err: err}
	}
	return err
}
