package compat_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// echo is a websocket server that says back what it hears until the client
// closes.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(&switching{ResponseWriter: w}, r, &websocket.AcceptOptions{Subprotocols: []string{"semaphore"}, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(4 << 20)
	for {
		kind, data, err := c.Read(r.Context())
		if err != nil || c.Write(r.Context(), kind, data) != nil {
			return
		}
	}
})

// switching is a ResponseWriter for handlers that send the 101 first and take
// the connection afterwards, which the hostile server refuses.
type switching struct {
	http.ResponseWriter
	status int
}

func (s *switching) WriteHeader(status int) {
	if s.status = status; status != http.StatusSwitchingProtocols {
		s.ResponseWriter.WriteHeader(status)
	}
}

func (s *switching) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, brw, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil || s.status != http.StatusSwitchingProtocols {
		return nc, brw, err
	}
	fmt.Fprintf(brw, "HTTP/1.1 101 Switching Protocols\r\n")
	s.Header().Write(brw)
	fmt.Fprintf(brw, "\r\n")
	return nc, brw, brw.Flush()
}

// H2 is a server that prefers HTTP/2: the upgrade must get HTTP/1.1 there.
var upgradable = []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2}

// newUpgradeRig is newRig with a transport that takes what the server prefers.
func newUpgradeRig(t testing.TB, server faultserver.Config, cfg client.Config) *rig {
	t.Helper()
	s := faultserver.Start(t, server)
	template := s.ClientTransport()
	template.Protocols = new(http.Protocols)
	template.Protocols.SetHTTP1(true)
	template.Protocols.SetHTTP2(true)
	return joinRig(t, s, template, cfg)
}

// talk dials a websocket.
func talk(t testing.TB, ctx context.Context, r *rig) *websocket.Conn {
	t.Helper()
	c, resp, err := websocket.Dial(ctx, r.URL("/bridge"), &websocket.DialOptions{
		HTTPClient: r.client.Client, Subprotocols: []string{"semaphore"}, CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || c.Subprotocol() != "semaphore" {
		t.Errorf("status %d, subprotocol %q", resp.StatusCode, c.Subprotocol())
	}
	c.SetReadLimit(4 << 20)
	t.Cleanup(func() { c.CloseNow() })
	return c
}

// say sends a message and expects it back.
func say(t testing.TB, c *websocket.Conn, data []byte) {
	t.Helper()
	ctx := bounded(t)
	if err := c.Write(ctx, websocket.MessageBinary, data); err != nil {
		t.Fatalf("writing %d bytes: %v", len(data), err)
	}
	if _, got, err := c.Read(ctx); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("got %d bytes, %v; want the %d that were sent", len(got), err, len(data))
	}
}

func TestAWebSocketTalksOnThroughItsHandshakesContext(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: echo}, client.Config{
				Timeout: 20 * time.Second, AttemptTimeout: 10 * time.Second, BodyIdleTimeout: 10 * time.Second, MaxResponseBytes: 1000,
			})
			ctx, cancel := context.WithCancel(bounded(t))
			c := talk(t, ctx, r)
			cancel() // bounds the handshake, not the conversation
			for _, n := range []int{0, 1, 125, 70_000, 3 << 20} {
				say(t, c, faultserver.Pattern(n))
			}
			pinged := make(chan error, 1)
			go func() { pinged <- c.Ping(bounded(t)) }()
			if _, _, err := c.Reader(canceledBy(t, pinged)); err == nil {
				t.Error("a message came that nobody sent")
			}
			if s := r.client.Stats().Pool; s.Open != 0 && s.Open != 1 {
				t.Errorf("%d connections are open, want the conversation's alone", s.Open)
			}
			c.CloseNow()
			if err := r.WaitOpen(bounded(t), 0); err != nil {
				t.Error(err)
			}
			r.nothingHeld(t)
		})
	}
}

// canceledBy returns a context that ends when done gives a value, which must be
// nil.
func canceledBy(t testing.TB, done <-chan error) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if err := <-done; err != nil {
			t.Errorf("the ping: %v", err)
		}
	}()
	return ctx
}

func TestAWebSocketClosesInOrder(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: echo}, client.Config{})
			c := talk(t, bounded(t), r)
			say(t, c, []byte("ahoy"))
			if err := c.Close(websocket.StatusNormalClosure, "moored"); err != nil {
				t.Errorf("the closing handshake: %v", err)
			}
			if err := r.WaitOpen(bounded(t), 0); err != nil {
				t.Error(err)
			}
			r.nothingHeld(t)
		})
	}
}

// A conversation holds its slot until it ends, and no longer.
func TestAWebSocketGivesItsSlotBackWhenItCloses(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			s := faultserver.Start(t, faultserver.Config{Protocol: p, Handler: echo})
			template := s.ClientTransport()
			template.MaxConnsPerHost = 1
			template.Protocols = new(http.Protocols)
			template.Protocols.SetHTTP1(true)
			template.Protocols.SetHTTP2(true)
			r := joinRig(t, s, template, client.Config{})
			for range 5 {
				c := talk(t, bounded(t), r)
				say(t, c, []byte("ahoy"))
				c.CloseNow()
			}
			if n := s.Sockets().MaxOpen(); n != 1 {
				t.Errorf("%d sockets were open at once, want 1", n)
			}
		})
	}
}

// The handshake is a GET: a server that is busy for a moment, or a connection
// that died while idle, costs no conversation.
func TestAWebSocketsHandshakeIsRetriedAndRecovered(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: echo}, client.Config{})
			r.Next(faultserver.Respond(503, "busy"), faultserver.KillAfterReading(faultserver.FIN))
			c := talk(t, bounded(t), r)
			say(t, c, []byte("ahoy"))
			if n := r.saw(http.MethodGet); n != 3 {
				t.Errorf("the server saw %d handshakes, want 3", n)
			}
		})
	}
}

func TestAWebSocketWhoseServerDiesSaysSo(t *testing.T) {
	for _, p := range upgradable {
		for _, how := range faultserver.Hows(p) {
			t.Run(fmt.Sprint(p, "/", how), func(t *testing.T) {
				r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: echo}, client.Config{})
				c := talk(t, bounded(t), r)
				say(t, c, []byte("ahoy"))
				if n := r.KillAll(how); n != 1 {
					t.Fatalf("%d connections were killed, want 1", n)
				}
				_, _, err := c.Read(bounded(t))
				if err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("reading from a dead server gives %v", err)
				}
				if how == faultserver.FIN && p == faultserver.H1 && !errors.Is(err, io.EOF) {
					t.Errorf("an ended stream gives %v, want io.EOF in it", err)
				}
				c.CloseNow() // the stream is its caller's until then
				if err := r.WaitOpen(bounded(t), 0); err != nil {
					t.Error(err)
				}
				r.nothingHeld(t)
			})
		}
	}
}

// A server that does not upgrade is an answer like any other.
func TestAWebSocketThatIsRefusedLeavesNothingBehind(t *testing.T) {
	r := newUpgradeRig(t, faultserver.Config{}, client.Config{})
	r.Next(faultserver.Respond(403, "no shore leave"))
	_, resp, err := websocket.Dial(bounded(t), r.URL(), &websocket.DialOptions{HTTPClient: r.client.Client})
	if err == nil || resp.StatusCode != 403 || read(t, resp) != "no shore leave" {
		t.Errorf("got %v and %v, want an error and the 403", resp, err)
	}
	if done := doneCall(t, r); done.Outcome != events.OutcomeOK {
		t.Errorf("the call's outcome is %q, want %q", done.Outcome, events.OutcomeOK)
	}
	r.nothingHeld(t)
}
