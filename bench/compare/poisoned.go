package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
)

// poison is a server that parks connections and then answers no request on
// them: it closes the socket when the next one arrives, as a server that died
// meanwhile does.
type poison struct {
	*httptest.Server
	protocol string
	requests atomic.Int64
	gate     atomic.Pointer[sync.WaitGroup] // while connections are parked: all of them get a request

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu; true: poisoned
}

type connKey struct{}

func newPoison(protocol string) *poison {
	p := &poison{protocol: protocol, conns: map[net.Conn]bool{}}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it tells of every connection that is closed on purpose
	p.Listener = &poisonListener{p.Listener, p}
	p.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = t.NetConn()
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	start(p.Server, protocol)
	return p
}

type poisonListener struct {
	net.Listener
	p *poison
}

func (l *poisonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.p.mu.Lock()
		l.p.conns[c] = false
		l.p.mu.Unlock()
	}
	return c, err
}

func (p *poison) serve(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(connKey{}).(net.Conn)
	p.requests.Add(1)
	p.mu.Lock()
	dead := p.conns[conn]
	p.mu.Unlock()
	if dead {
		conn.Close()
		panic(http.ErrAbortHandler)
	}
	if g := p.gate.Load(); g != nil {
		g.Done()
		g.Wait()
	}
	io.Copy(io.Discard, r.Body) //nolint:errcheck // it counts nothing
	io.WriteString(w, "ok")     //nolint:errcheck // it counts nothing
}

// kill poisons every connection that there is.
func (p *poison) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		p.conns[c] = true
	}
}

// What a contestant meets in each round.
const (
	poisonRounds = 20
	parked       = 8 // connections on HTTP/1; one on HTTP/2
)

// poisoned is what one contestant's callers saw.
type poisoned struct {
	name     string
	calls    int
	errors   int
	requests int64 // that the server saw on dead and living connections
}

// poisonedPool parks connections, lets them die, and then sends as many
// requests one after the other, for each contestant.
func poisonedPool(protocol, method string) []poisoned {
	var out []poisoned
	for _, who := range contestants() {
		srv := newPoison(protocol)
		base := baseFor(srv.Server, protocol)
		base.MaxIdleConnsPerHost = parked
		e := who.enter(base, srv.URL)
		var body func() io.Reader
		if method != http.MethodGet {
			body = func() io.Reader { return bytes.NewReader([]byte(`{"state":"paid"}`)) }
		}
		r := poisoned{name: who.name}
		for range poisonRounds {
			srv.park(e)
			srv.kill()
			before, send := srv.requests.Load(), e.member(method, body)
			for range parked {
				r.calls++
				if send() {
					r.errors++
				}
			}
			r.requests += srv.requests.Load() - before
		}
		out = append(out, r)
		e.close()
		base.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	}
	return out
}

// park fills the pool of e: all requests are at the server at the same time.
func (p *poison) park(e entry) {
	var all sync.WaitGroup
	all.Add(parked)
	p.gate.Store(&all)
	teamOf(parked, func() op {
		send := e.member(http.MethodGet, nil)
		return func() {
			if send() {
				all.Done() // the server did not come to it
			}
		}
	}).run(1, wallClock)
	p.gate.Store(nil)
}
