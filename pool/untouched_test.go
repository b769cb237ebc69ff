package pool_test

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// picture lists all exported fields of a struct and of those that it points to,
// with functions and what else cannot be compared as addresses.
func picture(name string, v reflect.Value, into map[string]string) {
	switch v.Kind() {
	case reflect.Pointer:
		into[name+" address"] = fmt.Sprintf("%#x", v.Pointer())
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			picture(name, v.Elem(), into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				picture(name+"."+f.Name, v.Field(i), into)
			}
		}
		if v.Type() == reflect.TypeFor[http.Protocols]() {
			into[name] = v.Interface().(http.Protocols).String()
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		into[name] = fmt.Sprintf("%#x", v.Pointer())
	case reflect.Interface:
		into[name] = fmt.Sprintf("%T", v.Interface())
	default:
		into[name] = fmt.Sprintf("%v, nil %v", v.Interface(), (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.IsNil())
	}
}

func pictureOf(b *http.Transport) map[string]string {
	into := make(map[string]string)
	picture("Transport", reflect.ValueOf(b), into)
	return into
}

func wantUntouched(t *testing.T, b *http.Transport, before map[string]string) {
	t.Helper()
	after := pictureOf(b)
	for name, want := range before {
		if got, ok := after[name]; !ok || got != want {
			t.Errorf("%s was %s, is %s", name, want, got)
		}
	}
	for name, got := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s has become %s", name, got)
		}
	}
}

// The first use of an http.Transport, its Clone included, writes into its
// exported fields: TLSClientConfig and the protocols in that. The pool does not.
func TestTheBaseIsNeverChanged(t *testing.T) {
	bases := map[string]func(*http.Transport){
		"the least":         func(b *http.Transport) { b.Protocols, b.ForceAttemptHTTP2 = nil, false },
		"as the test's own": func(*http.Transport) {},
		"HTTP/2 forced":     func(b *http.Transport) { b.Protocols, b.ForceAttemptHTTP2 = nil, true },
		"HTTP/2 refused": func(b *http.Transport) {
			b.Protocols, b.TLSNextProto = nil, map[string]func(string, *tls.Conn) http.RoundTripper{}
		},
		"everything": func(b *http.Transport) {
			b.MaxConnsPerHost, b.MaxIdleConns, b.MaxIdleConnsPerHost, b.IdleConnTimeout = 3, 10, 2, time.Minute
			b.HTTP2 = &http.HTTP2Config{MaxReadFrameSize: 1 << 20, SendPingTimeout: time.Minute}
			b.ResponseHeaderTimeout, b.ExpectContinueTimeout, b.TLSHandshakeTimeout = time.Minute, time.Second, time.Minute
			b.ProxyConnectHeader = http.Header{"X-Proxy": {"x"}}
			b.WriteBufferSize, b.ReadBufferSize, b.MaxResponseHeaderBytes = 8192, 8192, 1<<20
			if b.TLSClientConfig != nil {
				b.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
			}
		},
	}
	for name, tune := range bases {
		for _, p := range faultserver.Protocols() {
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, func(b *http.Transport, _ *pool.Config) { tune(b) })
					before := pictureOf(r.base)
					useInEveryWay(r)
					wantUntouched(t, r.base, before)
					if r.base.Clone(); p == faultserver.H2 && name == "HTTP/2 forced" && maps.Equal(before, pictureOf(r.base)) {
						t.Error("the picture does not even show what Clone writes")
					}
				})
			})
		}
	}
}

// useInEveryWay sends requests that take different ways through the pool.
func useInEveryWay(r *rig) {
	for range 2 {
		_, _, err := exchange(r.pool, r.request("GET", "/", nil))
		if err != nil {
			r.Logf("%v", err) // of a base that cannot speak to this server
			break
		}
	}
	r.srv.KillAll(faultserver.RST)
	synctest.Wait()
	exchange(r.pool, r.request("PUT", "/", strings.NewReader("payload")))
	req := r.request("GET", "/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	exchange(r.pool, req)
	r.pool.CloseIdleConnections()
	r.pool.Stats()
	r.pool.Close()
	synctest.Wait()
}

func TestTheBaseOfAProxiedPoolIsNeverChanged(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5"} {
		for _, p := range faultserver.Protocols() {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, nil)
				if scheme == "socks5" {
					s := startSOCKS(r, &socks5{dial: r.srv.DialContext})
					r.through(scheme, s.ln.DialContext)
				} else {
					r.throughHTTP(scheme, proxyAuth())
				}
				before := pictureOf(r.base)
				useInEveryWay(r)
				wantUntouched(t, r.base, before)
			})
		}
	}
}

// A pool without a base stands on http.DefaultTransport, which others use.
func TestTheDefaultTransportIsNeverChanged(t *testing.T) {
	std := http.DefaultTransport.(*http.Transport)
	before := pictureOf(std)
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	u := &url.URL{Scheme: "https", Host: ln.Addr().String()}
	if _, err := p.RoundTrip(&http.Request{URL: u, Header: http.Header{}}); err == nil {
		t.Fatal("nobody listens there")
	}
	wantUntouched(t, std, before)
}
