package faultserver

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
)

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
	return x.sendHeld(len(x.hold) - holdTail)
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
			h.torn = true
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
		x.st.h.c.s.update(x.st.rec, func(r *Request) { r.Answered = true })
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
