package faultserver

import (
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
)

// outLimit is how many bytes are held before the first of them are written, and
// holdTail how many then stay: what ends a response must be written by end.
const (
	outLimit = 32 << 10
	holdTail = 16 << 10
)

// holdLimit is how many body bytes are held so that their number can become the
// Content-Length.
const holdLimit = 4 << 10

func (x *h1exchange) interim(status int, h http.Header) error {
	x.expects = x.expects && status != http.StatusContinue
	x.out = appendHead(x.out, status, "", h)
	return x.flush()
}

func (x *h1exchange) respond(h Header) error {
	if x.begun {
		return fmt.Errorf("faultserver: a second Header in one script")
	}
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	x.begun = true
	x.declared = -1
	x.mute = x.req.Method == http.MethodHead || h.Status == http.StatusNoContent || h.Status == http.StatusNotModified
	x.closing = x.req.Close || !x.req.ProtoAtLeast(1, 1) && !strings.EqualFold(x.req.Header.Get("Connection"), "keep-alive")
	for _, v := range h.Header["Connection"] {
		x.closing = x.closing || strings.EqualFold(v, "close")
	}
	x.head = &h
	if h.Framing != Auto || len(h.Header["Content-Length"]) > 0 || len(h.Header["Transfer-Encoding"]) > 0 {
		x.encodeHead(false)
	}
	return nil
}

// encodeHead turns the held header into bytes. whole says that the held body is
// all there will be.
func (x *h1exchange) encodeHead(whole bool) {
	h := x.head
	x.head = nil
	x.framing = h.Framing
	extra := http.Header{}
	switch {
	case len(h.Header["Content-Length"]) > 0:
		x.framing = Auto
		if n, err := strconv.ParseInt(h.Header["Content-Length"][0], 10, 64); err == nil {
			x.declared = n
		}
	case len(h.Header["Transfer-Encoding"]) > 0:
		x.framing = Chunked
	case x.framing == Auto && x.mute && !whole:
	case x.framing == Auto && whole && len(x.trailers) == 0:
		if h.Status != http.StatusNoContent && h.Status != http.StatusNotModified {
			x.declared = int64(len(x.hold))
			extra.Set("Content-Length", strconv.Itoa(len(x.hold)))
		}
	case x.framing == UntilClose, !x.req.ProtoAtLeast(1, 1):
		x.framing = UntilClose
		x.closing = true
	default:
		x.framing = Chunked
		if !x.mute {
			extra.Set("Transfer-Encoding", "chunked")
		}
	}
	if x.closing && len(h.Header["Connection"]) == 0 {
		extra.Set("Connection", "close")
	}
	if len(x.trailers) > 0 && len(h.Header["Trailer"]) == 0 && x.framing == Chunked {
		extra.Set("Trailer", strings.Join(sortedKeys(x.trailers), ", "))
	}
	x.out = appendHead(x.out, h.Status, h.Reason, h.Header, extra)
	hold := x.hold
	x.hold = nil
	x.encode(hold)
}

// encode frames body bytes.
func (x *h1exchange) encode(p []byte) {
	if len(p) == 0 {
		return
	}
	x.sent += int64(len(p))
	switch {
	case x.mute:
	case x.framing == Chunked:
		x.out = fmt.Appendf(x.out, "%x\r\n", len(p))
		x.out = append(x.out, p...)
		x.out = append(x.out, "\r\n"...)
	default:
		x.out = append(x.out, p...)
	}
}

func (x *h1exchange) write(p []byte) error {
	if x.opaque {
		x.out = append(x.out, p...)
		return x.spill()
	}
	if x.head != nil {
		if len(x.hold)+len(p) <= holdLimit {
			x.hold = append(x.hold, p...)
			return nil
		}
		x.encodeHead(false)
	}
	x.encode(p)
	return x.spill()
}

// spill writes when much is held, but never the last bytes.
func (x *h1exchange) spill() error {
	if len(x.out) <= outLimit {
		return nil
	}
	return x.send(len(x.out) - holdTail)
}

func (x *h1exchange) trailer(h http.Header) error {
	x.trailers = h
	return nil
}

func (x *h1exchange) flush() error {
	if x.head != nil {
		x.encodeHead(false)
	}
	return x.send(len(x.out))
}

// send writes the first n held bytes.
func (x *h1exchange) send(n int) error {
	if n == 0 {
		return nil
	}
	_, err := x.c.app.Write(x.out[:n])
	x.out = append([]byte(nil), x.out[n:]...)
	return err
}

// finishBody encodes what is left of the response.
func (x *h1exchange) finishBody() error {
	if x.head != nil {
		x.encodeHead(true)
	}
	if x.framing == Chunked && !x.mute {
		x.out = append(x.out, "0\r\n"...)
		for _, k := range sortedKeys(x.trailers) {
			for _, v := range x.trailers[k] {
				x.out = append(x.out, k+": "+v+"\r\n"...)
			}
		}
		x.out = append(x.out, "\r\n"...)
	}
	return nil
}

func (x *h1exchange) half(h HalfHeader) error {
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	text := appendHead(nil, h.Status, h.Reason, h.Header.Header)
	n := h.Bytes
	if n <= 0 || n > len(text) {
		n = len(text) / 2
	}
	return x.raw(text[:n], false)
}

func (x *h1exchange) malformed() error {
	return x.raw([]byte("THIS IS NOT HTTP\r\n\r\n"), false)
}

func (x *h1exchange) raw(p []byte, belowTLS bool) error {
	if err := x.flush(); err != nil {
		return err
	}
	x.begun = true
	x.opaque = true
	if belowTLS {
		return x.c.writeRaw(p, true)
	}
	x.out = append(x.out, p...)
	return x.spill()
}

// appendHead appends a status line and header fields, sorted by name.
func appendHead(b []byte, status int, reason string, headers ...http.Header) []byte {
	if reason == "" {
		reason = http.StatusText(status)
	}
	b = fmt.Appendf(b, "HTTP/1.1 %03d %s\r\n", status, reason)
	for _, h := range headers {
		for _, k := range sortedKeys(h) {
			for _, v := range h[k] {
				b = append(b, k+": "+v+"\r\n"...)
			}
		}
	}
	return append(b, "\r\n"...)
}

func sortedKeys(h http.Header) []string {
	keys := make([]string, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
