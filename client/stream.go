package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/sse"
)

// Stream is one subscription to Server-Sent Events (the text/event-stream format
// of the WHATWG HTML standard): a response that is read for as long as it
// lasts, and with StreamConfig.Resume the connections that continue it.
//
// # Opening
//
// [Client.Stream] sends the request as a call like any other: throttle,
// breaker, retries and budget hold, and redirects, cookies and CheckRedirect
// are those of the embedded http.Client as they were then, whatever others have
// made of its Transport. It adds Accept: text/event-stream and Cache-Control:
// no-store where the request has no such field. The response must have status
// 200, the content type text/event-stream, with parameters or without, and no
// content encoding but the gzip that the transport asked for and decodes.
//
// # Time
//
// Nothing bounds the length of a stream but the request's context: neither the
// embedded client's Timeout nor Config.AttemptTimeout, BodyIdleTimeout or
// MaxResponseBytes count for it. StreamConfig.ConnectTimeout and HeaderTimeout
// hold for each attempt and, like an attempt timeout, make it one that is tried
// again; the time in the queue for a connection is in neither (pool.Config's
// MaxConnWait bounds it). With a Config.Base that tells nothing through
// net/http/httptrace, their sum bounds the way to the headers.
// ReadIdleTimeout is the longest time that a read waits for a byte, of a
// comment too; what the caller does between two events is not counted.
//
// # Caps
//
// StreamConfig.TotalBytes, LineBytes and EventBytes count decoded bytes, as
// package sse defines them; TotalBytes over all connections of the
// subscription. What is exactly as long as its cap passes.
//
// # The end
//
// A stream ends once, and then its connection is closed or free for others.
// The server ending it in order is the end of the iteration without an error,
// and so are breaking out of the loop and Close. Everything else is yielded
// once, as a *[StreamError]. A block that the end cuts off is discarded. The
// end of the context closes the connection at once; the stream still has to be
// ranged to its end, or closed, so that the call is over too.
//
// CallDone of a call that opened a stream comes when its connection is done
// with; StreamClosed comes last, once for each stream that got as far as a
// call, opened or not. It carries the number of the stream's latest call.
//
// # Resuming
//
// With StreamConfig.Resume a stream whose connection is lost, or which the
// server ends in order, goes on over another connection, with the last event
// ID. It is for servers that replay by that: what has no ID may come twice, or
// not at all. Not resumed are streams past a cap, silent for too long, or
// canceled.
//
// A reconnection is a call whose first attempt is a retry of the connection
// that was lost: the same gates decide about it, in the same order (retries
// enabled, attempts left, body replayable, method idempotent, RetryIf), it is
// paid from the retry budget before its wait and settled by its outcome, and
// it gives the same events. Refused, it ends the stream with the loss as the
// cause, inside an [Error] whose Skipped says why. The call of the lost
// connection ends as it began, ok or recovered, with the class of the loss:
// whether that escapes is the reconnection's to tell.
//
// The wait is the backoff, or the reconnection time if the server has set one
// (retry:) and that is longer; it counts as at least RetryPolicy.BaseDelay and
// at most MaxDelay. Where a server ends one connection after the other in order
// and has set none, the backoff grows as if they had failed.
//
// Failed attempts in a row, the lost connection included, are numbered through
// and limited by MaxRetries, and their time by the total retry time. An event,
// or a connection that held for MaxDelay, a second at least, ends the row.
// While it lasts, a dial or a name lookup that fails is tried again too: a
// server that restarts refuses connections.
//
// A reconnection takes the newest generation; see [Client.Reload]. It sends the
// original request again, from its original URL, and the answer 204 ends the
// stream in order.
//
// # Goroutines
//
// A Stream has none of its own. Reading, reconnecting and all hooks run on the
// goroutine that ranges over Events; where Close ends the stream while the
// loop's body runs, or none does, the hooks of the end run in Close. All other
// methods may be called from anywhere at any time.
type Stream struct {
	client http.Client // the embedded one as it was, with a Timeout of 0 and the connection as its Transport
	t      *Transport
	cfg    *StreamConfig
	req    *http.Request // the caller's; never changed
	ctx    context.Context
	cancel context.CancelCauseFunc
	start  time.Time

	// What whoever made busy true owns.
	conn       *streamConn   // the current connection, or the latest
	call       *call         // the latest; nil before the first
	opening    bool          // a response is waited for
	body       io.ReadCloser // nil between connections
	reader     *sse.Reader   // nil between connections
	used       int64         // bytes of the connections before
	id         string        // what a reconnection sends as Last-Event-ID
	retry      time.Duration // the server's reconnection time, bounded; 0: none
	row        outage
	ends       int           // connections in a row that the server ended in order, none of which held
	least      time.Duration // the shortest wait of the next reconnection
	events     int64
	reconnects int

	mu       sync.Mutex
	busy     bool                // guarded by mu; somebody opens, reads or closes
	closed   bool                // guarded by mu; Close was called
	reason   events.StreamReason // guarded by mu; "": it has not ended
	lastID   string              // guarded by mu; as of the last event that was yielded
	response *http.Response      // guarded by mu; of the current connection
}

