package pool

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// fieldsOf copies the exported fields of a transport.
func fieldsOf(tr *http.Transport) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(tr).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			value := v.Field(i)
			if value.Kind() == reflect.Func {
				fields[f.Name] = value.Pointer()
			} else {
				fields[f.Name] = value.Interface()
			}
		}
	}
	return fields
}

func TestTheBaseIsNeverChanged(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
			var protos []string
			if w.base.TLSClientConfig != nil {
				w.base.TLSClientConfig.NextProtos = append(w.base.TLSClientConfig.NextProtos, "http/1.1")
				if p == faultserver.H2 {
					w.base.TLSClientConfig.NextProtos[0] = "h2"
				}
				protos = append(protos, w.base.TLSClientConfig.NextProtos...)
			}
			before := fieldsOf(w.base)
			w.mustDo("PUT", "/x", "payload")
			if after := fieldsOf(w.base); !reflect.DeepEqual(before, after) {
				t.Errorf("%v: %v became %v", p, before, after)
			}
			if w.base.TLSClientConfig != nil && !reflect.DeepEqual(protos, w.base.TLSClientConfig.NextProtos) {
				t.Errorf("%v: the ALPN list became %v", p, w.base.TLSClientConfig.NextProtos)
			}
		})
	}
}

// Transports on which HTTP/2 was set up before, and clones of such.
func TestAnyTransportCanBeABase(t *testing.T) {
	srv := faultserver.Start(t, faultserver.Config{Protocol: faultserver.H2})
	fresh := func() *http.Transport {
		return &http.Transport{TLSClientConfig: srv.ClientTLS(), ForceAttemptHTTP2: true}
	}
	used := fresh()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
	resp, err := used.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	used.CloseIdleConnections()
	plain := &http.Transport{} // conservative rules forbid HTTP/2 for its clone
	plain.Clone()
	plain.TLSClientConfig.RootCAs = srv.ClientPool()
	off := fresh()
	off.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	off.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	conservative := &http.Transport{TLSClientConfig: srv.ClientTLS()}
	for name, c := range map[string]struct {
		base  *http.Transport
		proto string
	}{
		"fresh":               {fresh(), "HTTP/2.0"},
		"used":                {used, "HTTP/2.0"},
		"clone of a used one": {used.Clone(), "HTTP/2.0"},
		"clone without force": {plain.Clone(), "HTTP/2.0"},
		"HTTP/2 switched off": {off, "HTTP/1.1"},
		"conservative":        {conservative, "HTTP/1.1"},
		"clone of a switched": {off.Clone(), "HTTP/1.1"},
	} {
		pool, err := New(Config{Base: c.base})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
		resp, err := pool.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			if resp.Proto != c.proto {
				t.Errorf("%s: %s, want %s", name, resp.Proto, c.proto)
			}
			resp.Body.Close()
		}
		pool.Close()
	}
}

func TestAPoolWithoutABaseUsesTheDefaultTransport(t *testing.T) {
	pool, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if pool.base != http.DefaultTransport {
		t.Error("it has another one")
	}
	stock, def := fieldsOf(stockTransport()), fieldsOf(http.DefaultTransport.(*http.Transport))
	delete(stock, "DialContext") // two functions, two pointers
	delete(def, "DialContext")
	delete(def, "TLSClientConfig") // set if a test has used it
	delete(def, "TLSNextProto")
	delete(stock, "TLSClientConfig")
	delete(stock, "TLSNextProto")
	if !reflect.DeepEqual(stock, def) {
		t.Errorf("the stock values are %v, want %v", stock, def)
	}
}

