package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// idlePerHost is MaxIdleConnsPerHost of every base: as many as goroutines.
const idlePerHost = 64

// world is where contestants work: a bare RoundTripper in memory, or a server
// on the loopback interface.
type world struct {
	name string
	url  string
	base func() (http.RoundTripper, *dialer) // new ones for each contestant; the dialer is nil in memory
	failures
	conns atomic.Int64 // TCP connections that the server has accepted
	gone  atomic.Int64 // and those that it has closed
	close func()
}

// worldNames are the worlds in the order of the tables.
var worldNames = []string{"memory", "HTTP/1", "TLS", "HTTP/2"}

func newWorld(name string) *world {
	if name == "memory" {
		return memory()
	}
	return loopback(name)
}

// open is the number of connections that are open at the server.
func (w *world) open() int64 { return w.conns.Load() - w.gone.Load() }

func memory() *world {
	w := &world{name: "memory", url: "http://api.example.com:8080/v1/orders/7?expand=lines", close: func() {}}
	w.base = func() (http.RoundTripper, *dialer) { return answering{&w.failures}, nil }
	return w
}

// ok is the one handler.
func (w *world) ok(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/plain")
	if w.next() {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
	io.WriteString(rw, "ok") //nolint:errcheck // a client that is gone counts as it likes
}

func loopback(protocol string) *world {
	w := &world{name: protocol}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(w.ok))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it tells of connections that nobody needs any more
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			w.conns.Add(1)
		case http.StateClosed:
			w.gone.Add(1)
		}
	}
	srv.Listener = listener{srv.Listener}
	start(srv, protocol)
	w.close = srv.Close
	w.url = srv.URL + "/v1/orders/7?expand=lines"
	w.base = func() (http.RoundTripper, *dialer) {
		t, d := baseFor(srv, protocol), &dialer{}
		t.DialContext = d.DialContext
		return t, d
	}
	return w
}

func start(srv *httptest.Server, protocol string) {
	if protocol == "HTTP/1" {
		srv.Start()
		return
	}
	srv.EnableHTTP2 = protocol == "HTTP/2"
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate()}, MinVersion: tls.VersionTLS12}
	srv.StartTLS()
}

// certificate is one on a P-256 key, as most servers have: signing with the RSA
// key of httptest would be most of a handshake.
func certificate() tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	return tls.Certificate{Certificate: [][]byte{must(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))}, PrivateKey: key}
}

// baseFor returns a new http.Transport that trusts srv.
func baseFor(srv *httptest.Server, protocol string) *http.Transport {
	t := &http.Transport{MaxIdleConnsPerHost: idlePerHost, ForceAttemptHTTP2: protocol == "HTTP/2"}
	if protocol != "HTTP/1" {
		roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		t.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	}
	return t
}
