package main

import (
	"io"
	"net/http"
	"sync/atomic"
)

// failures decides which requests fail: a share of them, always the same ones
// after a reset.
type failures struct {
	percent uint64
	seen    atomic.Uint64
}

func (f *failures) reset(percent int) {
	f.percent = uint64(percent) //nolint:gosec // 0 to 100
	f.seen.Store(0)
}

// next counts a request and reports whether it fails.
func (f *failures) next() bool {
	n := f.seen.Add(1)
	if f.percent == 0 {
		return false
	}
	// The finalizer of splitmix64 spreads the failures.
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	n ^= n >> 31
	return n%100 < f.percent
}

// answering is the bare RoundTripper: it answers every request from memory.
type answering struct{ *failures }

var answerHeader = http.Header{"Content-Type": {"text/plain"}, "Content-Length": {"2"}}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	resp := &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answerHeader, ContentLength: 2, Request: req, Body: &okBody{},
	}
	if a.next() {
		resp.Status, resp.StatusCode = "503 Service Unavailable", http.StatusServiceUnavailable
	}
	return resp, nil
}

// okBody is a body of two bytes.
type okBody struct{ read bool }

func (b *okBody) Read(p []byte) (int, error) {
	if b.read || len(p) < 2 {
		return 0, io.EOF
	}
	b.read = true
	return copy(p, "ok"), io.EOF
}

func (*okBody) Close() error { return nil }
