package faultserver

import (
	"fmt"

	"golang.org/x/net/http2"
)

// regrant runs change, which changes limits and unacked, and moves the windows
// of open streams by the difference (RFC 9113, section 6.9.2). The caller holds
// mu.
func (h *h2conn) regrant(change func()) {
	before, _ := h.granted()
	change()
	after, _ := h.granted()
	for _, st := range h.streams {
		st.recvWindow += after - before
	}
}

// granted returns the largest stream window and frame that the client may
// assume. The caller holds mu.
func (h *h2conn) granted() (window, frame int64) {
	window, frame = h.limits.window(), int64(h.limits.frame())
	for _, s := range h.unacked {
		window = max(window, s.window())
		frame = max(frame, int64(s.frame()))
	}
	return window, frame
}

func (h *h2conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.changed.fire()
	if f.StreamID == 0 {
		if h.sendWindow += int64(f.Increment); h.sendWindow > maxWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		return nil
	}
	if st := h.streams[f.StreamID]; st != nil {
		if st.sendWindow += int64(f.Increment); st.sendWindow > maxWindow {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
		}
	}
	return nil
}

// data takes a DATA frame. The connection's window is given back at once, a
// stream's when its script reads.
func (h *h2conn) data(f *http2.DataFrame) error {
	n := int64(f.Length)
	h.mu.Lock()
	h.recvWindow -= n
	st := h.streams[f.StreamID]
	_, most := h.granted()
	broken := n > most || n > 0 && h.recvWindow < 0
	if st != nil {
		st.recvWindow -= n
		broken = broken || n > 0 && st.recvWindow < 0
	}
	idle := f.StreamID > h.maxID && !(h.goneAway && f.StreamID > h.lastGood)
	h.mu.Unlock()
	if broken {
		h.c.s.fault(fmt.Errorf("faultserver: the client of connection %d overran a window or the frame size on stream %d by a DATA frame of %d bytes",
			h.c.n, f.StreamID, n))
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	if idle {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if n > 0 {
		h.mu.Lock()
		h.recvWindow += n
		h.mu.Unlock()
		if err := h.write(func() error { return h.fr.WriteWindowUpdate(0, uint32(n)) }); err != nil {
			return err
		}
	}
	if st == nil {
		return nil
	}
	body := f.Data()
	h.mu.Lock()
	ended := st.eof
	h.mu.Unlock()
	if ended {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
	}
	// The record comes before the script can know.
	h.c.s.update(st.rec, func(r *Request) {
		r.BodyBytes += int64(len(body))
		r.BodyDone = f.StreamEnded()
	})
	h.mu.Lock()
	st.buf = append(st.buf, body...)
	st.eof = f.StreamEnded()
	h.changed.fire()
	h.mu.Unlock()
	if padding := n - int64(len(body)); padding > 0 && !f.StreamEnded() {
		return h.giveBack(st, padding)
	}
	return nil
}

// giveBack lets the client send n more bytes on a stream.
func (h *h2conn) giveBack(st *h2stream, n int64) error {
	h.mu.Lock()
	open := h.streams[st.id] == st && !st.eof
	st.recvWindow += n
	h.mu.Unlock()
	if !open {
		return nil
	}
	return h.write(func() error { return h.fr.WriteWindowUpdate(st.id, uint32(n)) })
}
