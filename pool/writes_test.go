package pool_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// ledger writes down what is done to sockets.
type ledger struct {
	mu    sync.Mutex
	calls []string // guarded by mu
}

func (l *ledger) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
}

func (l *ledger) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

// tapped is a socket whose writes are written down. Like a *net.TCPConn it can
// take the bytes of a reader by itself.
type tapped struct {
	net.Conn
	l *ledger
}

func (c *tapped) Write(p []byte) (int, error) {
	c.l.add("Write %d", len(p))
	return c.Conn.Write(p)
}

func (c *tapped) ReadFrom(r io.Reader) (int64, error) {
	// A file arrives as one, so that the kernel can send it.
	n, err := c.Conn.(io.ReaderFrom).ReadFrom(r)
	c.l.add("ReadFrom %s %d", readerKind(r), n)
	return n, err
}

// readerKind tells whether the kernel can send the bytes.
func readerKind(r io.Reader) string {
	if l, ok := r.(*io.LimitedReader); ok {
		r = l.R
	}
	if _, ok := r.(*os.File); ok {
		return "file"
	}
	return "reader"
}

func (l *ledger) tap(b *http.Transport) {
	b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &tapped{nc, l}, nil
	}
}

// Each request costs the socket exactly the writes that it costs with
// http.Transport, and what http.Transport lets the socket read by itself, the
// pool does.
func TestTheSocketIsWrittenAsByHTTPTransport(t *testing.T) {
	payload := faultserver.Pattern(100_000)
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() io.Reader {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	bodies := []struct {
		name   string
		make   func() io.Reader
		length int64 // 0: as http.NewRequest finds it; -1: unknown
	}{
		{"none", func() io.Reader { return nil }, 0},
		{"small bytes.Reader", func() io.Reader { return bytes.NewReader(payload[:100]) }, 0},
		{"bytes.Reader", func() io.Reader { return bytes.NewReader(payload) }, 0},
		{"bytes.Buffer", func() io.Reader { return bytes.NewBuffer(slices.Clone(payload)) }, 0},
		{"strings.Reader", func() io.Reader { return strings.NewReader(string(payload)) }, 0},
		{"file of known length", open, int64(len(payload))},
		{"file of unknown length", open, -1},
		{"reader of known length", func() io.Reader { return newOneShot(string(payload)) }, int64(len(payload))},
		{"reader of unknown length", func() io.Reader { return newOneShot(string(payload)) }, -1},
		{"bufio.Reader", func() io.Reader { return bufio.NewReader(newOneShot(string(payload))) }, int64(len(payload))},
	}
	for _, p := range http1s {
		for _, body := range bodies {
			t.Run(p.String()+"/"+body.name, func(t *testing.T) {
				var theirs, ours ledger
				r := newRig(t, faultserver.Config{Protocol: p}, nil)
				ours.tap(r.base)
				std := r.srv.ClientTransport()
				theirs.tap(std)
				send := func(rt http.RoundTripper, l *ledger) []string {
					var calls []string
					for range 2 { // fresh, reused
						req := r.request("PUT", "/", body.make())
						if body.length != 0 {
							req.ContentLength = body.length
						}
						if status, _, err := exchange(rt, req); err != nil || status != 200 {
							t.Fatalf("%d, %v", status, err)
						}
						calls = append(calls, l.take()...)
					}
					return calls
				}
				want, got := send(std, &theirs), send(r.pool, &ours)
				if p == faultserver.TLS {
					// The handshake's messages vary by a byte or two.
					want, got = want[2:], got[2:]
				}
				if !slices.Equal(got, want) {
					t.Errorf("the pool: %q\nhttp.Transport: %q", got, want)
				}
				if p == faultserver.H1 && strings.Contains(body.name, "file of known") && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "file") }) {
					t.Errorf("the file did not reach the socket: %q", got)
				}
			})
		}
	}
}
