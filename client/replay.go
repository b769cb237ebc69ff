package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-http/plimsoll/pool"
)

// Buffered returns a copy of req whose body can be replayed, having read up to
// limit bytes of it into memory; the retry loop buffers nothing by itself. A
// body that has GetBody already, or none, is returned as it is. A body larger
// than limit is an error; then the body is closed. limit must be positive.
// Buffered owns req's body: use only the returned request.
func Buffered(req *http.Request, limit int64) (*http.Request, error) {
	if pool.Replayable(req) {
		return req, nil
	}
	defer req.Body.Close()
	if limit <= 0 {
		return nil, fmt.Errorf("client: Buffered: limit is %d: use a positive number of bytes", limit)
	}
	data, err := io.ReadAll(io.LimitReader(req.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("client: Buffered: reading the body: %w", err)
	}
	if int64(len(data)) == limit {
		var more [1]byte
		switch n, err := io.ReadFull(req.Body, more[:]); {
		case n > 0:
			return nil, fmt.Errorf("client: Buffered: the body is larger than the limit of %d bytes: raise the limit, or set GetBody", limit)
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("client: Buffered: reading the body: %w", err)
		}
	}
	out := req.WithContext(req.Context())
	out.ContentLength = int64(len(data))
	out.TransferEncoding = nil
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.Body, _ = out.GetBody()
	if len(data) == 0 {
		out.Body = http.NoBody
		out.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	return out, nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// nopClosers are the types that io.NopCloser returns.
var nopClosers = [...]reflect.Type{
	reflect.TypeOf(io.NopCloser(nil)),
	reflect.TypeOf(io.NopCloser(bytes.NewReader(nil))),
}

// inMemory reports whether body is one that http.NewRequest makes of an
// in-memory reader. Closing it does nothing, GetBody gives a reader of its own,
// and net/http sends it without an extra write, so it is never wrapped. With
// any other reader inside, such as a file that GetBody rewinds, it is.
func inMemory(body io.ReadCloser) bool {
	if t := reflect.TypeOf(body); t != nopClosers[0] && t != nopClosers[1] {
		return false
	}
	switch reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Buffer, *bytes.Reader, *strings.Reader:
		return true
	}
	return false
}

// sentBody is the request body of one attempt. It is closed exactly once,
// whoever closes it how often, and it can be revoked: after revoke no Read of
// the body's reader is running and none starts, so that what GetBody returns
// next may share state with it.
type sentBody struct {
	body io.ReadCloser

	mu      sync.Mutex
	revoked bool          // guarded by mu
	closed  bool          // guarded by mu
	reading chan struct{} // guarded by mu; non-nil while a Read runs, closed at its end
}

var (
	errBodyRevoked = errors.New("client: the attempt that this request body belonged to is over")
	errBodyBusy    = errors.New("client: another attempt needs the request body, and a Read of the one before does not return")
)

// guardBody wraps body unless closing it twice or reading it late does no harm.
func guardBody(body io.ReadCloser) (io.ReadCloser, *sentBody) {
	if body == nil || body == http.NoBody || inMemory(body) {
		return body, nil
	}
	g := &sentBody{body: body}
	return g, g
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.revoked || b.closed {
		b.mu.Unlock()
		return 0, errBodyRevoked
	}
	done := make(chan struct{})
	b.reading = done
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.reading = nil
		b.mu.Unlock()
		close(done)
	}()
	return b.body.Read(p)
}

func (b *sentBody) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return nil
	}
	return b.body.Close()
}

// revoke closes the body and waits until no Read runs, which it reports, or
// until cancel, for at most that long.
func (b *sentBody) revoke(cancel <-chan struct{}, most time.Duration) bool {
	b.mu.Lock()
	b.revoked = true
	reading := b.reading
	b.mu.Unlock()
	b.Close()
	if reading == nil {
		return true
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-reading:
		return true
	case <-cancel:
	case <-timer.C:
	}
	return false
}
