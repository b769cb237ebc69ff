package faultserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2stream is one request on an HTTP/2 connection.
type h2stream struct {
	h    *h2conn
	id   uint32
	req  *http.Request
	rec  *Request
	gone chan struct{} // closed when the stream is over

	buf        []byte // body received and not read; guarded by h2conn.mu
	eof        bool   // END_STREAM has arrived; guarded by h2conn.mu
	sendWindow int64  // guarded by h2conn.mu
	recvWindow int64  // guarded by h2conn.mu
}

// headers takes a header block: a new request, or trailers.
func (h *h2conn) headers(f *http2.MetaHeadersFrame) error {
	h.mu.Lock()
	st := h.streams[f.StreamID]
	old := f.StreamID <= h.maxID
	ignored := h.goneAway && f.StreamID > h.lastGood
	h.mu.Unlock()
	switch {
	case st != nil:
		return h.trailers(st, f)
	case f.StreamID%2 == 0:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	case old, ignored:
		return nil // of a stream that was reset, or that GOAWAY has excluded
	}
	if h.raced() {
		return errKilled
	}
	req, err := newRequest(f)
	if err != nil {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	}
	st = &h2stream{h: h, id: f.StreamID, req: req, gone: make(chan struct{})}
	st.rec = h.c.s.record(h.c, req, st.id)
	if f.StreamEnded() {
		h.c.s.update(st.rec, func(r *Request) { r.BodyDone = true })
	}
	h.c.beginRequest()
	h.mu.Lock()
	refused := len(h.streams) >= h.limits.streams()
	h.maxID = f.StreamID
	st.eof = f.StreamEnded()
	st.sendWindow = h.peerWindow
	st.recvWindow = h.offered().window()
	h.streams[st.id] = st
	h.mu.Unlock()
	if refused {
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeRefusedStream}
	}
	h.c.s.wg.Go(st.run)
	return nil
}

// raced ends the connection if RaceIdle has armed it.
func (h *h2conn) raced() bool {
	h.c.s.mu.Lock()
	race := h.race
	h.race = nil
	h.c.s.mu.Unlock()
	if race == nil {
		return false
	}
	h.c.killRaced(*race)
	return true
}

