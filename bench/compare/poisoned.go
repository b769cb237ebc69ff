package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
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

// accepted is the number of connections that there ever were.
func (p *poison) accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
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
	conns    int   // that the server accepted for these calls
	took     time.Duration
	bytes    uint64 // all calls, the server's part included
	allocs   uint64
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
			requests, conns, send := srv.requests.Load(), srv.accepted(), e.member(method, body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			for range parked {
				r.calls++
				if send() {
					r.errors++
				}
			}
			r.took += time.Since(start)
			runtime.ReadMemStats(&after)
			r.bytes += after.TotalAlloc - before.TotalAlloc
			r.allocs += after.Mallocs - before.Mallocs
			r.requests += srv.requests.Load() - requests
			r.conns += srv.accepted() - conns
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
