package faultserver

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
)

// Proxy is an http.Handler that makes an HTTP/1.1 server (H1, TLS) a proxy:
// CONNECT opens a tunnel, other requests with an absolute URL are forwarded over
// a connection of their own. The zero Proxy is ready.
type Proxy struct {
	// Dial reaches the target; nil: a net.Dialer. With another server's
	// DialContext every target is that server.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Authorization, if not "", is the Proxy-Authorization that a request must
	// have; others are answered 407.
	Authorization string
}

// ServeHTTP answers 502 if the target cannot be reached and 400 if the request
// is not one for a proxy.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.Authorization != "" && r.Header.Get("Proxy-Authorization") != p.Authorization {
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.IsAbs():
		p.forward(w, r)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (p *Proxy) dial(ctx context.Context, addr string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, "tcp", addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// tunnel copies bytes both ways until both sides have ended or the server
// closes.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := p.dial(r.Context(), r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer target.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(target, buffered.Reader)
		// The client's end is the tunnel's: requests in it are HTTP.
		target.Close()
	})
	io.Copy(client, target)
	client.Close()
	both.Wait()
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	tr := &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, addr string) (net.Conn, error) { return p.dial(ctx, addr) },
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.Header.Del("Proxy-Authorization")
	out.Header.Del("Proxy-Connection")
	resp, err := tr.RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.Header().Del("Connection")
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}
