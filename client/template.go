package client

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"
)

// template returns the transport that the pool is made from.
func template(given *http.Transport) *http.Transport {
	if given != nil {
		return copyOf(given)
	}
	if stock, ok := http.DefaultTransport.(*http.Transport); ok {
		return stock.Clone()
	}
	// Something else stands in http.DefaultTransport: its stock values.
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// copyOf copies the exported fields of t. Transport.Clone would do, but it sets
// HTTP/2 up on the transport that it clones: TLSNextProto and TLSClientConfig
// of the caller's value would change.
func copyOf(t *http.Transport) *http.Transport {
	out := new(http.Transport)
	from, to := reflect.ValueOf(t).Elem(), reflect.ValueOf(out).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	if t.TLSClientConfig != nil {
		out.TLSClientConfig = t.TLSClientConfig.Clone()
		// Clone shares the list's array, and net/http appends to the list.
		out.TLSClientConfig.NextProtos = slices.Clone(t.TLSClientConfig.NextProtos)
	}
	out.ProxyConnectHeader = t.ProxyConnectHeader.Clone()
	if t.HTTP2 != nil {
		h2 := *t.HTTP2
		out.HTTP2 = &h2
	}
	if t.Protocols != nil {
		p := *t.Protocols
		out.Protocols = &p
	}
	out.TLSNextProto = maps.Clone(t.TLSNextProto)
	if _, ok := out.TLSNextProto["h2"]; ok {
		// net/http filled it in at the first use: the entry belongs to t, and
		// HTTP/2 is wanted. (An empty map, which says no to HTTP/2, stays.)
		out.TLSNextProto, out.ForceAttemptHTTP2 = nil, true
	}
	return out
}
