package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/plimsoll-http/plimsoll/events"
)

// Try is one finished attempt, as RetryPolicy.RetryIf sees it. Exactly one of
// Response and Err is set. RetryIf must not change Request or Response and must
// not read Response.Body itself: use PeekBody.
type Try struct {
	Request  *http.Request     // as the caller gave it
	Response *http.Response    // of the attempt, its body unread; nil with Err
	Err      error             // of the attempt; nil with Response
	Class    events.ErrorClass // class of Err; "" with a Response
	Attempt  int               // 1-based
	BuiltIn  Verdict           // Retry or Stop: what happens without RetryIf
}

// Verdict is an answer of RetryPolicy.RetryIf.
type Verdict int

// The verdicts.
const (
	Default Verdict = iota // the built-in verdict
	Retry                  // try again, if budget and deadline allow
	Stop                   // this is the caller's answer
)

// String returns "default", "retry" or "stop".
func (v Verdict) String() string {
	switch v {
	case Default:
		return "default"
	case Retry:
		return "retry"
	case Stop:
		return "stop"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// PeekBody returns up to max bytes of the response body and leaves the body
// intact for the caller: what was read is put in front again. Fewer bytes
// without an error mean that the body ended. It blocks until max bytes, the
// body's end or an error; the call's context bounds it. A second PeekBody sees
// the same bytes. max below 1 reads nothing.
func (t Try) PeekBody(max int) ([]byte, error) {
	if t.Response == nil || t.Response.Body == nil || t.Response.Body == http.NoBody || max < 1 {
		return nil, nil
	}
	p, ok := t.Response.Body.(*peekedBody)
	if !ok {
		p = &peekedBody{ReadCloser: t.Response.Body}
		t.Response.Body = p
	}
	return p.peek(max)
}

// peekedBody is a body of which a prefix was read ahead.
type peekedBody struct {
	io.ReadCloser        // the rest
	prefix        []byte // read ahead and not yet delivered
	err           error  // what the rest answered; delivered after prefix
}

func (p *peekedBody) peek(max int) ([]byte, error) {
	if missing := max - len(p.prefix); missing > 0 && p.err == nil {
		var buf bytes.Buffer
		buf.Write(p.prefix)
		_, err := io.CopyN(&buf, p.ReadCloser, int64(missing))
		p.prefix, p.err = buf.Bytes(), err
	}
	if p.err != nil && p.err != io.EOF && len(p.prefix) < max {
		return bytes.Clone(p.prefix), p.err
	}
	return bytes.Clone(p.prefix[:min(max, len(p.prefix))]), nil
}

func (p *peekedBody) Read(b []byte) (int, error) {
	if len(p.prefix) > 0 {
		n := copy(b, p.prefix)
		p.prefix = p.prefix[n:]
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.ReadCloser.Read(b)
}
