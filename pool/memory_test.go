package pool

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// What an idle connection costs, against http.Transport with the same server,
// whose own share is small: it holds nothing but the socket.
func BenchmarkIdleConnection(b *testing.B) {
	for _, who := range []string{"transport", "pool"} {
		b.Run(who, func(b *testing.B) {
			for range b.N {
				b.ReportMetric(idleConnectionBytes(b, who == "pool", 1000), "B/conn")
			}
		})
	}
}

func TestAnIdleConnectionTakesHardlyMoreThanOneOfHTTPTransport(t *testing.T) {
	idleConnectionBytes(t, false, 500) // what the runtime keeps for later
	transport := idleConnectionBytes(t, false, 500)
	pool := idleConnectionBytes(t, true, 500)
	t.Logf("%.0f bytes, http.Transport %.0f: %.3f", pool, transport, pool/transport)
	if pool > 1.1*transport {
		t.Errorf("%.0f bytes, more than 1.1 times http.Transport's %.0f", pool, transport)
	}
}

// idleConnectionBytes returns the heap and stack that one of n idle
// connections takes. They are opened one after the other, from one goroutine:
// the runtime counts whole spans of stacks, and those of goroutines that end
// among others that stay would leave holes whose number is the scheduler's.
func idleConnectionBytes(t testing.TB, pooled bool, n int) float64 {
	t.Helper()
	ln := memconn.ListenConfig{Buffer: 512, Backlog: n}.Listen()
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			answerOnce(c)
		}
	}()
	base := &http.Transport{DialContext: ln.DialContext, MaxIdleConnsPerHost: n}
	var rt http.RoundTripper = base
	if pooled {
		p, err := New(Config{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		rt = p
	}
	unread := make([]io.ReadCloser, n) // as long as it is, its connection does not idle
	before := memoryInUse()
	for i := range unread {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://mem.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		unread[i] = resp.Body
	}
	for _, body := range unread {
		io.Copy(io.Discard, body)
		body.Close()
	}
	clear(unread)
	after := memoryInUse()
	base.CloseIdleConnections()
	return float64(after-before) / float64(n)
}

// answerOnce answers one request and leaves the connection open.
func answerOnce(c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReaderSize(c, 16))
	if err != nil {
		return
	}
	req.Body.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

func memoryInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