func TestLimitsAreReadFromTheBaseAllTheTime(t *testing.T) {
	inWorld(t, faultserver.Config{}, nil, func(w *world) {
		w.park(2)
		w.base.MaxIdleConnsPerHost = 1
		w.base.IdleConnTimeout = time.Second
		w.base.ResponseHeaderTimeout = 2 * time.Second
		held := w.open("/a")
		w.mustDo("GET", "/b", "")
		io.Copy(io.Discard, held.Body)
		synctest.Wait()
		if s := w.pool.Stats(); s.Idle != 1 {
			t.Errorf("%+v", s)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if s := w.pool.Stats(); s.Idle != 0 {
			t.Errorf("%+v", s)
		}
		w.srv.Next(faultserver.Do(faultserver.Hang{}))
		start := time.Now()
		_, err := w.do("GET", "/hang", "")
		if ClassOf(err) != events.ClassTimeout || time.Since(start) != 2*time.Second || Recoverable(err) {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestABaseMayDialTLSItself(t *testing.T) {
	for _, p := range []faultserver.Protocol{faultserver.TLS, faultserver.H2} {
		for _, opaque := range []bool{false, true} { // not a *tls.Conn
			if opaque && p == faultserver.H2 {
				continue // net/http cannot tell what was negotiated
			}
			inWorld(t, faultserver.Config{Protocol: p}, func(b *http.Transport, c *Config) {
				b.MaxConnsPerHost = 1
				raw, cfg := b.DialContext, b.TLSClientConfig
				cfg.ServerName = "mem.test"
				if p == faultserver.H2 {
					cfg.NextProtos = []string{"h2"}
				}
				b.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					nc, err := raw(ctx, network, addr)
					if err != nil {
						return nil, err
					}
					tc := tls.Client(nc, cfg)
					if err := tc.HandshakeContext(ctx); err != nil {
						nc.Close()
						return nil, err
					}
					if opaque {
						return struct{ net.Conn }{tc}, nil
					}
					return tc, nil
				}
				b.DialContext = nil
			}, func(w *world) {
				for range 3 {
					w.mustDo("PUT", "/x", "payload")
				}
				synctest.Wait()
				w.srv.KillIdle(faultserver.CloseNotify)
				w.mustDo("PUT", "/x", "payload")
				if n := w.srv.Sockets().MaxOpen(); n != 1 {
					t.Errorf("%v: %d sockets at once", p, n)
				}
				w.srv.RaceIdle(faultserver.RST)
				w.mustDo("GET", "/x", "")
			})
		}
	}
}

// countWrites counts the writes to the socket.
type countWrites struct {
	net.Conn
	n *int
}

func (c countWrites) Write(p []byte) (int, error) { *c.n++; return c.Conn.Write(p) }

func TestASmallBodyInMemoryLeavesWithItsHeader(t *testing.T) {
	for name, body := range map[string]func() io.Reader{
		"strings.Reader": func() io.Reader { return strings.NewReader("payload") },
		"bytes.Reader":   func() io.Reader { return bytes.NewReader([]byte("payload")) },
		"bytes.Buffer":   func() io.Reader { return bytes.NewBufferString("payload") },
	} {
		writes := 0
		inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) {
			dial := b.DialContext
			b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := dial(ctx, network, addr)
				return countWrites{nc, &writes}, err
			}
		}, func(w *world) {
			for range 2 {
				req, _ := http.NewRequestWithContext(w.Context(), "PUT", w.srv.URL("/x"), body())
				if _, err := w.send(req); err != nil {
					t.Fatal(err)
				}
			}
			if writes != 2 {
				t.Errorf("%s: %d writes for two requests", name, writes)
			}
		})
	}
}

// readFroms counts how often a socket is asked to read a file by itself.
type readFroms struct {
	*net.TCPConn
	n *int
}

func (c readFroms) ReadFrom(r io.Reader) (int64, error) { *c.n++; return c.TCPConn.ReadFrom(r) }

func TestASocketReadsAFileByItself(t *testing.T) {
	srv := faultserver.Start(t, faultserver.Config{})
	name := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(name, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	pool, err := New(Config{Base: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return readFroms{nc.(*net.TCPConn), &n}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	req, _ := http.NewRequestWithContext(t.Context(), "PUT", srv.URL("/x"), f)
	req.ContentLength = 100_000
	resp, err := pool.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.Copy(io.Discard, resp.Body); got != 100_000 || err != nil {
		t.Errorf("%d bytes came back: %v", got, err)
	}
	resp.Body.Close()
	if n != 1 {
		t.Errorf("the socket was asked %d times", n)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
}

// Whatever becomes of a request, its body is closed once.
func TestARequestBodyIsClosedExactlyOnce(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		for name, c := range map[string]struct {
			prepare func(*world)
			cancel  bool
		}{
			"answered":     {prepare: func(*world) {}},
			"killed":       {prepare: func(w *world) { w.srv.Next(faultserver.KillUnread(faultserver.RST)) }},
			"early":        {prepare: func(w *world) { w.srv.Next(faultserver.Early(400, faultserver.FIN)) }},
			"stale":        {prepare: func(w *world) { w.park(1); w.srv.RaceIdle(faultserver.RST) }},
			"stale, known": {prepare: func(w *world) { w.park(1); w.srv.KillIdle(faultserver.RST) }},
			"canceled":     {prepare: func(*world) {}, cancel: true},
			"closed":       {prepare: func(w *world) { w.pool.Close() }},
			"bad host": {prepare: func(w *world) {
				w.base.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") }
			}},
		} {
			inWorld(t, faultserver.Config{Protocol: p}, nil, func(w *world) {
				dial := w.base.DialContext
				c.prepare(w)
				ctx, cancel := context.WithCancel(w.Context())
				defer cancel()
				if c.cancel {
					cancel()
				}
				body := &countedBody{Reader: strings.NewReader("payload")}
				req := w.request(ctx, "PUT", "/x", "")
				req.Body, req.ContentLength = body, 7
				again := []*countedBody{}
				req.GetBody = func() (io.ReadCloser, error) {
					b := &countedBody{Reader: strings.NewReader("payload")}
					again = append(again, b)
					return b, nil
				}
				w.send(req)
				synctest.Wait()
				for i, b := range append(again, body) {
					if b.closed != 1 {
						t.Errorf("%v, %s: body %d was closed %d times", p, name, i, b.closed)
					}
				}
				w.base.DialContext = dial
			})
		}
	}
}
