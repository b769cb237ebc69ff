package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
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
	conns map[net.Conn]health // guarded by mu
}

// health is what has become of a connection. One that no request has come on
// is not parked: a client may still be dialing it.
type health int

const (
	fresh health = iota
	parkable
	dead
)

type connKey struct{}

func newPoison(protocol string) *poison {
	p := &poison{protocol: protocol, conns: map[net.Conn]health{}}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // it tells of every connection that is closed on purpose
	p.Listener = &poisonListener{listener{p.Listener}, p}
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
		l.p.conns[c] = fresh
		l.p.mu.Unlock()
	}
	return c, err
}

func (p *poison) serve(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(connKey{}).(net.Conn)
	p.requests.Add(1)
	p.mu.Lock()
	died := p.conns[conn] == dead
	if !died {
		p.conns[conn] = parkable
	}
	p.mu.Unlock()
	if died {
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

// kill lets every connection die that requests were served on.
func (p *poison) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, h := range p.conns {
		if h == parkable {
			p.conns[c] = dead
		}
	}
}

// accepted is the number of connections that there ever were.
func (p *poison) accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// poisonedCalls is how many calls each contestant makes at each number of
// goroutines.
const poisonedCalls = 192

// poisonedCase is what is done with parked connections that died.
type poisonedCase struct {
	Protocol, Method string
	Goroutines       int
}

func poisonedCases() []poisonedCase {
	var cs []poisonedCase
	for _, protocol := range worldNames[1:] {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			for _, g := range concurrency {
				cs = append(cs, poisonedCase{protocol, method, g})
			}
		}
	}
	return cs
}

// parked is how many connections die at once on HTTP/1, and how many calls
// follow; on HTTP/2 it is the calls that a client parks on the connections that
// it dials for them.
func (c poisonedCase) parked() int { return max(8, c.Goroutines) }

// poisoned is what one contestant's callers saw.
type poisoned struct {
	Name     string
	Calls    int
	Errors   int
	Requests int64    // that the server saw on dead and living connections
	Conns    int      // that the server accepted for these calls
	Time     interval // ns per call of all goroutines together
	Bytes    uint64   // all calls, the server's part included
	Allocs   uint64
}

// measure parks connections, lets them die, and then sends as many requests,
// for each contestant.
func (c poisonedCase) measure() (out []poisoned, samples []series) {
	for _, who := range contestants() {
		r, times := c.meet(who)
		out = append(out, r)
		samples = append(samples, contest{[][]float64{times}, []int{c.parked()}}.series(
			benchmark("Poisoned", "protocol", c.Protocol, "method", c.Method, "goroutines", c.Goroutines), nameOn(who.name))...)
	}
	return out, samples
}

func (c poisonedCase) name() string {
	return fmt.Sprintf("%s/%s/%d", label(c.Protocol), c.Method, c.Goroutines)
}

// meet returns what one contestant's callers saw, and the time of a call in each round.
func (c poisonedCase) meet(who contestant) (r poisoned, times []float64) {
	srv := newPoison(c.Protocol)
	base := baseFor(srv.Server, c.Protocol)
	base.MaxIdleConnsPerHost = c.parked()
	s := &scope{}
	e := who.enter(ground{base, srv.URL, s})
	var body func() io.Reader
	if c.Method != http.MethodGet {
		body = func() io.Reader { return bytes.NewReader([]byte(`{"state":"paid"}`)) }
	}
	errs := make([]int, c.Goroutines)
	i := 0
	calls := teamOf(c.Goroutines, func() op {
		send, n := e.member(c.Method, body), &errs[i]
		i++
		return func() {
			if send() {
				*n++
			}
		}
	})
	parking := teamOf(c.parked(), func() op {
		send := e.member(http.MethodGet, nil)
		return func() {
			if send() {
				srv.gate.Load().Done() // the server did not come to it
			}
		}
	})
	r = poisoned{Name: who.name, Calls: poisonedCalls}
	each := c.parked() / c.Goroutines
	for range poisonedCalls / c.parked() {
		srv.park(parking)
		srv.kill()
		requests, conns := srv.requests.Load(), srv.accepted()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took := calls.run(each, wallClock)
		runtime.ReadMemStats(&after)
		times = append(times, float64(took)/float64(c.parked()))
		r.Bytes += after.TotalAlloc - before.TotalAlloc
		r.Allocs += after.Mallocs - before.Mallocs
		r.Requests += srv.requests.Load() - requests
		r.Conns += srv.accepted() - conns
		e.flush()
		s.end()
	}
	for _, n := range errs {
		r.Errors += n
	}
	s.leave()
	e.close()
	base.CloseIdleConnections()
	srv.CloseClientConnections()
	srv.Close()
	r.Time = intervalOf(times)
	return r, times
}

// park fills a contestant's pool: all requests are at the server at the same time.
func (p *poison) park(t team) {
	var all sync.WaitGroup
	all.Add(len(t))
	p.gate.Store(&all)
	t.run(1, wallClock)
	p.gate.Store(nil)
}
