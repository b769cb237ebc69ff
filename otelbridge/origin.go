package otelbridge

import (
	"net"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// endpoint splits a normalised scheme://host:port into server.address, without
// the brackets of an IPv6 address, and server.port. A missing port is the
// scheme's. What is no origin gives the address of [catalog.Shared], port 0.
func endpoint(origin string) (address string, port int) {
	scheme, hostport, ok := strings.Cut(origin, "://")
	if !ok || hostport == "" {
		return catalog.Shared, 0
	}
	if host, text, err := net.SplitHostPort(hostport); err == nil {
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			return host, int(n)
		}
		hostport = host
	}
	hostport = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	switch scheme {
	case "http":
		return hostport, 80
	case "https":
		return hostport, 443
	}
	return hostport, 0
}

// isOrigin reports whether a partition's key has the form of an origin.
func isOrigin(key string) bool { return strings.Contains(key, "://") }

// lowerCase lowers the case of a partition, as the retry budget does.
func lowerCase(partition string) string { return strings.ToLower(partition) }

// clientName is the value of plimsoll.client.
func clientName(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

// ofOrigin is how many of the common attributes say no more than the client and
// the origin.
const ofOrigin = 3

// commonAttributes are those that all metrics of a scope carry: client, address
// and port, and the partition where it is not the origin. The scope that takes
// the rest of a client has the address of [catalog.Other].
func commonAttributes(key scopeKey, other bool) []attribute.KeyValue {
	address, port := catalog.Other, 0
	if !other {
		address, port = endpoint(key.origin)
	}
	kvs := []attribute.KeyValue{
		attribute.String(catalog.KeyClient, clientName(key.client)),
		attribute.String(catalog.KeyAddress, address),
		attribute.Int(catalog.KeyPort, port),
	}
	if key.partition != "" {
		kvs = append(kvs, attribute.String(catalog.KeyPartition, key.partition))
	}
	return kvs
}
