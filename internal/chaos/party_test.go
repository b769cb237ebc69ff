package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/pool"
)

// secret must never show.
const secret = "s3cr3t"

// party is the clients of a round, or of many rounds one after the other: one
// for HTTP/1.1 and HTTP/2 over TLS, one for HTTP/2 without. They share budget
// and breaker.
type party struct {
	world   atomic.Pointer[world] // the round that it is in
	clients [2]*client.Client
	budget  *budget.Bucket
	breaker *breaker.Breaker // nil: none
	ledger  ledger
	closed  atomic.Bool

	mu      sync.Mutex
	sockets map[slot]int // open ones, dials included; guarded by mu
}

// slot is what a limit on sockets holds for.
type slot struct {
	client     int
	generation uint64
	stream     bool // the pool of streams
	host       int
}

func newParty(w *world) (*party, error) {
	p := &party{sockets: map[slot]int{}}
	p.ledger.reset()
	p.world.Store(w)
	costs := budget.Default()
	costs.Capacity = w.capacity
	var err error
	if p.budget, err = budget.New(costs); err != nil {
		return nil, err
	}
	if w.breaks {
		p.breaker, err = breaker.New(breaker.Config{ConsecutiveFailures: 6, FailureRate: 0.7, MinCalls: 15, BucketWidth: 20 * w.unit, Cooldown: 3 * w.unit, MaxCooldown: 10 * w.unit})
		if err != nil {
			return nil, err
		}
	}
	for i := range p.clients {
		if p.clients[i], err = client.New(p.config(w, i)); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *party) close() error {
	p.closed.Store(true)
	var errs []error
	for _, c := range p.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// of returns the client that speaks to a host.
func (p *party) of(host int) *client.Client {
	if hosts[host].proto == fs.H2C {
		return p.clients[1]
	}
	return p.clients[0]
}

func (p *party) config(w *world, n int) client.Config {
	unencrypted := n == 1
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetHTTP1(!unencrypted)
	protocols.SetUnencryptedHTTP2(unencrypted)
	cfg := client.Config{
		Name: "chaos",
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return p.dial(ctx, n, addr) }, Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: authority.Pool()},
			MaxConnsPerHost: w.maxConns, MaxIdleConnsPerHost: w.maxIdle, DisableKeepAlives: w.noReuse,
			IdleConnTimeout: 40 * w.unit, TLSHandshakeTimeout: 6 * w.unit, ExpectContinueTimeout: 2 * w.unit,
			MaxResponseHeaderBytes: 64 << 10,
		},
		Pool:                  pool.Config{PingInterval: 4 * w.unit, MaxConnWait: 60 * w.unit},
		Budget:                p.budget,
		Breaker:               p.breaker,
		Retry:                 client.RetryPolicy{RetryNonIdempotent: w.anything, BaseDelay: w.unit / 40, MaxDelay: 2 * w.unit},
		MaxTotalRetryDuration: 30 * w.unit,
		AttemptTimeout:        8 * w.unit,
		BodyIdleTimeout:       8 * w.unit,
		MaxResponseBytes:      1 << 20,
		Stream:                client.StreamConfig{ConnectTimeout: 8 * w.unit, HeaderTimeout: 8 * w.unit, ReadIdleTimeout: 8 * w.unit, Resume: true},
		Hooks:                 p.hooks(),
		NoTelemetry:           !w.bridged,
	}
	if w.timeout {
		cfg.Timeout = w.patience
	}
	if w.breaks && w.fallback {
		cfg.BreakerFallback = fallback
	}
	if w.plant.rig != nil {
		w.plant.rig(&cfg)
	}
	return cfg
}

// fallback answers half of the calls that the breaker refuses.
func fallback(req *http.Request, _ *breaker.RejectedError) (*http.Response, error) {
	if len(req.URL.Path)%2 == 0 {
		return nil, errFallback
	}
	return &http.Response{
		StatusCode: http.StatusTeapot, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"X-Fallback": {"yes"}}, Body: http.NoBody,
	}, nil
}

type generationKey struct{}