func (h *h2conn) trailers(st *h2stream, f *http2.MetaHeadersFrame) error {
	if !f.StreamEnded() {
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	trailer := fieldsOf(f)
	h.c.s.update(st.rec, func(r *Request) {
		r.BodyDone = true
		r.Trailer = trailer.Clone()
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	st.eof = true
	st.req.Trailer = trailer
	h.changed.fire()
	return nil
}

// fieldsOf returns the regular fields of a header block.
func fieldsOf(f *http2.MetaHeadersFrame) http.Header {
	h := http.Header{}
	for _, hf := range f.RegularFields() {
		h.Add(http.CanonicalHeaderKey(hf.Name), hf.Value)
	}
	return h
}

func newRequest(f *http2.MetaHeadersFrame) (*http.Request, error) {
	h := fieldsOf(f)
	if c := h["Cookie"]; len(c) > 1 {
		h.Set("Cookie", strings.Join(c, "; ")) // RFC 9113, section 8.2.3
	}
	req := &http.Request{
		Method: f.PseudoValue("method"), Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: h, Host: f.PseudoValue("authority"), RequestURI: f.PseudoValue("path"),
		ContentLength: -1,
	}
	if req.Host == "" {
		req.Host = h.Get("Host")
	}
	if req.Method == http.MethodConnect && req.RequestURI == "" {
		req.URL = &url.URL{Host: req.Host}
		req.RequestURI = req.Host
	} else {
		u, err := url.ParseRequestURI(req.RequestURI)
		if err != nil {
			return nil, err
		}
		req.URL = u
	}
	if req.Method == "" {
		return nil, errors.New("faultserver: no :method")
	}
	if v := h.Get("Content-Length"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, err
		}
		req.ContentLength = n
	}
	if f.StreamEnded() {
		req.Body = http.NoBody
		req.ContentLength = 0
	} else {
		req.Body = io.NopCloser(strings.NewReader("")) // replaced for handlers; not http.NoBody
	}
	return req, nil
}

// run runs the request's script.
func (st *h2stream) run() {
	c := st.h.c
	x := &h2exchange{st: st, expects: strings.EqualFold(st.req.Header.Get("Expect"), "100-continue")}
	r := run{c: c, x: x, rec: st.rec}
	err := r.script(c.s.requestScript(st.rec.snapshot(c.s)))
	if err != nil && !errors.Is(err, errGone) && !errors.Is(err, errKilled) {
		st.h.resetStream(st.id, http2.ErrCodeInternal)
	}
	st.h.forget(st)
}

// read waits for body bytes.
func (st *h2stream) read(p []byte) (int, error) {
	h := st.h
	for {
		h.mu.Lock()
		if n := copy(p, st.buf); n > 0 {
			st.buf = st.buf[n:]
			if len(st.buf) == 0 {
				st.buf = nil
			}
			h.mu.Unlock()
			return n, h.giveBack(st, int64(n))
		}
		eof := st.eof
		changed := h.changed.wait()
		h.mu.Unlock()
		if eof {
			return 0, io.EOF
		}
		if !h.c.waitFor(changed, st.gone) {
			return 0, errGone
		}
	}
}

// writeData sends body bytes as the windows allow. With last the final frame
// carries END_STREAM, and closed is called around it.
func (st *h2stream) writeData(p []byte, last bool) error {
	h := st.h
	for len(p) > 0 || last {
		h.mu.Lock()
		if h.streams[st.id] != st {
			h.mu.Unlock()
			return errGone
		}
		n := int(min(int64(len(p)), h.sendWindow, st.sendWindow, int64(h.peerFrame)))
		if n <= 0 && len(p) > 0 {
			changed := h.changed.wait()
			h.mu.Unlock()
			if !h.c.waitFor(changed, st.gone) {
				return errGone
			}
			continue
		}
		h.sendWindow -= int64(n)
		st.sendWindow -= int64(n)
		h.mu.Unlock()
		piece := p[:n]
		p = p[n:]
		if last && len(p) == 0 {
			return st.finish(func() error { return h.fr.WriteData(st.id, true, piece) })
		}
		if err := h.write(func() error { return h.fr.WriteData(st.id, false, piece) }); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the frames that end the response and closes the stream. If the
// client has not ended its side it is told to stop (RFC 9113, section 8.1).
func (st *h2stream) finish(f func() error) error {
	h := st.h
	h.mu.Lock()
	unread := !st.eof
	h.mu.Unlock()
	h.c.lastBytes()
	err := h.write(func() error {
		if err := f(); err != nil || !unread {
			return err
		}
		return h.fr.WriteRSTStream(st.id, http2.ErrCodeNo)
	})
	if h.remove(st) {
		h.c.requestOver(true)
	} else {
		h.c.notLast()
	}
	return err
}

// writeHeaders sends a header block, in as many frames as it needs.
func (st *h2stream) writeHeaders(status string, end bool, headers ...http.Header) error {
	h := st.h
	h.mu.Lock()
	frame := h.peerFrame
	h.mu.Unlock()
	return h.writeLocked(end, st, func() error {
		block := h.encode(status, headers...)
		first := block[:min(len(block), frame)]
		block = block[len(first):]
		err := h.fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: st.id, BlockFragment: first, EndStream: end, EndHeaders: len(block) == 0,
		})
		for err == nil && len(block) > 0 {
			next := block[:min(len(block), frame)]
			block = block[len(next):]
			err = h.fr.WriteContinuation(st.id, len(block) == 0, next)
		}
		return err
	})
}

func (h *h2conn) writeLocked(end bool, st *h2stream, f func() error) error {
	if end {
		return st.finish(f)
	}
	return h.write(f)
}

// encode returns a header block, valid until the next one. The caller holds
// wmu. An empty status stands for trailers.
func (h *h2conn) encode(status string, headers ...http.Header) []byte {
	h.hbuf.Reset()
	if status != "" {
		h.henc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	}
	for _, hd := range headers {
		for _, k := range sortedKeys(hd) {
			name := strings.ToLower(k)
			switch name {
			case "connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection", "trailer":
				continue // RFC 9113, section 8.2.2
			}
			for _, v := range hd[k] {
				h.henc.WriteField(hpack.HeaderField{Name: name, Value: v})
			}
		}
	}
	return h.hbuf.Bytes()
}

// h2exchange is a request on HTTP/2.
type h2exchange struct {
	st       *h2stream
	expects  bool
	begun    bool
	opaque   bool // raw bytes were written: nothing is added
	head     *Header
	hold     []byte // body bytes not yet sent
	mute     bool
	trailers http.Header
}

func (x *h2exchange) request() *http.Request { return x.st.req }
func (x *h2exchange) over() <-chan struct{}  { return x.st.gone }
func (x *h2exchange) answered() bool         { return x.begun }

func (x *h2exchange) prepare(withhold bool) error {
	if x.expects {
		x.expects = false
		if !withhold && !x.begun {
			return x.st.writeHeaders("100", false)
		}
	}
	return x.flush()
}

func (x *h2exchange) read(p []byte) (int, error) { return x.st.read(p) }

func (x *h2exchange) interim(status int, h http.Header) error {
	x.expects = x.expects && status != http.StatusContinue
	return x.st.writeHeaders(strconv.Itoa(status), false, h)
}

func (x *h2exchange) respond(h Header) error {
	if x.begun {
		return fmt.Errorf("faultserver: a second Header in one script")
	}
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	x.begun = true
	x.mute = x.st.req.Method == http.MethodHead || h.Status == http.StatusNoContent || h.Status == http.StatusNotModified
	x.head = &h
	return nil
}

func (x *h2exchange) write(p []byte) error {
	if x.mute && x.head == nil {
		return nil
	}
	x.hold = append(x.hold, p...)
	if len(x.hold) <= outLimit {
		return nil
	}
	return x.sendHeld(len(x.hold) - 1)
}

func (x *h2exchange) flush() error { return x.sendHeld(len(x.hold)) }

// sendHeld sends the held header and n bytes of the held body.
func (x *h2exchange) sendHeld(n int) error {
	if x.head != nil {
		h := x.head
		x.head = nil
		if err := x.st.writeHeaders(strconv.Itoa(h.Status), false, h.Header); err != nil {
			return err
		}
	}
	if x.mute {
		x.hold = nil
		return nil
	}
	p := x.hold[:n]
	x.hold = append([]byte(nil), x.hold[n:]...)
	return x.st.writeData(p, false)
}

func (x *h2exchange) trailer(h http.Header) error {
	x.trailers = h
	return nil
}

func (x *h2exchange) half(h HalfHeader) error {
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	return x.rawBlock(strconv.Itoa(h.Status), h.Header.Header, h.Bytes, true)
}

func (x *h2exchange) malformed() error { return x.rawBlock("abc", nil, 0, false) }

// rawBlock writes a HEADERS frame, or the first n bytes of it (0: half).
func (x *h2exchange) rawBlock(status string, header http.Header, n int, partly bool) error {
	x.begun = true
	x.opaque = true
	h := x.st.h
	return h.write(func() error {
		var frame strings.Builder
		fr := http2.NewFramer(&frame, nil)
		err := fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: x.st.id, BlockFragment: h.encode(status, header), EndHeaders: true,
		})
		if err != nil {
			return err
		}
		text := frame.String()
		if partly {
			if n <= 0 || n > len(text) {
				n = len(text) / 2
			}
			text = text[:n]
		}
		_, err = io.WriteString(h.c.app, text)
		return err
	})
}