// Stream opens an event stream with req; see [Stream]. It returns when the
// response's headers are accepted. An error is a *[StreamError], or says that
// req or the client could not be used at all. The stream ends with req's
// context. Stream does not change req and closes its body.
func (c *Client) Stream(req *http.Request) (*Stream, error) {
	s := &Stream{client: *c.Client, t: c.transport, cfg: &c.transport.cfg.Stream, req: req, start: time.Now(), busy: true}
	s.client.Timeout = 0
	s.ctx, s.cancel = context.WithCancelCause(req.Context())
	s.id = req.Header.Get("Last-Event-ID")
	s.lastID = s.id
	over := false
	defer func() {
		if !over {
			s.abort()
		}
	}()
	err := s.open(nil)
	switch {
	case err == nil:
		s.put()
		over = true
		return s, nil
	case s.call == nil:
		over = true
		s.cancel(errStreamClosed)
		return nil, err
	}
	e := s.terminal(err)
	over = true
	s.finish(e.Reason)
	return nil, e
}

// Events ranges over the events of the stream. It blocks until an event is
// complete. The last pair is a zero Event and a *[StreamError], unless the
// stream ended in order or was closed; after its end Events yields nothing.
// Breaking out of the loop closes the stream. Two loops must not run at the
// same time: the second one panics.
func (s *Stream) Events() iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		over := true
		defer func() {
			if !over {
				s.abort() // a hook or the loop's body panicked
			}
		}()
		for {
			over = true
			if !s.take() {
				return
			}
			over = false
			ev, err := s.next()
			switch {
			case err == io.EOF:
				over = true
				return
			case err != nil:
				over = true
				yield(sse.Event{}, err)
				return
			case !yield(ev, nil):
				over = true
				s.Close()
				return
			}
		}
	}
}

// Close ends the stream and closes its connection. A loop over Events ends
// without an error; it does so at once, but Close does not wait for it, and an
// event that is complete may still come. Closing again does nothing. The error
// is always nil.
func (s *Stream) Close() error {
	s.mu.Lock()
	s.closed = true
	mine := !s.busy && s.reason == ""
	if mine {
		s.reason = events.StreamClosedByCaller
	}
	s.mu.Unlock()
	if mine {
		s.conclude(events.StreamClosedByCaller)
	} else {
		s.cancel(errStreamClosed) // whoever is busy ends it
	}
	return nil
}

// Reason returns why the stream ended, "" while it has not.
func (s *Stream) Reason() events.StreamReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// LastEventID returns the last event ID as of the event that was yielded last;
// before the first, the request's Last-Event-ID. A later request that carries
// it as Last-Event-ID continues the stream.
func (s *Stream) LastEventID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

// Response returns the response of the current or the latest connection, for
// its header and for [ReportOf]. Its body is empty.
func (s *Stream) Response() *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.response
}
