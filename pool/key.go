package pool

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// key says which requests may share a connection, apart from its flavour.
type key struct {
	scheme string // "http" or "https"
	addr   string // canonical host:port; "" for http through an HTTP proxy, whose connections serve any host
	proxy  string // the proxy's URL with its credentials; "" for none. Never shown
}

// flavour tells connections that may speak any allowed protocol from those
// that were made for HTTP/1 alone.
type flavour uint8

const (
	anyProtocol flavour = iota
	onlyHTTP1           // for requests that upgrade their connection, where HTTP/2 is possible
)

// origin returns scheme://host:port.
func origin(scheme, addr string) string { return scheme + "://" + addr }

var defaultPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// canonicalAddr returns u's host:port: lower case, in ASCII, the port always
// given. It returns u.Host itself where that is canonical already.
func canonicalAddr(u *url.URL) string {
	if isCanonical(u.Host) {
		return u.Host
	}
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	host, zone, zoned := strings.Cut(u.Hostname(), "%")
	host = asciiHost(strings.ToLower(host))
	if zoned { // the name of an interface, in which case matters
		host += "%" + zone
	}
	return net.JoinHostPort(host, port)
}

// isCanonical reports whether h is a lower-case ASCII host with a port.
func isCanonical(h string) bool {
	colon := -1
	for i := 0; i < len(h); i++ {
		switch c := h[i]; {
		case 'A' <= c && c <= 'Z', c >= 0x80, c == '%', c == '[':
			return false
		case c == ':':
			if colon >= 0 {
				return false
			}
			colon = i
		}
	}
	return colon > 0 && colon < len(h)-1
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

// proxied reports whether connections through proxy for scheme serve any host.
func proxied(proxy *url.URL, scheme string) bool {
	return proxy != nil && scheme == "http" && (proxy.Scheme == "http" || proxy.Scheme == "https" || proxy.Scheme == "")
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
