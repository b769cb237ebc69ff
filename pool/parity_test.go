package pool_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// The tests of this file run the same exchanges over http.Transport and over
// the pool, and compare everything that a caller or the server can see.

// journal records a trace and a response, as text.
type journal struct {
	mu    sync.Mutex
	lines []string // guarded by mu
	wrote bool     // guarded by mu
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// take returns the lines and forgets them. When a request counts as written,
// and that its writer waits for 100-continue, which it says behind the bytes that
// the server may answer at once, are a matter of two goroutines: their lines come
// last. On HTTP/2 all lines of the
// writing goroutine and those of the reading one are put in order, and of
// GetConn, which http.Transport says for each of its pools in which it looks, one
// with the address of the proxy and one with that of the server, one is left.
func (j *journal) take(multiplexed bool) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	if multiplexed {
		slices.SortStableFunc(lines, func(a, b string) int { return stage(a) - stage(b) })
		for len(lines) > 1 && strings.HasPrefix(lines[1], "GetConn") {
			lines = lines[1:]
		}
		if len(lines) > 0 && strings.HasPrefix(lines[0], "GetConn") {
			lines[0] = "GetConn"
		}
	}
	if i := slices.Index(lines, waitLine); i >= 0 {
		lines = append(slices.Delete(lines, i, i+1), waitLine)
	}
	if j.wrote {
		lines = append(lines, "WroteRequest")
	}
	j.lines, j.wrote = nil, false
	return lines
}

const waitLine = "Wait100Continue"

// stage tells the lines of the dial, the writing and the reading apart.
func stage(line string) int {
	switch {
	case strings.HasPrefix(line, "Wrote"):
		return 1
	case strings.HasPrefix(line, "Got") && !strings.HasPrefix(line, "GotConn"):
		return 2
	}
	return 0
}

func (j *journal) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(hostPort string) { j.add("GetConn %s", hostPort) },
		GotConn: func(i httptrace.GotConnInfo) {
			j.add("GotConn conn=%v reused=%v idle=%v for %v", i.Conn != nil, i.Reused, i.WasIdle, i.IdleTime)
		},
		PutIdleConn:          func(err error) { j.add("PutIdleConn failed=%v", err != nil) },
		GotFirstResponseByte: func() { j.add("GotFirstResponseByte") },
		Got100Continue:       func() { j.add("Got100Continue") },
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			j.add("Got1xxResponse %d %v", code, h)
			return nil
		},
		DNSStart:          func(i httptrace.DNSStartInfo) { j.add("DNSStart %s", i.Host) },
		DNSDone:           func(i httptrace.DNSDoneInfo) { j.add("DNSDone failed=%v", i.Err != nil) },
		ConnectStart:      func(network, addr string) { j.add("ConnectStart %s", network) },
		ConnectDone:       func(network, addr string, err error) { j.add("ConnectDone %s failed=%v", network, err != nil) },
		TLSHandshakeStart: func() { j.add("TLSHandshakeStart") },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			j.add("TLSHandshakeDone h2=%v failed=%v", s.NegotiatedProtocol == "h2", err != nil)
		},
		WroteHeaderField: func(key string, values []string) {
			if key != "X-Request-Id" && key != "x-request-id" {
				j.add("WroteHeaderField %s %v", key, values)
			}
		},
		WroteHeaders:    func() { j.add("WroteHeaders") },
		Wait100Continue: func() { j.add(waitLine) },
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.wrote = i.Err == nil
		},
	}
}

// exchangeCase is an exchange that both transports make.
type exchangeCase struct {
	name   string
	on     []faultserver.Protocol // nil: all
	method string
	body   func() io.Reader
	change func(*http.Request)
	script faultserver.Script
	read   int // bytes of the response to read before Close; 0: all
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

func setHeader(key, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(key, value) }
}

