package faultserver

import (
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/net/http2"
)

// exchange is one request and its response in some version of HTTP. It is used
// by one goroutine at a time.
//
// What is written is held back as long as possible, so that the end of the
// response travels with its last bytes: flush sends what is held, end all the
// rest.
type exchange interface {
	request() *http.Request
	// over is closed when the stream ends before the connection does.
	over() <-chan struct{}
	interim(status int, h http.Header) error
	respond(h Header) error
	answered() bool // respond, half or raw was called
	write(p []byte) error
	trailer(h http.Header) error
	flush() error
	half(h HalfHeader) error
	malformed() error
	raw(p []byte, belowTLS bool) error
	// prepare comes before read: it sends what is held, and 100 Continue where
	// the client asks for it, unless withhold.
	prepare(withhold bool) error
	// read reads body bytes; io.EOF is the body's end. It may be called while
	// another goroutine uses the rest.
	read(p []byte) (int, error)
	// reset ends the stream; on HTTP/1.1 the connection.
	reset(code http2.ErrCode) error
	// endUnread ends a connection whose request body is not read, where the
	// protocol needs that.
	endUnread(how How) error
	// end sends the rest and notes that the request was answered.
	end() error
	// abort ends the stream in an error; on HTTP/1.1 the connection.
	abort()
}

// run is one execution of a script.
type run struct {
	c   *conn
	x   exchange
	rec *Request
}

// script runs the steps and the end of the response. It returns nil if the
// connection can go on with the next request.
func (r run) script(sc Script) error {
	steps := sc.Steps
	for _, st := range steps {
		if err := r.step(st); err != nil {
			return err
		}
	}
	if !r.x.answered() {
		if err := r.handle(r.c.s.config.Handler); err != nil {
			return err
		}
	}
	return r.x.end()
}

func (r run) step(st Step) error {
	c, x := r.c, r.x
	switch st.(type) {
	case Delay, Wait, Hang, BlackHole, Flush, ReadBody, Kill, KillAfterWritten, KillAfterRead,
		Reset, GoAway, Settings:
		if err := x.flush(); err != nil {
			return err
		}
	}
	switch st.(type) {
	case Delay, Wait, Flush, Settings, Reset, GoAway:
		// They do not act on the request.
	default:
		if r.bodyless() {
			r.processed()
		}
	}
	switch st := st.(type) {
	case Delay:
		return alive(c.sleep(st.For, x.over()))
	case Wait:
		return alive(c.waitFor(st.Until, x.over()))
	case Hang:
		return alive(c.waitFor(nil, x.over()))
	case BlackHole:
		c.blackHole()
		<-c.done
		return errGone
	case ReadBody:
		return r.readBody(st)
	case Interim:
		r.processed()
		return x.interim(st.Status, st.Header)
	case Header:
		r.processed()
		return x.respond(st)
	case HalfHeader:
		r.processed()
		return x.half(st)
	case malformed:
		r.processed()
		return x.malformed()
	case Body:
		return r.body(st.Data, st.Size)
	case Echo:
		return r.echo()
	case Trickle:
		return r.trickle(st)
	case Trailer:
		if err := r.defaultHeader(); err != nil {
			return err
		}
		return x.trailer(st.Header)
	case Flush:
	case Raw:
		r.processed()
		return x.raw(st.Data, st.Wire)
	case Kill:
		c.kill(st.How)
		return errKilled
	case endUnread:
		return x.endUnread(st.how)
	case KillAfterWritten:
		c.wire.cutWrite(st.Bytes, st.How)
	case KillAfterRead:
		c.wire.cutRead(st.Bytes, st.How)
	case Reset:
		if st.Code != http2.ErrCodeRefusedStream {
			r.processed()
		}
		x.reset(st.Code)
		return errGone
	case GoAway:
		return r.goAway(st)
	case Settings:
		if h, ok := x.(*h2exchange); ok {
			return h.st.h.sendSettings(st)
		}
		return r.needsH2(st)
	case Handle:
		h := st.Handler
		if h == nil {
			h = c.s.config.Handler
		}
		return r.handle(h)
	}
	return nil
}

func alive(ok bool) error {
	if ok {
		return nil
	}
	return errGone
}

