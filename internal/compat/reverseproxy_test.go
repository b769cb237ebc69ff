package compat_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

const (
	frontH1 = false
	frontH2 = true
)

// newFront starts a server that is a httputil.ReverseProxy to target over rt.
func newFront(t testing.TB, h2 bool, target string, rt http.RoundTripper) *httptest.Server {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: rt, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to)
			// The setting that doc.go recommends: small bodies can be sent again.
			if n := pr.Out.ContentLength; n > 0 && n <= 64<<10 {
				if out, err := client.Buffered(pr.Out, 64<<10); err == nil {
					pr.Out = out
				}
			}
		},
	}
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = proxy.ErrorLog
	front.EnableHTTP2 = h2
	if h2 {
		front.StartTLS()
	} else {
		front.Start()
	}
	t.Cleanup(front.Close)
	return front
}

// eachHop runs f for each version before and behind the proxy.
func eachHop(t *testing.T, f func(t *testing.T, h2 bool, p faultserver.Protocol)) {
	t.Helper()
	for _, h2 := range []bool{frontH1, frontH2} {
		for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
			t.Run(fmt.Sprintf("h2 before the proxy %v, %v behind", h2, p), func(t *testing.T) { f(t, h2, p) })
		}
	}
}

func TestReverseProxyPassesTrailersOn(t *testing.T) {
	eachHop(t, func(t *testing.T, h2 bool, p faultserver.Protocol) {
		r := newRig(t, faultserver.Config{Protocol: p, Handler: withTrailers}, client.Config{})
		front := newFront(t, h2, r.URL(), r.client.Transport)
		resp, err := front.Client().Do(get(t, bounded(t), front.URL))
		if err != nil {
			t.Fatal(err)
		}
		if body := read(t, resp); body != "body" || resp.Trailer.Get("X-Declared") != "d" || resp.Trailer.Get("X-Late") != "l" {
			t.Errorf("body %q, trailers %v; want both trailers", body, resp.Trailer)
		}
		r.nothingHeld(t)
	})
}

func TestReverseProxyFlushesWhatTheBackendFlushed(t *testing.T) {
	eachHop(t, func(t *testing.T, h2 bool, p faultserver.Protocol) {
		seen := make(chan struct{})
		r := newRig(t, faultserver.Config{Protocol: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for i := range 5 {
				fmt.Fprintf(w, "line %d\n", i)
				w.(http.Flusher).Flush()
				select {
				case <-seen:
				case <-r.Context().Done():
					return
				}
			}
		})}, client.Config{})
		front := newFront(t, h2, r.URL(), r.client.Transport)
		resp, err := front.Client().Do(get(t, bounded(t), front.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for i := range 5 {
			if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("line %d\n", i) {
				t.Fatalf("line %d is %q, %v", i, line, err)
			}
			seen <- struct{}{}
		}
		if _, err := lines.ReadByte(); err != io.EOF {
			t.Errorf("after the last line %v, want io.EOF", err)
		}
		r.nothingHeld(t)
	})
}

func TestReverseProxyPassesEarlyHintsOn(t *testing.T) {
	eachHop(t, func(t *testing.T, h2 bool, p faultserver.Protocol) {
		r := newRig(t, faultserver.Config{Protocol: p}, client.Config{})
		r.Next(faultserver.Do(faultserver.Interim{Status: 103, Header: http.Header{"Link": {"</sail.css>; rel=preload"}}}, faultserver.Body{Data: []byte("page")}))
		front := newFront(t, h2, r.URL(), r.client.Transport)
		hints := 0
		ctx := httptrace.WithClientTrace(bounded(t), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == 103 && h.Get("Link") == "</sail.css>; rel=preload" {
				hints++
			}
			return nil
		}})
		resp, err := front.Client().Do(get(t, ctx, front.URL))
		if err != nil {
			t.Fatal(err)
		}
		if body := read(t, resp); body != "page" || hints != 1 {
			t.Errorf("body %q after %d hints, want page after 1", body, hints)
		}
	})
}

func TestAWebSocketGoesThroughReverseProxy(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: echo}, client.Config{})
			front := newFront(t, frontH1, r.URL(), r.client.Transport)
			c, _, err := websocket.Dial(bounded(t), front.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			c.SetReadLimit(4 << 20)
			for _, n := range []int{1, 70_000, 3 << 20} {
				say(t, c, faultserver.Pattern(n))
			}
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

// shout is a protocol that answers only when its caller has closed its half,
// and closes its own last.
var shout = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	nc, brw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer nc.Close()
	io.WriteString(brw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n")
	brw.Flush()
	heard, err := io.ReadAll(brw)
	if err != nil {
		return
	}
	brw.Write(bytes.ToUpper(heard))
	brw.Flush()
})

