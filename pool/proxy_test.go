package pool

import (
	"bufio"

	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// testProxy is an HTTP proxy on loopback: it forwards http and tunnels CONNECT.
type testProxy struct {
	*httptest.Server
	mu     sync.Mutex
	auth   []string // Proxy-Authorization of what arrived
	conns  int
	refuse bool
}

func startProxy(t *testing.T, encrypted bool) *testProxy {
	t.Helper()
	p := &testProxy{}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			p.mu.Lock()
			p.conns++
			p.mu.Unlock()
		}
	}
	if encrypted {
		p.EnableHTTP2 = true // which no client must use with a proxy
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.auth = append(p.auth, r.Header.Get("Proxy-Authorization"))
	refuse := p.refuse
	p.mu.Unlock()
	if refuse {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.Header.Del("Proxy-Authorization")
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer to.Close()
	w.WriteHeader(http.StatusOK)
	from, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	done := make(chan struct{})
	go func() { io.Copy(to, buf); to.(*net.TCPConn).CloseWrite(); close(done) }()
	io.Copy(from, to)
	if cw, ok := from.(interface{ CloseWrite() error }); ok {
		cw.CloseWrite()
	}
	<-done
}

func (p *testProxy) url(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("user", "secret")
	return u
}

func TestHTTPAndHTTPSProxies(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		for _, p := range []faultserver.Protocol{faultserver.H1, faultserver.TLS, faultserver.H2} {
			name := "http/" + p.String()
			if encrypted {
				name = "https/" + p.String()
			}
			t.Run(name, func(t *testing.T) {
				proxy := startProxy(t, encrypted)
				srv := faultserver.Start(t, faultserver.Config{Protocol: p})
				base := srv.ClientTransport()
				base.DialContext = nil
				base.Proxy = http.ProxyURL(proxy.url(t))
				if base.TLSClientConfig == nil {
					base.TLSClientConfig = &tls.Config{}
				}
				base.TLSClientConfig.InsecureSkipVerify = true // of two authorities
				var log eventLog
				pool, err := New(Config{Base: base, Hooks: log.hooks()})
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				for range 3 {
					req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
					resp, err := pool.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				proxy.mu.Lock()
				defer proxy.mu.Unlock()
				if proxy.conns != 1 {
					t.Errorf("%d connections to the proxy", proxy.conns)
				}
				for _, a := range proxy.auth {
					if a != "Basic dXNlcjpzZWNyZXQ=" {
						t.Errorf("Proxy-Authorization %q", a)
					}
				}
				origin := srv.URL()
				if o := of[events.ConnOpened](&log); len(o) != 1 || o[0].Origin != origin {
					t.Errorf("opened %+v, want origin %s", o, origin)
				}
				if p == faultserver.H1 {
					origin = proxy.URL // its connections serve any host
				}
				if _, ok := pool.Stats().Origins[origin]; !ok {
					t.Errorf("no stats for %s: %+v", origin, pool.Stats())
				}
			})
		}
	}
}

func TestAnHTTPProxysConnectionServesAnyHost(t *testing.T) {
	proxy := startProxy(t, false)
	a, b := faultserver.Start(t, faultserver.Config{}), faultserver.Start(t, faultserver.Config{})
	pool, err := New(Config{Base: &http.Transport{Proxy: http.ProxyURL(proxy.url(t))}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, srv := range []*faultserver.Server{a, b, a} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
		resp, err := pool.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if proxy.conns != 1 {
		t.Errorf("%d connections", proxy.conns)
	}
}

func TestTheProxyFunctionSeesTheRealRequest(t *testing.T) {
	inWorld(t, faultserver.Config{}, func(b *http.Transport, _ *Config) {
		b.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.Header.Get("X-Route") != "direct" {
				t.Errorf("header %v", r.Header)
			}
			return nil, nil
		}
	}, func(w *world) {
		req := w.request(w.Context(), "GET", "/x", "")
		req.Header.Set("X-Route", "direct")
		if _, err := w.send(req); err != nil {
			t.Fatal(err)
		}
	})
}

func TestProxyFailuresAreDialErrors(t *testing.T) {
	proxy := startProxy(t, false)
	proxy.refuse = true
	closed := startProxy(t, false)
	closed.Close()
	cause := errors.New("no proxy today")
	srv := faultserver.Start(t, faultserver.Config{Protocol: faultserver.TLS})
	for name, f := range map[string]func(*http.Request) (*url.URL, error){
		"refused":     http.ProxyURL(proxy.url(t)),
		"unreachable": http.ProxyURL(closed.url(t)),
		"function":    func(*http.Request) (*url.URL, error) { return nil, cause },
	} {
		base := srv.ClientTransport()
		base.Proxy = f
		pool, err := New(Config{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
		_, err = pool.RoundTrip(req)
		var dial *DialError
		if !errors.As(err, &dial) || dial.Phase != PhaseProxy || dial.Origin != srv.URL() || !Unprocessed(err) {
			t.Errorf("%s: got %v", name, err)
		}
		if s := pool.Stats(); s.Open != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		pool.Close()
	}
}

// startSOCKS starts a SOCKS5 proxy (RFC 1928) that asks for user and password
// (RFC 1929).
func startSOCKS(t *testing.T) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serveSOCKS(c)
		}
	}()
	return &url.URL{Scheme: "socks5", Host: ln.Addr().String(), User: url.UserPassword("user", "secret")}
}

func serveSOCKS(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(r, b)
		return b
	}
	read(int(read(2)[1])) // methods
	c.Write([]byte{5, 2}) // user and password
	user := string(read(int(read(2)[1])))
	password := string(read(int(read(1)[0])))
	if user != "user" || password != "secret" {
		c.Write([]byte{1, 1})
		return
	}
	c.Write([]byte{1, 0})
	head := read(4)
	var host string
	switch head[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	default:
		return
	}
	port := read(2)
	to, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))))
	if err != nil {
		return
	}
	defer to.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() { io.Copy(to, r); to.(*net.TCPConn).CloseWrite() }()
	io.Copy(c, to)
}

func TestSOCKS5Proxies(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		srv := faultserver.Start(t, faultserver.Config{Protocol: p})
		base := srv.ClientTransport()
		base.DialContext = new(net.Dialer).DialContext
		base.Proxy = http.ProxyURL(startSOCKS(t))
		pool, err := New(Config{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL("/x"), nil)
			resp, err := pool.RoundTrip(req)
			if err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if n := srv.Stats().Opened; n != 1 {
			t.Errorf("%v: %d connections", p, n)
		}
		pool.Close()
	}
}