// processed marks the request as acted upon.
func (r run) processed() {
	r.c.s.update(r.rec, func(rec *Request) { rec.Processed = true })
}

// bodyless reports whether the header was the whole request.
func (r run) bodyless() bool { return r.x.request().Body == http.NoBody }

func (r run) needsH2(st Step) error {
	r.c.s.fault(fmt.Errorf("faultserver: %T needs HTTP/2, the client of connection %d speaks HTTP/1.1", st, r.c.n))
	r.c.kill(RST)
	return errKilled
}

func (r run) defaultHeader() error {
	r.processed()
	if r.x.answered() {
		return nil
	}
	return r.x.respond(Header{})
}

func (r run) body(data []byte, size int) error {
	if err := r.defaultHeader(); err != nil {
		return err
	}
	if err := r.x.write(data); err != nil {
		return err
	}
	return r.x.write(Pattern(size))
}

func (r run) trickle(st Trickle) error {
	if err := r.defaultHeader(); err != nil {
		return err
	}
	data := append(append([]byte(nil), st.Data...), Pattern(st.Size)...)
	piece := max(st.Piece, 1)
	for first := true; len(data) > 0; first = false {
		if !first {
			if err := r.step(Delay{For: st.Every}); err != nil {
				return err
			}
		}
		n := min(piece, len(data))
		if err := r.x.write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (r run) readBody(st ReadBody) error {
	if err := r.x.prepare(st.Withhold); err != nil {
		return err
	}
	left := st.Bytes
	buf := make([]byte, 16<<10)
	for {
		p := buf
		if st.Bytes > 0 {
			p = buf[:min(int64(len(buf)), left)]
		}
		n, err := r.x.read(p)
		left -= int64(n)
		switch {
		case isEOF(err):
			r.processed()
			return nil
		case err != nil:
			return err
		case st.Bytes > 0 && left == 0:
			return nil
		}
	}
}

// echo answers with the request's body.
func (r run) echo() error {
	if err := r.x.prepare(false); err != nil {
		return err
	}
	var body []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := r.x.read(buf)
		body = append(body, buf[:n]...)
		if isEOF(err) {
			break
		}
		if err != nil {
			return err
		}
	}
	r.processed()
	if !r.x.answered() {
		ct := r.x.request().Header.Get("Content-Type")
		if ct == "" {
			ct = "text/plain"
		}
		if err := r.x.respond(Header{Header: http.Header{
			"Content-Type":    {ct},
			"X-Fault-Conn":    {fmt.Sprint(r.rec.Conn)},
			"X-Fault-Request": {fmt.Sprint(r.rec.Seq)},
		}}); err != nil {
			return err
		}
	}
	if len(body) == 0 {
		body = []byte("ok")
	}
	return r.x.write(body)
}

func (r run) goAway(st GoAway) error {
	h, ok := r.x.(*h2exchange)
	if !ok {
		return r.needsH2(st)
	}
	err := h.st.h.goAway(st.Code, func(highest uint32) uint32 {
		switch {
		case st.Refuse && h.st.id == 1:
			return 0
		case st.Refuse:
			return h.st.id - 2
		case st.Last != 0:
			return st.Last
		}
		return highest
	}, st.Debug)
	if err != nil {
		return err
	}
	if st.Refuse {
		h.st.h.forget(h.st)
		return errGone
	}
	return nil
}

// handle lets a handler answer; nil: the echo.
func (r run) handle(h http.Handler) (err error) {
	if h == nil {
		return r.echo()
	}
	r.processed()
	ctx, cancel := r.c.context(r.x.over())
	defer cancel()
	req := r.x.request().WithContext(ctx)
	var mu sync.Mutex // guards the exchange, but for read
	req.Body = &requestBody{r: r, mu: &mu}
	if r.bodyless() {
		req.Body = http.NoBody
	}
	w := newResponseWriter(r, &mu)
	defer func() {
		if v := recover(); v != nil {
			if v != any(http.ErrAbortHandler) {
				r.c.s.fault(fmt.Errorf("faultserver: the handler of %s panicked: %v", r.rec.Path, v))
			}
			r.x.abort()
			err = errGone
		}
	}()
	h.ServeHTTP(w, req)
	return w.finish()
}
