package faultserver

import (
	"errors"
	"io"
	"net/http"
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

	ending     bool   // its last frames are being written; guarded by h2conn.mu
	buf        []byte // body received and not read; guarded by h2conn.mu
	eof        bool   // END_STREAM has arrived; guarded by h2conn.mu
	sendWindow int64  // guarded by h2conn.mu
	recvWindow int64  // guarded by h2conn.mu
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
	if h.streams[st.id] == st && !st.ending {
		// The client may open the next stream as soon as it has the frames.
		st.ending = true
		h.endings++
	}
	h.mu.Unlock()
	h.c.lastBytes()
	err := h.write(func() error {
		if err := f(); err != nil || !unread {
			return err
		}
		return h.fr.WriteRSTStream(st.id, http2.ErrCodeNo)
	})
	if err == nil {
		h.c.s.update(st.rec, func(r *Request) { r.Answered = true })
	}
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
	return st.send(end, func() error {
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

// send writes frames, with end those that end the response.
func (st *h2stream) send(end bool, f func() error) error {
	if end {
		return st.finish(f)
	}
	return st.h.write(f)
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
			case "connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection":
				continue // RFC 9113, section 8.2.2
			}
			for _, v := range hd[k] {
				h.henc.WriteField(hpack.HeaderField{Name: name, Value: v})
			}
		}
	}
	return h.hbuf.Bytes()
}
