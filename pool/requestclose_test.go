package pool

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// stuckBody is a request's body that gives a few bytes and then blocks until
// it is closed, as a pipe does.
type stuckBody struct {
	first  io.Reader
	once   sync.Once
	freed  chan struct{}
	closed atomic.Int32
}

func (b *stuckBody) Read(p []byte) (int, error) {
	if n, err := b.first.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	<-b.freed
	return 0, io.ErrClosedPipe
}

func (b *stuckBody) Close() error {
	b.closed.Add(1)
	b.once.Do(func() { close(b.freed) })
	return nil
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }

// An answer can come while the request's body is still being read, or before
// that has begun. Whatever becomes of the connection, the body is closed once,
// though net/http hangs in its Read and nothing else would wake it.
func TestTheBodyOfARequestThatWasAnsweredEarlyIsClosed(t *testing.T) {
	early := func(status int, fields ...string) faultserver.Header {
		h := faultserver.Header{Status: status, Header: http.Header{"Content-Length": {"5"}}}
		for i := 0; i < len(fields); i += 2 {
			h.Header.Set(fields[i], fields[i+1])
		}
		return h
	}
	type answer struct {
		name   string
		on     []faultserver.Protocol
		script func(more <-chan struct{}) faultserver.Script
		expect bool // the request expects 100-continue
		caller string
	}
	all := faultserver.Protocols()
	h1 := []faultserver.Protocol{faultserver.H1, faultserver.TLS}
	h2 := []faultserver.Protocol{faultserver.H2, faultserver.H2C}
	body := faultserver.Body{Data: []byte("early")}
	whole := func(<-chan struct{}) faultserver.Script {
		return faultserver.Do(early(403), body)
	}
	half := func(more <-chan struct{}) faultserver.Script {
		return faultserver.Do(early(403), faultserver.Body{Data: []byte("ea")}, faultserver.Flush{}, faultserver.Wait{Until: more}, faultserver.Kill{How: faultserver.FIN})
	}
	for _, a := range []answer{
		{name: "whole answer, read", on: all, script: whole, caller: "reads"},
		{name: "whole answer, closed", on: all, script: whole, caller: "closes"},
		{name: "Connection: close", on: h1, script: func(<-chan struct{}) faultserver.Script {
			return faultserver.Do(early(403, "Connection", "close"), body)
		}, caller: "reads"},
		{name: "an answer without a body", on: all, script: func(<-chan struct{}) faultserver.Script {
			return faultserver.Do(faultserver.Header{Status: 204})
		}, caller: "reads"},
		{name: "an answer without a body, then the end", on: all, script: func(<-chan struct{}) faultserver.Script {
			return faultserver.Do(faultserver.Header{Status: 204, Header: http.Header{"Connection": {"close"}}})
		}, caller: "reads"},
		{name: "answer, then FIN", on: all, script: func(<-chan struct{}) faultserver.Script { return faultserver.Early(403, faultserver.FIN) }, caller: "reads"},
		{name: "answer, then reset", on: all, script: func(<-chan struct{}) faultserver.Script { return faultserver.Early(403, faultserver.RST) }, caller: "reads"},
		{name: "half an answer, then the end", on: all, script: half, caller: "reads"},
		{name: "half an answer, canceled", on: all, script: half, caller: "cancels"},
		{name: "half an answer, closed", on: all, script: half, caller: "closes"},
		{name: "half an answer, the pool closed", on: all, script: half, caller: "closes the pool"},
		{name: "RST_STREAM(NO_ERROR)", on: h2, script: func(<-chan struct{}) faultserver.Script {
			return faultserver.Do(early(403), body, faultserver.Flush{}, faultserver.Reset{Code: http2.ErrCodeNo})
		}, caller: "reads"},
		{name: "100-continue refused", on: all, expect: true, script: whole, caller: "reads"},
		{name: "100-continue refused, then the end", on: all, expect: true, script: func(<-chan struct{}) faultserver.Script {
			return faultserver.Early(417, faultserver.FIN)
		}, caller: "reads"},
		{name: "100-continue refused, canceled", on: all, expect: true, script: half, caller: "cancels"},
	} {
		for _, p := range a.on {
			for _, first := range []io.Reader{emptyReader{}, io.LimitReader(zeros{}, 1<<20)} {
				t.Run(fmt.Sprintf("%s/%v/%T", a.name, p, first), func(t *testing.T) {
					inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, _ *Config) {
						b.ExpectContinueTimeout = 1 << 40
					}, func(w *world) {
						w.park(1)
						more := make(chan struct{})
						w.srv.Next(a.script(more))
						ctx, cancel := context.WithCancel(w.Context())
						defer cancel()
						b := &stuckBody{first: first, freed: make(chan struct{})}
						req, err := http.NewRequestWithContext(ctx, "POST", w.srv.URL("/"), b)
						if err != nil {
							w.Fatal(err)
						}
						if a.expect {
							req.Header.Set("Expect", "100-continue")
						}
						resp, err := w.pool.RoundTrip(req)
						if err == nil {
							switch a.caller {
							case "cancels":
								cancel()
							case "closes":
								resp.Body.Close()
							case "closes the pool":
								w.pool.Close()
							}
							close(more)
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						} else if resp != nil {
							w.Errorf("both a response and %v", err)
						}
						synctest.Wait()
						if n := b.closed.Load(); n != 1 {
							w.Errorf("closed %d times (the answer was %v)", n, err)
							b.once.Do(func() { close(b.freed) })
						}
					})
				})
			}
		}
	}
}

// zeros reads as zeros without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
