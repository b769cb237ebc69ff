package client

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/events"
	"github.com/plimsoll-http/plimsoll/events/eventstest"
	"github.com/plimsoll-http/plimsoll/internal/faultserver/memconn"
)

// rig is a client and a net/http server, connected by buffered in-memory
// connections. Inside synctest.Test its time is virtual.
type rig struct {
	t        testing.TB
	client   *Client
	rec      *eventstest.Recorder
	listener *memconn.Listener
	server   *http.Server
	url      string

	mu   sync.Mutex
	hits []hit // guarded by mu
}

type hit struct {
	method, path, body, conn string
	at                       time.Duration // since the rig's start
	header                   http.Header
}

// inBubble runs f in virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// newRig starts the server with handler and a client with cfg, whose Transport,
// Hooks and NoTelemetry it sets.
func newRig(t testing.TB, cfg Config, handler http.Handler) *rig {
	t.Helper()
	r := &rig{t: t, rec: eventstest.NewRecorder(), listener: memconn.Listen(), url: "http://origin.test"}
	start := time.Now()
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.hits = append(r.hits, hit{req.Method, req.URL.Path, string(body), req.RemoteAddr, time.Since(start), req.Header.Clone()})
		r.mu.Unlock()
		handler.ServeHTTP(w, req)
	})}
	go r.server.Serve(r.listener)
	if cfg.Base == nil {
		if cfg.Transport == nil {
			cfg.Transport = &http.Transport{}
		}
		cfg.Transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return r.listener.DialContext(ctx, network, addr)
		}
	}
	cfg.Hooks = events.Join(r.rec.Hooks(), cfg.Hooks)
	cfg.NoTelemetry = true
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	r.client.Close()
	r.server.Close()
}

func (r *rig) requests() []hit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hit(nil), r.hits...)
}

// quiet swallows what a test server says about clients that leave.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// partition is the budget key of the rig's origin.
const partition = "http://origin.test:80"

func (r *rig) level() int { return r.client.transport.cfg.Budget.Level(partition) }

// do sends a request and reads the response's body.
func (r *rig) do(ctx context.Context, method string, body io.Reader) (*http.Response, string, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.url+"/path", body)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if resp != nil {
			r.t.Fatalf("both a response and an error: %v", err)
		}
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("reading the body: %v", err)
	}
	return resp, string(text), nil
}

func (r *rig) get() (*http.Response, string, error) {
	return r.do(context.Background(), http.MethodGet, nil)
}

// statuses answers with the given statuses in turn, the last one for ever. A
// status may carry a Retry-After: "429 Retry-After: 5". Bodies are the status.
func statuses(list ...string) http.Handler {
	var mu sync.Mutex
	i := 0
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		s := list[min(i, len(list)-1)]
		i++
		mu.Unlock()
		code, header, _ := strings.Cut(s, " ")
		if k, v, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(k, v)
		}
		n, _ := strconv.Atoi(code)
		w.WriteHeader(n)
		io.WriteString(w, "body of "+code)
	})
}

// capacity is a budget with the default costs and a level of its own.
func capacity(t testing.TB, n int) *budget.Bucket {
	t.Helper()
	c := budget.Default()
	c.Capacity = n
	b, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spend takes n tokens for good.
func spend(t testing.TB, b *budget.Bucket, n int) {
	t.Helper()
	for ; n > 0; n -= 10 {
		res, err := b.Reserve(partition, budget.Transient)
		if err != nil {
			t.Fatal(err)
		}
		res.Settle(budget.Charge)
	}
}

// kinds lists the events in order, by type name, connection events left out.
func (r *rig) kinds() string {
	var names []string
	for _, e := range r.rec.Timeline() {
		name := strings.TrimPrefix(typeName(e), "events.")
		if !strings.HasPrefix(name, "Conn") {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