// The end of one half must reach the other side of the proxy while the other
// half goes on.
func TestHalfOfAnUpgradedConnectionClosesThroughReverseProxy(t *testing.T) {
	for _, p := range upgradable {
		t.Run(p.String(), func(t *testing.T) {
			r := newUpgradeRig(t, faultserver.Config{Protocol: p, Handler: shout}, client.Config{})
			front := newFront(t, frontH1, r.URL(), r.client.Transport)
			req := get(t, bounded(t), front.URL)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "shout")
			resp, err := front.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			stream, ok := resp.Body.(io.ReadWriteCloser)
			if !ok || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("status %d, body %T", resp.StatusCode, resp.Body)
			}
			defer stream.Close()
			io.WriteString(stream, "ahoy")
			if err := stream.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if heard, err := io.ReadAll(stream); err != nil || string(heard) != "AHOY" {
				t.Errorf("heard %q, %v; want AHOY", heard, err)
			}
			if err := r.WaitOpen(bounded(t), 0); err != nil {
				t.Error(err)
			}
			r.nothingHeld(t)
		})
	}
}

// The visitor who leaves ends the backend's work.
func TestReverseProxyCancelsTheBackendWhenTheVisitorLeaves(t *testing.T) {
	eachHop(t, func(t *testing.T, h2 bool, p faultserver.Protocol) {
		left := make(chan struct{})
		r := newRig(t, faultserver.Config{Protocol: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(left)
		})}, client.Config{})
		front := newFront(t, h2, r.URL(), r.client.Transport)
		ctx, cancel := context.WithCancel(bounded(t))
		resp, err := front.Client().Do(get(t, ctx, front.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case <-left:
		case <-bounded(t).Done():
			t.Error("the backend was not told")
		}
		if done := doneCall(t, r); done.Outcome != events.OutcomeCanceled {
			t.Errorf("the call's outcome is %q, want %q", done.Outcome, events.OutcomeCanceled)
		}
		r.nothingHeld(t)
	})
}

// A backend's body that breaks must break the visitor's: an orderly end would
// make half an answer whole.
func TestReverseProxyBreaksTheVisitorsBodyWhereTheBackendsBroke(t *testing.T) {
	eachHop(t, func(t *testing.T, h2 bool, p faultserver.Protocol) {
		r := newRig(t, faultserver.Config{Protocol: p}, client.Config{})
		got := make(chan struct{})
		r.Next(faultserver.Do(
			faultserver.Header{Framing: faultserver.Chunked}, faultserver.Body{Data: []byte("half")},
			faultserver.Flush{}, faultserver.Wait{Until: got}, faultserver.Kill{How: faultserver.FIN},
		))
		front := newFront(t, h2, r.URL(), r.client.Transport)
		resp, err := front.Client().Do(get(t, bounded(t), front.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		close(got)
		if rest, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("the visitor's body ended in order after %q", rest)
		}
		r.nothingHeld(t)
	})
}

// What the visitors of a proxy get while the backend's reused connections die
// under requests that may be repeated, over http.Transport and over plimsoll.
func TestReverseProxyAnswersThroughBackendConnectionsThatDie(t *testing.T) {
	const rounds = 20
	visit := func(t *testing.T, front *httptest.Server) (bad int) {
		t.Helper()
		for range rounds {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				var body io.Reader
				if method == http.MethodPut {
					body = strings.NewReader("cargo")
				}
				req, err := http.NewRequestWithContext(bounded(t), method, front.URL, body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := front.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				answer := read(t, resp)
				switch {
				case resp.StatusCode == http.StatusBadGateway:
					bad++
				case resp.StatusCode != 200, method == http.MethodPut && answer != "cargo":
					t.Errorf("%s: %d %q", method, resp.StatusCode, answer)
				}
			}
		}
		return bad
	}
	for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
		t.Run(p.String(), func(t *testing.T) {
			plainReaper := newReaper(faultserver.FIN)
			plainReaper.armed.Store(true)
			backend := faultserver.Start(t, faultserver.Config{Protocol: p, Choose: plainReaper.choose})
			without := visit(t, newFront(t, frontH1, backend.URL(), backend.ClientTransport()))

			grim := newReaper(faultserver.FIN)
			grim.armed.Store(true)
			r := newRig(t, faultserver.Config{Protocol: p, Choose: grim.choose}, client.Config{})
			with := visit(t, newFront(t, frontH1, r.URL(), r.client.Transport))

			t.Logf("http.Transport: %d of %d visitors got 502, %d connections killed; plimsoll: %d, %d killed", without, 3*rounds, plainReaper.killed.Load(), with, grim.killed.Load())
			if with != 0 || without == 0 || grim.killed.Load() < rounds/2 {
				t.Errorf("502: %d over plimsoll, %d over http.Transport; want none, and some", with, without)
			}
			r.rec.ExpectNothing(t, eventstest.Type[events.RetryArmed]())
			r.nothingHeld(t)
		})
	}
}

// A backend that is busy for longer than the retries last is passed on as it is.
func TestReverseProxyPassesTheLastRefusalOn(t *testing.T) {
	r := newRig(t, faultserver.Config{}, client.Config{})
	front := newFront(t, frontH1, r.URL(), r.client.Transport)
	r.NextN(5, faultserver.RespondWith(503, http.Header{"X-Berth": {"full"}}, "no berth"))
	resp, err := front.Client().Do(get(t, bounded(t), front.URL))
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, resp); resp.StatusCode != 503 || body != "no berth" || resp.Header.Get("X-Berth") != "full" || r.saw("") != 5 {
		t.Errorf("%d %q %v after %d requests; want the fifth 503 as it was", resp.StatusCode, body, resp.Header, r.saw(""))
	}
	r.nothingHeld(t)
}
