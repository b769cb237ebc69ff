package faultserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// tap is a client socket that remembers all bytes it has read.
type tap struct {
	net.Conn
	mu  sync.Mutex
	got []byte // guarded by mu
	err error  // the last read's; guarded by mu
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = append(t.got, p[:n]...)
	if err != nil {
		t.err = err
	}
	return n, err
}

func (t *tap) seen() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.got), t.err
}

// rawClient speaks to a server byte by byte, below HTTP.
type rawClient struct {
	t    *testing.T
	sock *tap     // the bytes of the socket
	app  net.Conn // sock, or TLS over it
}

// rawDial connects and, over TLS, shakes hands.
func rawDial(t *testing.T, s *Server) *rawClient {
	t.Helper()
	nc, err := s.DialContext(waiting(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	c := &rawClient{t: t, sock: &tap{Conn: nc}}
	c.app = c.sock
	if s.Protocol().Encrypted() {
		config := s.ClientTLS()
		config.ServerName = "mem.test"
		config.NextProtos = []string{"http/1.1"}
		if s.Protocol() == H2 {
			config.NextProtos = []string{"h2"}
		}
		c.app = tls.Client(c.sock, config)
		if err := c.app.(*tls.Conn).Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *rawClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.app, text); err != nil {
		c.t.Fatal(err)
	}
}

// read reads exactly n bytes above TLS.
func (c *rawClient) read(n int) string {
	c.t.Helper()
	buf := make([]byte, n)
	if k, err := io.ReadFull(c.app, buf); err != nil {
		c.t.Fatalf("after %q: %v", buf[:k], err)
	}
	return string(buf)
}

// rest reads to the end above TLS.
func (c *rawClient) rest() (string, error) {
	b, err := io.ReadAll(c.app)
	return string(b), err
}

// expectEnd checks how the connection ends after the bytes that were read. It
// reads to the end.
func (c *rawClient) expectEnd(how How) {
	c.t.Helper()
	before, _ := c.sock.seen()
	text, err := c.rest()
	after, sockErr := c.sock.seen()
	if text != "" {
		c.t.Errorf("%v: %q came before the end", how, text)
	}
	extra := after - before
	_, overTLS := c.app.(*tls.Conn)
	ok := false
	switch how {
	case FIN, Shut:
		ok = err == nil && sockErr == io.EOF && extra == 0
	case RST:
		ok = errors.Is(err, syscall.ECONNRESET) && errors.Is(sockErr, syscall.ECONNRESET) && extra == 0
	case CloseNotify:
		// A record of TLS 1.3: 5 header, 2 alert, 1 type, 16 tag. The read
		// ends there, without asking the socket for its end.
		ok = err == nil && extra == 24 && overTLS
	case TruncatedRecord:
		ok = err == io.ErrUnexpectedEOF && extra == 37 && overTLS
	}
	if !ok {
		c.t.Errorf("%v: the read ended with %v, the socket with %v, after %d more bytes of the socket", how, err, sockErr, extra)
	}
}

// rawH2 is a rawClient that has done the HTTP/2 preface.
type rawH2 struct {
	*rawClient
	fr   *http2.Framer
	henc *hpack.Encoder
	hbuf bytes.Buffer
}

func rawDialH2(t *testing.T, s *Server, settings ...http2.Setting) *rawH2 {
	t.Helper()
	c := &rawH2{rawClient: rawDial(t, s)}
	c.fr = http2.NewFramer(c.app, c.app)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.henc = hpack.NewEncoder(&c.hbuf)
	c.send(http2.ClientPreface)
	c.must(c.fr.WriteSettings(settings...))
	return c
}

// settle exchanges SETTINGS, so that the client has nothing left to write by
// itself when a reset arrives.
func (c *rawH2) settle() {
	c.t.Helper()
	for range 2 {
		f, err := c.fr.ReadFrame()
		c.must(err)
		if f, ok := f.(*http2.SettingsFrame); !ok {
			c.t.Fatalf("frame %v, want SETTINGS", f)
		} else if !f.IsAck() {
			c.must(c.fr.WriteSettingsAck())
		}
	}
}

func (c *rawH2) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// request opens a stream; fields are further names and values.
func (c *rawH2) request(id uint32, method, path string, end bool, fields ...string) {
	c.t.Helper()
	c.hbuf.Reset()
	all := append([]string{":method", method, ":scheme", "http", ":authority", "mem.test", ":path", path}, fields...)
	for i := 0; i < len(all); i += 2 {
		c.henc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	c.must(c.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.hbuf.Bytes(), EndStream: end, EndHeaders: true,
	}))
}

// next returns the next frame that is about a stream or GOAWAY, as a line of
// text. It acknowledges SETTINGS.
func (c *rawH2) next() string {
	c.t.Helper()
	for {
		f, err := c.fr.ReadFrame()
		if err != nil {
			return "error " + told(err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.fr.WriteSettingsAck() // the server may be gone
			}
		case *http2.WindowUpdateFrame:
		case *http2.MetaHeadersFrame:
			line := fmt.Sprintf("HEADERS %d", f.StreamID)
			for _, hf := range f.Fields {
				line += fmt.Sprintf(" %s=%s", hf.Name, hf.Value)
			}
			if f.StreamEnded() {
				line += " END"
			}
			return line
		case *http2.DataFrame:
			line := fmt.Sprintf("DATA %d %q", f.StreamID, f.Data())
			if f.StreamEnded() {
				line += " END"
			}
			return line
		case *http2.RSTStreamFrame:
			return fmt.Sprintf("RST_STREAM %d %v", f.StreamID, f.ErrCode)
		case *http2.GoAwayFrame:
			return fmt.Sprintf("GOAWAY %d %v %q", f.LastStreamID, f.ErrCode, f.DebugData())
		case *http2.PingFrame:
			return fmt.Sprintf("PING ack=%v %q", f.IsAck(), f.Data[:])
		default:
			return fmt.Sprintf("%v", f.Header())
		}
	}
}

// expect compares the next frames with lines.
func (c *rawH2) expect(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.next(); got != want {
			c.t.Fatalf("frame %q, want %q", got, want)
		}
	}
}

// told reduces an error to what callers can ask it.
func told(err error) string {
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(err)
}

// readResponse reads one HTTP/1.1 response with its body, byte by byte, so that
// nothing behind it is taken.
func readResponse(t *testing.T, c *rawClient) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReaderSize(oneByte{c.app}, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }
