package web

import (
	"fmt"
	"net"
	"strings"
)

// Listen listens on address, which must be one of loopback: an IP address or
// localhost, with a port. Port 0 means a free one.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("web: listen address %q: use host:port, such as 127.0.0.1:8484", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("web: listen address %q is not loopback: whoever can reach the page can make trouble; use 127.0.0.1 or localhost", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("web: %s is %s, which is not loopback", address, l.Addr())
	}
	return l, nil
}

// hosts returns the Host headers that mean the listener at addr.
func hosts(addr net.Addr) []string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil
	}
	out := []string{net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)}
	if port == "80" {
		out = append(out, strings.TrimSuffix(out[0], ":80"), "localhost")
	}
	return out
}