func (x *h2exchange) raw(p []byte, belowTLS bool) error {
	if err := x.flush(); err != nil {
		return err
	}
	x.begun = true
	x.opaque = true
	return x.st.h.c.writeRaw(p, belowTLS)
}

func (x *h2exchange) reset(code http2.ErrCode) error { return x.st.h.resetStream(x.st.id, code) }

func (x *h2exchange) endUnread(How) error { return nil }

func (x *h2exchange) abort() { x.st.h.resetStream(x.st.id, http2.ErrCodeInternal) }

func (x *h2exchange) end() error {
	if x.opaque {
		return nil
	}
	if x.head != nil && len(x.head.Header["Content-Length"]) == 0 && x.head.Framing == Auto &&
		len(x.trailers) == 0 && x.head.Status != http.StatusNoContent && x.head.Status != http.StatusNotModified {
		h := x.head.Header.Clone()
		if h == nil {
			h = http.Header{}
		}
		h.Set("Content-Length", strconv.Itoa(len(x.hold)))
		x.head.Header = h
	}
	if x.mute {
		x.hold = nil
	}
	if len(x.hold) == 0 && x.head != nil && len(x.trailers) == 0 {
		return x.st.writeHeaders(strconv.Itoa(x.head.Status), true, x.head.Header)
	}
	if len(x.trailers) > 0 {
		if err := x.flush(); err != nil {
			return err
		}
		return x.st.writeHeaders("", true, x.trailers)
	}
	hold := x.hold
	if err := x.sendHeld(0); err != nil {
		return err
	}
	return x.st.writeData(hold, true)
}