func exchangeCases() []exchangeCase {
	do := faultserver.Do
	large := string(faultserver.Pattern(1 << 20))
	return []exchangeCase{
		{name: "plain", method: "GET"},
		{name: "again", method: "GET"},
		{name: "POST", method: "POST", body: text("payload")},
		{name: "PUT of unknown length", method: "PUT", body: func() io.Reader { return newOneShot("payload") }},
		{name: "large upload", method: "PUT", body: text(large)},
		{name: "large download", method: "GET", script: do(faultserver.Body{Size: 1 << 20})},
		{name: "HEAD", method: "HEAD"},
		{name: "204", method: "GET", script: faultserver.Respond(204, "")},
		{name: "304", method: "GET", script: faultserver.Respond(304, "")},
		{name: "404", method: "GET", script: faultserver.Respond(404, "no")},
		{name: "redirect", method: "GET", script: faultserver.RespondWith(302, http.Header{"Location": {"/other"}}, "")},
		{name: "trailers", method: "GET", script: do(faultserver.Header{Framing: faultserver.Chunked, Header: http.Header{"Trailer": {"X-Sum"}}},
			faultserver.Body{Data: []byte("body")}, faultserver.Trailer{Header: http.Header{"X-Sum": {"7"}}})},
		{name: "request trailers", method: "PUT", body: func() io.Reader { return newOneShot("payload") }, change: func(r *http.Request) {
			r.Trailer = http.Header{"X-Sum": {"7"}}
		}},
		{name: "gzip", method: "GET", script: faultserver.RespondWith(200, http.Header{"Content-Encoding": {"gzip"}}, string(gzipped("unpacked")))},
		{name: "gzip asked for", method: "GET", change: setHeader("Accept-Encoding", "gzip"), script: faultserver.RespondWith(200, http.Header{"Content-Encoding": {"gzip"}}, string(gzipped("packed")))},
		{name: "early hints", method: "GET", script: do(faultserver.Interim{Status: 103, Header: http.Header{"Link": {"</a>"}}}, faultserver.Interim{Status: 102}, faultserver.Echo{})},
		{name: "100-continue", method: "PUT", body: text("payload"), change: setHeader("Expect", "100-continue")},
		{name: "100-continue refused", method: "PUT", body: text("payload"), change: setHeader("Expect", "100-continue"), on: []faultserver.Protocol{faultserver.H1, faultserver.TLS},
			script: do(faultserver.Header{Status: 417, Header: http.Header{"Connection": {"close"}}}, faultserver.Body{Data: []byte("no")})},
		{name: "100-continue withheld", method: "PUT", body: text("payload"), change: setHeader("Expect", "100-continue"),
			script: do(faultserver.ReadBody{Withhold: true}, faultserver.Header{}, faultserver.Body{Data: []byte("ok")})},
		{name: "the server closes", method: "GET", script: faultserver.RespondWith(200, http.Header{"Connection": {"close"}}, "bye")},
		{name: "after that", method: "GET"},
		{name: "the client closes", method: "GET", change: func(r *http.Request) { r.Close = true }},
		{name: "body closed early", method: "GET", script: do(faultserver.Body{Size: 1 << 20}), read: 10},
		{name: "after that too", method: "GET"},
		{name: "until close", method: "GET", on: http1s, script: do(faultserver.ReadBody{}, faultserver.Header{Framing: faultserver.UntilClose}, faultserver.Body{Size: 100})},
		{name: "other Host", method: "GET", change: func(r *http.Request) { r.Host = "other.test" }},
		{name: "userinfo, query, fragment", method: "GET", change: func(r *http.Request) {
			r.URL.User, r.URL.RawQuery, r.URL.Fragment = urlUser(), "a=b&c", "f"
		}},
		{name: "opaque path", method: "GET", change: func(r *http.Request) { r.URL.RawPath, r.URL.Path = "/a%2Fb", "/a/b" }},
		{name: "a field twice", method: "GET", change: func(r *http.Request) { r.Header["X-Many"] = []string{"1", "2"} }},
		{name: "a field in lower case", method: "GET", change: func(r *http.Request) { r.Header["lower"] = []string{"x"} }},
		{name: "no User-Agent", method: "GET", change: setHeader("User-Agent", "")},
		{name: "OPTIONS *", method: "OPTIONS", change: func(r *http.Request) { r.URL.Opaque = "*" }},
	}
}

func TestExchangesAreThoseOfHTTPTransport(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		t.Run(p.String(), func(t *testing.T) { compareExchanges(t, p, exchangeCases(), func(*rig) func() []string { return nil }) })
	}
}

// Through a proxy: what it and the server see, its credentials included, and
// the trace.
func TestExchangesThroughProxiesAreThoseOfHTTPTransport(t *testing.T) {
	names := []string{"plain", "again", "POST", "large upload", "HEAD", "gzip", "the server closes", "after that", "userinfo, query, fragment"}
	cases := slices.DeleteFunc(exchangeCases(), func(c exchangeCase) bool { return !slices.Contains(names, c.name) })
	for _, scheme := range []string{"http", "https", "socks5", "socks5h"} {
		for _, p := range faultserver.Protocols() {
			if p == faultserver.H2C && strings.HasPrefix(scheme, "http") {
				continue // http.Transport speaks HTTP/1 to such a proxy
			}
			if p == faultserver.H2 && scheme == "https" {
				continue // http.Transport offers the proxy HTTP/2 alone
			}
			t.Run(scheme+"/"+p.String(), func(t *testing.T) {
				compareExchanges(t, p, cases, func(r *rig) func() []string {
					if strings.HasPrefix(scheme, "http") {
						return seenBy(r.throughHTTP(scheme, proxyAuth()))
					}
					s := startSOCKS(r, &socks5{dial: r.srv.DialContext, user: secretUser, password: secretPass})
					r.through(scheme, s.ln.DialContext)
					return s.seen
				})
			})
		}
	}
}

// seenBy returns the requests that a proxy got.
func seenBy(px *faultserver.Server) func() []string {
	return func() []string {
		var lines []string
		for _, r := range px.Requests() {
			lines = append(lines, fmt.Sprintf("%s %s of %s, %v", r.Method, r.Path, r.Host, r.Header))
		}
		return lines
	}
}

