package faultserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// finisher is a response writer of this package.
type finisher interface {
	http.ResponseWriter
	finish() error
}

// responseWriter lets an http.Handler write on an exchange. It is a Flusher; on
// HTTP/1.1 h1Writer adds Hijacker.
type responseWriter struct {
	r      run
	header http.Header
	mu     *sync.Mutex // guards the rest, and the exchange
	sent   bool        // the final header was given to the exchange
	status int
	err    error // the first failed write
}

// h1Writer is a responseWriter that can give its connection away.
type h1Writer struct {
	responseWriter
	hijacked bool
}

func newResponseWriter(r run, mu *sync.Mutex) finisher {
	w := responseWriter{r: r, header: http.Header{}, mu: mu}
	if _, ok := r.x.(*h1exchange); ok {
		return &h1Writer{responseWriter: w}
	}
	return &w
}

func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader sends an interim response for 1xx (but 101), else the final
// header.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status)
}

func (w *responseWriter) writeHeader(status int) {
	if w.sent {
		return
	}
	if status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols {
		w.keep(w.r.x.interim(status, w.header))
		return
	}
	w.sent = true
	w.status = status
	h := w.header.Clone()
	for k := range h {
		if strings.HasPrefix(k, http.TrailerPrefix) {
			delete(h, k)
		}
	}
	for _, k := range w.declaredTrailers() {
		delete(h, k)
	}
	if len(w.declaredTrailers()) > 0 {
		w.keep(w.r.x.respond(Header{Status: status, Header: h, Framing: Chunked}))
		return
	}
	w.keep(w.r.x.respond(Header{Status: status, Header: h}))
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sent {
		if w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.writeHeader(http.StatusOK)
	}
	if w.err != nil {
		return 0, w.err
	}
	if err := w.r.x.write(p); err != nil {
		w.err = err
		return 0, err
	}
	return len(p), nil
}

// Flush sends what was written.
func (w *responseWriter) Flush() { w.FlushError() }

// FlushError is Flush with its error, for http.ResponseController.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sent {
		w.writeHeader(http.StatusOK)
	}
	w.keep(w.r.x.flush())
	return w.err
}

func (w *responseWriter) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *responseWriter) declaredTrailers() []string {
	var keys []string
	for _, v := range w.header["Trailer"] {
		for k := range strings.SplitSeq(v, ",") {
			keys = append(keys, http.CanonicalHeaderKey(strings.TrimSpace(k)))
		}
	}
	return keys
}

// finish completes what the handler has left open.
func (w *responseWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sent {
		w.writeHeader(http.StatusOK)
	}
	trailers := http.Header{}
	for _, k := range w.declaredTrailers() {
		if v, ok := w.header[k]; ok {
			trailers[k] = v
		}
	}
	for k, v := range w.header {
		if name, ok := strings.CutPrefix(k, http.TrailerPrefix); ok {
			trailers[http.CanonicalHeaderKey(name)] = v
		}
	}
	if len(trailers) > 0 {
		w.keep(w.r.x.trailer(trailers))
	}
	return w.err
}

// Hijack gives the connection to the handler, as http.Hijacker says. The
// connection then lives until the taker closes it or the server does.
func (w *h1Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.sent || w.hijacked {
		return nil, nil, errors.New("faultserver: Hijack after the response has begun")
	}
	w.hijacked = true
	c, x := w.r.c, w.r.x.(*h1exchange)
	c.s.mu.Lock()
	c.taken = true
	c.s.changed.fire()
	c.s.mu.Unlock()
	nc := &takenConn{Conn: c.app, c: c, closed: make(chan struct{})}
	x.taken = nc
	return nc, bufio.NewReadWriter(x.br, bufio.NewWriter(nc)), nil
}

func (w *h1Writer) finish() error {
	if !w.hijacked {
		return w.responseWriter.finish()
	}
	x := w.r.x.(*h1exchange)
	w.r.c.s.update(w.r.rec, func(rec *Request) { rec.Answered = true })
	select {
	case <-x.taken.closed:
	case <-w.r.c.ended:
	}
	return errOver
}

// takenConn is a hijacked connection.
type takenConn struct {
	net.Conn
	c      *conn
	once   sync.Once
	closed chan struct{}
}

// Close ends the connection as a well-behaved server does.
func (t *takenConn) Close() error {
	t.once.Do(func() {
		t.c.polite()
		close(t.closed)
	})
	return nil
}

// CloseWrite sends FIN, over TLS close_notify.
func (t *takenConn) CloseWrite() error {
	return t.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// requestBody is the body that a handler reads.
type requestBody struct {
	r        run
	mu       *sync.Mutex // guards the exchange's prepare
	prepared bool
	closed   bool
	err      error
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.err != nil {
		return 0, b.err
	}
	if !b.prepared {
		b.prepared = true
		b.mu.Lock()
		err := b.r.x.prepare(false)
		b.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
	n, err := b.r.x.read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("faultserver: reading the request body: %w", err)
	}
	b.err = err
	return n, err
}

func (b *requestBody) Close() error {
	b.closed = true
	return nil
}
