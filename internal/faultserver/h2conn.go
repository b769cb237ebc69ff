package faultserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2conn is the server side of one HTTP/2 connection, frame by frame. One
// goroutine reads frames; each stream has a goroutine for its script.
//
// Lock order: wmu and mu are never held together with each other or with
// Server.mu.
type h2conn struct {
	c  *conn
	br *bufio.Reader
	fr *http2.Framer // read by serve alone, written under wmu

	wmu  sync.Mutex     // held while a frame is written
	henc *hpack.Encoder // writes into hbuf; guarded by wmu
	hbuf bytes.Buffer   // guarded by wmu
	torn bool           // half a frame was written: whatever came next would be taken for its rest; guarded by wmu

	race *How // how to end at the next request; nil: not armed; guarded by Server.mu

	mu         sync.Mutex
	changed    signal               // fired when a window grows or a stream changes
	streams    map[uint32]*h2stream // open ones; guarded by mu
	endings    int                  // those of streams that are ending; guarded by mu
	maxID      uint32               // highest stream that has arrived; guarded by mu
	goneAway   bool                 // GOAWAY was sent; guarded by mu
	lastGood   uint32               // its last stream id; guarded by mu
	sendWindow int64                // bytes that may be sent on the connection; guarded by mu
	recvWindow int64                // bytes that the client may send; guarded by mu
	peerWindow int64                // the client's SETTINGS_INITIAL_WINDOW_SIZE; guarded by mu
	peerFrame  int                  // the client's SETTINGS_MAX_FRAME_SIZE; guarded by mu
	limits     Settings             // acknowledged by the client; guarded by mu
	unacked    []Settings           // sent, not yet acknowledged; guarded by mu
}

func newH2(c *conn, br *bufio.Reader) *h2conn {
	h := &h2conn{
		c: c, br: br,
		fr:         http2.NewFramer(c.app, br),
		streams:    map[uint32]*h2stream{},
		sendWindow: defaultWindow, recvWindow: defaultWindow,
		peerWindow: defaultWindow, peerFrame: minFrame,
	}
	h.henc = hpack.NewEncoder(&h.hbuf)
	h.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.fr.SetMaxReadFrameSize(maxFrame) // data compares with what was granted
	// Until the client has seen SETTINGS it may open as many streams as it
	// likes.
	h.limits = Settings{MaxConcurrentStreams: 1 << 30}
	return h
}

// serve reads frames until the connection is over.
func (h *h2conn) serve() {
	if !h.c.settings.Withhold {
		if err := h.sendSettings(h.c.settings); err != nil {
			return
		}
	}
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(h.br, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	h.c.setReady("HTTP/2.0", h, false)
	for {
		f, err := h.fr.ReadFrame()
		if err == nil {
			err = h.handle(f)
		}
		if err == nil {
			continue
		}
		if se, ok := errors.AsType[http2.StreamError](err); ok {
			h.resetStream(se.StreamID, se.Code)
			continue
		}
		if ce, ok := errors.AsType[http2.ConnectionError](err); ok {
			h.goAway(http2.ErrCode(ce), func(highest uint32) uint32 { return highest }, err.Error())
			h.c.kill(FIN)
		}
		return
	}
}

func (h *h2conn) handle(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return h.headers(f)
	case *http2.DataFrame:
		return h.data(f)
	case *http2.WindowUpdateFrame:
		return h.windowUpdate(f)
	case *http2.SettingsFrame:
		return h.peerSettings(f)
	case *http2.PingFrame:
		return h.ping(f)
	case *http2.RSTStreamFrame:
		h.mu.Lock()
		st := h.streams[f.StreamID]
		h.mu.Unlock()
		if st != nil {
			h.c.s.update(st.rec, func(r *Request) { r.Canceled = true })
			h.forget(st)
		}
	case *http2.GoAwayFrame:
		h.c.s.mu.Lock()
		h.c.goAway = true
		h.c.s.changed.fire()
		h.c.s.mu.Unlock()
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

func (h *h2conn) ping(f *http2.PingFrame) error {
	if f.IsAck() {
		return nil
	}
	h.c.s.mu.Lock()
	h.c.pings++
	h.c.s.changed.fire()
	h.c.s.mu.Unlock()
	if h.c.settings.IgnorePings {
		return nil
	}
	return h.write(func() error { return h.fr.WritePing(true, f.Data) })
}

func (h *h2conn) peerSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.unacked) == 0 {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		h.regrant(func() {
			h.limits = h.unacked[0]
			h.unacked = h.unacked[1:]
		})
		return nil
	}
	table := int64(-1)
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		switch s.ID {
		case http2.SettingInitialWindowSize:
			delta := int64(s.Val) - h.peerWindow
			h.peerWindow = int64(s.Val)
			for _, st := range h.streams {
				st.sendWindow += delta
			}
			h.changed.fire()
		case http2.SettingMaxFrameSize:
			h.peerFrame = int(s.Val)
		case http2.SettingHeaderTableSize:
			table = int64(s.Val)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.write(func() error {
		if table >= 0 {
			h.henc.SetMaxDynamicTableSizeLimit(uint32(table))
			h.henc.SetMaxDynamicTableSize(min(uint32(table), 4096))
		}
		return h.fr.WriteSettingsAck()
	})
}

// sendSettings sends SETTINGS. A larger window or frame counts at once, a
// smaller one, and the limit of streams, when the client has acknowledged it.
func (h *h2conn) sendSettings(s Settings) error {
	h.mu.Lock()
	h.regrant(func() { h.unacked = append(h.unacked, s) })
	h.mu.Unlock()
	return h.write(func() error { return h.fr.WriteSettings(s.list()...) })
}

// write runs f, which writes frames, under wmu.
func (h *h2conn) write(f func() error) error {
	h.wmu.Lock()
	defer h.wmu.Unlock()
	if h.torn {
		return nil
	}
	return f()
}

// raw writes bytes between two frames.
func (h *h2conn) raw(p []byte) error {
	return h.write(func() error {
		_, err := h.c.app.Write(p)
		return err
	})
}

// goAway sends GOAWAY with the last stream id that pick chooses, given the
// highest that has arrived. Later streams above it are ignored.
func (h *h2conn) goAway(code http2.ErrCode, pick func(highest uint32) uint32, debug string) error {
	h.mu.Lock()
	last := pick(h.maxID)
	if h.goneAway {
		last = min(last, h.lastGood) // RFC 9113, section 6.8: it must not grow
	}
	h.goneAway = true
	h.lastGood = last
	h.mu.Unlock()
	return h.write(func() error { return h.fr.WriteGoAway(last, code, []byte(debug)) })
}

// forget ends a stream without a frame.
func (h *h2conn) forget(st *h2stream) {
	if h.remove(st) {
		h.c.requestOver(false)
	}
}

// remove takes a stream out; only the first call for a stream reports true.
func (h *h2conn) remove(st *h2stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[st.id] != st {
		return false
	}
	delete(h.streams, st.id)
	if st.ending {
		h.endings--
	}
	close(st.gone)
	h.changed.fire()
	return true
}

// resetStream sends RST_STREAM and ends the stream if it is open.
func (h *h2conn) resetStream(id uint32, code http2.ErrCode) error {
	h.mu.Lock()
	st := h.streams[id]
	h.mu.Unlock()
	h.c.lastBytes()
	err := h.write(func() error { return h.fr.WriteRSTStream(id, code) })
	if st != nil && h.remove(st) {
		h.c.requestOver(true)
	} else {
		h.c.notLast()
	}
	return err
}