// compareExchanges makes the exchanges with both transports, each with a server
// of its own that prepare may put behind a proxy; it returns what that saw.
func compareExchanges(t *testing.T, p faultserver.Protocol, cases []exchangeCase, prepare func(*rig) func() []string) {
	want := runExchanges(t, p, cases, prepare, func(r *rig) http.RoundTripper { return r.base })
	got := runExchanges(t, p, cases, prepare, func(r *rig) http.RoundTripper { return r.pool })
	for name, lines := range got {
		if !slices.Equal(lines, want[name]) {
			t.Errorf("%s:\nthe pool alone:\n\t%s\nhttp.Transport alone:\n\t%s", name,
				strings.Join(without(lines, want[name]), "\n\t"), strings.Join(without(want[name], lines), "\n\t"))
		}
	}
}

// without returns what of lines is not in others; all of them if only the order
// differs.
func without(lines, others []string) []string {
	var out []string
	for _, l := range lines {
		if !slices.Contains(others, l) {
			out = append(out, l)
		}
	}
	if out == nil {
		return lines
	}
	return out
}

// runExchanges makes the exchanges with one transport and returns what was
// seen, by name.
func runExchanges(t *testing.T, p faultserver.Protocol, cases []exchangeCase, prepare func(*rig) func() []string, transport func(*rig) http.RoundTripper) map[string][]string {
	seen := make(map[string][]string)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, faultserver.Config{Protocol: p, Memory: true}, func(b *http.Transport, _ *pool.Config) { b.ExpectContinueTimeout = time.Second })
		proxy := prepare(r)
		for _, c := range cases {
			if c.on == nil || slices.Contains(c.on, p) {
				seen[c.name] = c.run(t, r.srv, transport(r))
			}
		}
		seen["connections"] = []string{fmt.Sprint(r.srv.Stats().Opened)}
		if proxy != nil {
			seen["the proxy"] = proxy()
		}
		r.base.CloseIdleConnections()
		r.pool.CloseIdleConnections()
		synctest.Wait()
		r.wantNothingHeld()
	})
	return seen
}

// run makes the exchange and returns what the caller and the server saw.
func (c exchangeCase) run(t *testing.T, srv *faultserver.Server, rt http.RoundTripper) []string {
	t.Helper()
	var j journal
	ctx := httptrace.WithClientTrace(context.Background(), j.trace())
	var body io.Reader
	if c.body != nil {
		body = c.body()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, srv.URL("/path"), body)
	if err != nil {
		t.Fatal(err)
	}
	if c.change != nil {
		c.change(req)
	}
	if len(c.script.Steps) > 0 {
		srv.Next(c.script)
	}
	began := time.Now()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return append(j.take(srv.Protocol().Multiplexed()), "error "+err.Error())
	}
	if _, ours := rt.(*pool.Transport); ours && resp.Request != req {
		t.Errorf("%s: Response.Request is not the request", c.name) // as it is with http.Transport on HTTP/2
	}
	var got []byte
	if c.read > 0 {
		got = make([]byte, c.read)
		_, err = io.ReadFull(resp.Body, got)
	} else {
		got, err = io.ReadAll(resp.Body)
	}
	closed := resp.Body.Close()
	synctest.Wait()
	lines := append(j.take(srv.Protocol().Multiplexed()),
		fmt.Sprintf("%s %s, length %d, encoding %v, close %v, unpacked %v, TLS %v", resp.Proto, resp.Status, resp.ContentLength, resp.TransferEncoding, resp.Close, resp.Uncompressed, resp.TLS != nil),
		fmt.Sprintf("trailer %v, body of %d bytes %.20q, read %v, closed %v, after %v", resp.Trailer, len(got), got, err, closed, time.Since(began)))
	for k, v := range resp.Header {
		lines = append(lines, fmt.Sprintf("field %s: %v", k, v))
	}
	slices.Sort(lines[len(lines)-len(resp.Header):])
	seen := srv.Requests()
	last := seen[len(seen)-1]
	return append(lines, fmt.Sprintf("the server: number %d, %s %s?%s %s of %s, %d bytes, trailer %v, header %v", len(seen), last.Method, last.Path, last.Query, last.Proto, last.Host, last.BodyBytes, last.Trailer, last.Header))
}

// The lookup, the connect and the handshake of a real dial.
func TestDialsAreTracedAsByHTTPTransport(t *testing.T) {
	for _, p := range faultserver.Protocols() {
		r := newRig(t, faultserver.Config{Protocol: p}, nil)
		url := strings.Replace(r.srv.URL("/"), "127.0.0.1", "localhost", 1)
		var seen [2][]string
		for i, rt := range []http.RoundTripper{r.srv.ClientTransport(), r.pool} {
			var j journal
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), j.trace()), "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := exchange(rt, req); err != nil {
				t.Fatal(err)
			}
			lines := j.take(true)
			seen[i] = lines[:slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "GotConn") })]
		}
		if !slices.Equal(seen[1], seen[0]) || !slices.Contains(seen[1], "DNSStart localhost") || !slices.Contains(seen[1], "ConnectStart tcp") {
			t.Errorf("%v: the pool: %q\nhttp.Transport: %q", p, seen[1], seen[0])
		}
	}
}
