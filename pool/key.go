package pool

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// endpoint is where requests go: scheme, host in lower case and ASCII, port.
type endpoint struct {
	scheme string // "http" or "https"
	host   string // without brackets
	port   string
}

// addr returns host:port.
func (e endpoint) addr() string { return net.JoinHostPort(e.host, e.port) }

// origin returns scheme://host:port.
func (e endpoint) origin() string { return e.scheme + "://" + e.addr() }

// key says which requests may share a connection, apart from its flavour.
type key struct {
	endpoint        // without host and port for http through an HTTP proxy, whose connections serve any host
	proxy    string // the proxy's URL with its credentials; "" for none. Never shown
}

// flavour tells connections that may speak any allowed protocol from those
// that were made for HTTP/1 alone.
type flavour uint8

const (
	anyProtocol flavour = iota
	onlyHTTP1           // for requests that upgrade their connection, where HTTP/2 is possible
)

// defaultPort returns the port of a URL that names none.
func defaultPort(scheme string) string {
	switch scheme {
	case "", "http":
		return "80"
	case "https":
		return "443"
	case "socks5", "socks5h":
		return "1080"
	}
	return ""
}

// endpointOf returns the endpoint of u.
func endpointOf(u *url.URL) endpoint {
	e, _ := locate(u)
	return e
}

// locate returns the endpoint of u, and whether its host is one that splitPlain
// takes. It allocates only for others.
func locate(u *url.URL) (e endpoint, plain bool) {
	e.scheme = u.Scheme
	host, port, plain := splitPlain(u.Host)
	if !plain {
		host, port = u.Hostname(), u.Port()
		var zone string
		var zoned bool
		host, zone, zoned = strings.Cut(host, "%")
		host = asciiHost(strings.ToLower(host))
		if zoned { // the name of an interface, in which case matters
			host += "%" + zone
		}
	}
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	e.host, e.port = host, port
	return e, plain
}

// splitPlain splits h if its host is a name, or an address of four bytes, in
// lower case.
func splitPlain(h string) (host, port string, ok bool) {
	host = h
	for i := 0; i < len(h); i++ {
		switch c := h[i]; {
		case '?' <= c && c <= '[', c == '#', c == '%', c >= 0x80: // ?, @, upper case, [
			return "", "", false
		case c == ':':
			if len(host) < len(h) {
				return "", "", false
			}
			host, port = h[:i], h[i+1:]
		}
	}
	return host, port, true
}

// asciiHost returns an internationalised host name in its ASCII form (RFC
// 5891). The conversion is net/http's own: it is what a request for that host
// carries in its Host field.
func asciiHost(host string) string {
	for i := 0; i < len(host); i++ {
		if host[i] >= 0x80 {
			return punycode(host)
		}
	}
	return host
}

func punycode(host string) string {
	req := http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: host}
	var b bytes.Buffer
	if req.Write(&b) != nil {
		return host
	}
	_, rest, _ := strings.Cut(b.String(), "Host: ")
	ascii, _, _ := strings.Cut(rest, "\r\n")
	if ascii == "" {
		return host
	}
	return ascii
}

// upgrades reports whether req asks to switch its connection to another
// protocol (RFC 9110, section 7.8).
func upgrades(req *http.Request) bool {
	if len(req.Header["Upgrade"]) == 0 || req.Header["Upgrade"][0] == "" {
		return false
	}
	for _, v := range req.Header["Connection"] {
		if hasToken(v, "upgrade") {
			return true
		}
	}
	return false
}

// hasToken reports whether the comma-separated list v holds token.
func hasToken(v, token string) bool {
	for part := range strings.SplitSeq(v, ",") {
		if strings.EqualFold(strings.Trim(part, " \t"), token) {
			return true
		}
	}
	return false
}
