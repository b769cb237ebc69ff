package faultserver

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
)

// headers takes a header block: a new request, or trailers.
func (h *h2conn) headers(f *http2.MetaHeadersFrame) error {
	h.mu.Lock()
	st := h.streams[f.StreamID]
	old := f.StreamID <= h.maxID
	ignored := h.goneAway && f.StreamID > h.lastGood
	if !ignored {
		// At once, so that a GOAWAY from now on does not exclude it.
		h.maxID = max(h.maxID, f.StreamID)
	}
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
	h.mu.Lock()
	refused := len(h.streams)-h.endings >= h.limits.streams()
	st.eof = f.StreamEnded()
	st.sendWindow = h.peerWindow
	st.recvWindow, _ = h.granted()
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
		h.Add(hf.Name, hf.Value)
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
