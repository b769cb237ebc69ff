package pool

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
)

// requestBody hands out a request's body, once per send, and closes each
// exactly once.
type requestBody struct {
	req     *http.Request
	current io.ReadCloser
	tracked *trackedBody // around current; nil where that is passed on as it is
	passed  bool         // current's request was answered: net/http closes it, perhaps later, unless the connection ends before
}

func (b *requestBody) of(req *http.Request) {
	b.req = req
	b.set(req.Body)
}

func (b *requestBody) set(rc io.ReadCloser) {
	b.current, b.tracked = rc, nil
	if rc == nil || passesThrough(rc) {
		return
	}
	b.tracked = &trackedBody{rc: rc}
	b.current = b.tracked
	if w, ok := rc.(io.WriterTo); ok {
		b.current = &trackedWriterTo{b.tracked, w}
	}
}

// rewind prepares the body for another send. The request must be replayable.
func (b *requestBody) rewind() error {
	if b.req.Body == nil || b.req.Body == http.NoBody {
		return nil
	}
	b.close()
	rc, err := b.req.GetBody()
	if err != nil {
		return err
	}
	b.set(rc)
	return nil
}

// close closes the current body if nobody has done so.
func (b *requestBody) close() {
	if b.current != nil && !b.passed {
		b.current.Close()
	}
}

// failed returns the error with which reading the body failed, if it did.
func (b *requestBody) failed() error {
	if b.tracked == nil {
		return nil
	}
	if err := b.tracked.err.Load(); err != nil {
		return *err
	}
	return nil
}

// trackedBody closes a body once and remembers its read error.
type trackedBody struct {
	rc     io.ReadCloser
	closed atomic.Bool
	err    atomic.Pointer[error]
}

func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if err != nil && err != io.EOF && !b.closed.Load() {
		b.err.Store(&err)
	}
	return n, err
}

func (b *trackedBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.rc.Close()
}

// trackedWriterTo keeps the WriteTo of a body.
type trackedWriterTo struct {
	*trackedBody
	w io.WriterTo
}

func (b *trackedWriterTo) WriteTo(w io.Writer) (int64, error) { return b.w.WriteTo(w) }

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(struct {
		io.Reader
		io.WriterTo
	}{}))
)

// passesThrough reports whether net/http must see rc itself: it writes what is
// in memory together with the header, and lets the socket read from a file.
// The former cannot fail and need no Close, the latter survives a second one.
func passesThrough(rc io.ReadCloser) bool {
	if _, file := rc.(*os.File); file || rc == http.NoBody {
		return true
	}
	if t := reflect.TypeOf(rc); t != nopCloser && t != nopCloserWriterTo {
		return false
	}
	switch reflect.ValueOf(rc).Field(0).Interface().(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader, *os.File:
		return true
	}
	return false
}