// dial reaches the round's server for addr, or fails as planned. It counts the
// socket from before the dial until it is closed.
func (p *party) dial(ctx context.Context, n int, addr string) (net.Conn, error) {
	w := p.world.Load()
	host := 0
	for i, h := range hosts {
		if strings.HasPrefix(addr, h.name) {
			host = i
		}
	}
	st := stateOf(ctx)
	if st == nil {
		return nil, fmt.Errorf("chaos: a dial of %s for nobody", addr)
	}
	generation, _ := ctx.Value(generationKey{}).(uint64)
	at := slot{n, generation, st.via == viaStream, host}
	p.count(w, at, 1)
	gone := sync.OnceFunc(func() { p.count(w, at, -1) })
	r := w.rng(4, uint64(st.n)<<16|st.dials.Add(1))
	if r.IntN(1000) < 12 {
		fault := w.draw(r.IntN, hosts[host].proto, func(f *fault) bool { return f.dial != nil })
		w.tally.fault(fault.name)
		err := fault.dial(ctx, w.unit)
		gone()
		return nil, err
	}
	server := w.fleet.servers[host]
	c, err := server.DialContext(ctx, "tcp", server.Addr())
	if err != nil {
		gone()
		return nil, err
	}
	return &socket{Conn: c, w: w, gone: gone, plain: hosts[host].proto == fs.H1}, nil
}

func (p *party) count(w *world, at slot, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sockets[at] += n
	open := p.sockets[at]
	if open == 0 {
		delete(p.sockets, at)
	}
	if n > 0 && w.maxConns > 0 && open > w.maxConns {
		w.breach("%d sockets to %s in generation %d, MaxConnsPerHost is %d", open, hosts[at.host].name, at.generation, w.maxConns)
	}
}

// open returns how many sockets there are.
func (p *party) open() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.sockets {
		n += k
	}
	return n
}

// socket tells its close, and, on HTTP/1.1 without TLS, which requests have
// begun on it.
type socket struct {
	net.Conn
	w     *world
	gone  func()
	plain bool
}

func (s *socket) Close() error {
	err := s.Conn.Close()
	s.gone()
	return err
}

func (s *socket) CloseWrite() error {
	return s.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

func (s *socket) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	if s.plain && n > 0 {
		s.begun(b)
	}
	return n, err
}

// begun notes a request whose first byte was written.
func (s *socket) begun(b []byte) {
	line, _, _ := bytes.Cut(b[:min(len(b), 200)], []byte("\r\n"))
	fields := strings.Fields(string(line))
	if len(fields) != 3 || fields[2] != "HTTP/1.1" || !strings.HasPrefix(fields[1], "/c/") {
		return
	}
	path, _, _ := strings.Cut(fields[1], "?")
	if st, hop := s.w.locate(path); st != nil {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.written[hop]++
	}
}

// upset does what the call's plan says besides.
func (p *party) upset(st *state) {
	w := st.w
	r := w.rng(5, uint64(st.n))
	switch st.first {
	case parkedFault:
		w.fleet.disturb(st.host, r.IntN)
	case killAll:
		w.fleet.servers[st.host].KillAll(fs.How(r.IntN(3)))
	case goAway:
		w.fleet.servers[st.host].GoAway(0)
	case closeIdle:
		p.of(st.host).CloseIdleConnections()
	case reload, badReload:
		p.reload(w, st, r.IntN)
	case retriesOff:
		p.clients[0].SetRetries(false)
	case look:
		p.of(st.host).Stats()
		p.of(st.host).DebugHandler().ServeHTTP(discard{}, &http.Request{Method: "GET"})
	case closeClient:
		w.tally.add("closed clients", 1)
		if err := p.close(); err != nil {
			w.breach("Close: %v", err)
		}
	default:
		if st.n%50 == 0 && w.switches {
			p.clients[0].SetRetries(true)
		}
	}
}

// reload swaps the certificates, or tries to with broken ones.
func (p *party) reload(w *world, st *state, intn func(int) int) {
	c := p.of(st.host)
	if st.first == badReload {
		w.tally.add("refused reloads", 1)
		if err := c.Reload(client.TLSMaterial{RootCAs: []byte("no certificate")}); err == nil {
			w.breach("call %d: Reload took broken material", st.n)
		}
		return
	}
	pems := [][]byte{authority.PEM(), bytes.Repeat(authority.PEM(), 2)}
	err := c.Reload(client.TLSMaterial{RootCAs: pems[intn(len(pems))]})
	if err != nil && !(p.closed.Load() && errors.Is(err, client.ErrClosed)) {
		w.breach("call %d: Reload: %v", st.n, err)
	}
}

// discard is a response writer that keeps nothing.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
