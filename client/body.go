package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/pool"
)

// guardResponse puts BodyIdleTimeout and MaxResponseBytes around the body of
// resp, before anybody reads it.
func (c *call) guardResponse(a *attempt, resp *http.Response) {
	bounds := c.bounds()
	if resp.StatusCode == http.StatusSwitchingProtocols || resp.Body == http.NoBody || bounds.idle == 0 && bounds.size == 0 {
		return
	}
	resp.Body = &guardedBody{ReadCloser: resp.Body, attempt: a, idle: bounds.idle, limit: bounds.size, left: bounds.size}
}

// guardedBody bounds the size of a response body and the silence while it is
// read.
type guardedBody struct {
	io.ReadCloser
	attempt *attempt
	idle    time.Duration // 0: none
	limit   int64         // 0: none
	left    int64         // bytes that may still be delivered
	err     error         // sticky
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.limit > 0 && int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	n, err := b.read(p)
	if b.limit > 0 {
		if int64(n) > b.left {
			n, err = int(b.left), &BodyTooLargeError{b.limit}
			b.ReadCloser.Close()
		}
		b.left -= int64(n)
	}
	b.err = err
	return n, err
}

func (b *guardedBody) read(p []byte) (int, error) {
	if b.idle == 0 {
		return b.ReadCloser.Read(p)
	}
	idle := &BodyIdleError{b.idle}
	timer := time.AfterFunc(b.idle, func() { b.attempt.cutoff.cancel(idle) })
	n, err := b.ReadCloser.Read(p)
	if !timer.Stop() && context.Cause(b.attempt.Context) == idle && (err != nil && err != io.EOF) {
		err = idle
	}
	return n, err
}

// callBody is a call as the body that the caller reads. Its end is the call's
// end. That it is a context, too, is of no meaning.
type callBody call

// Format keeps what is in the caller's context out of printed text.
func (*callBody) Format(f fmt.State, _ rune) {
	io.WriteString(f, "client: the body of a response") //nolint:errcheck // fmt has no use for it
}

// answer is what a call with a response came to.
type answer uint8

const (
	answeredOK        answer = iota
	answeredRecovered        // after a retry or a recovery
	answeredEscaped          // with a status that asks for a retry
	answeredRejected         // by BreakerFallback
)

// done is how CallDone reports it.
func (a answer) done() (events.Outcome, events.ErrorClass) {
	switch a {
	case answeredRecovered:
		return events.OutcomeRecovered, ""
	case answeredEscaped:
		return events.OutcomeEscaped, ""
	case answeredRejected:
		return events.OutcomeRejected, events.ClassBreaker
	}
	return events.OutcomeOK, ""
}

func (b *callBody) Read(p []byte) (int, error) {
	c := (*call)(b)
	n, err := c.body.Read(p)
	switch {
	case err == nil:
	case err == io.EOF && !c.sized && !c.ended.Load() && c.over() != nil:
		// The end of a canceled body proves nothing: the server, told by
		// close_notify that the client is leaving, may have ended it in order.
		err = c.failBody(c.over())
	case err == io.EOF:
		outcome, class := c.answered.done()
		c.finish(outcome, int(c.status), class)
	default:
		err = c.failBody(err)
	}
	return n, err
}

// failBody ends the call with a body error, which is an escape unless the
// caller canceled.
func (c *call) failBody(err error) error {
	var idle *BodyIdleError
	var large *BodyTooLargeError
	outcome, class := events.OutcomeEscaped, events.ClassOther
	switch over := c.over(); {
	case errors.As(err, &idle):
		class = events.ClassTimeout
	case errors.As(err, &large):
	case over != nil && !c.ended.Load():
		if !errors.Is(err, over) {
			err = over
		}
		outcome, class = events.OutcomeCanceled, events.ClassCanceled
		if errors.Is(over, context.DeadlineExceeded) {
			outcome, class = events.OutcomeEscaped, events.ClassTimeout
			c.awaitCancel(over)
		}
	default:
		class, err = pool.ClassOf(err), withoutQuote(err)
		if c.off.stream != nil && c.off.stream.goesOn(err) {
			outcome, _ = c.answered.done() // what becomes of the loss is for the next call to tell
		}
	}
	c.finish(outcome, int(c.status), class)
	return err
}

// Close ends the call, as canceled if that is why the rest goes unread.
func (b *callBody) Close() error {
	c := (*call)(b)
	outcome, class := c.answered.done()
	if over := c.over(); over != nil && !c.ended.Load() && !errors.Is(over, context.DeadlineExceeded) {
		outcome, class = events.OutcomeCanceled, events.ClassCanceled
	}
	defer c.finish(outcome, int(c.status), class)
	return c.body.Close()
}

// hasResponseBody reports whether resp has a body whose end is still to come.
func hasResponseBody(req *http.Request, resp *http.Response) bool {
	return resp.Body != http.NoBody && req.Method != http.MethodHead && resp.StatusCode != http.StatusSwitchingProtocols
}
