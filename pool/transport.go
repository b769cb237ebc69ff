package pool

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-http/plimsoll/events"
)

// Transport is the pool. It is an [http.RoundTripper], safe for concurrent use
// by any number of goroutines, and must not be copied.
type Transport struct {
	cfg  Config
	base *http.Transport // never written, never dials

	hookPanics atomic.Uint64

	// Lock order: a lock of net/http that is held while it closes a socket,
	// then mu, then the mutex of an HTTP/2 client connection (Err, Available,
	// InFlight). Under mu nothing of an HTTP/1 client connection but Err is
	// called, no socket is closed, and no code of the user runs.
	mu       sync.Mutex
	groups   map[key]*group           // guarded by mu; a group without sockets, waiters and users is deleted
	latest   *group                   // guarded by mu; the one asked for last; nil, or in groups
	lru      conn                     // guarded by mu; ring of idle connections: lru.newer is the oldest, lru.older the latest
	idles    int                      // guarded by mu; length of the ring
	janitor  *time.Timer              // guarded by mu; nil before the first idle connection that can expire
	wakeAt   time.Time                // guarded by mu; when the janitor runs next; zero: not armed
	place    uint64                   // guarded by mu; last place in a queue that was given out
	inflight int                      // guarded by mu; requests from their first acquisition to their body's end
	state    lifecycle                // guarded by mu
	drained  chan struct{}            // guarded by mu; closed when inflight is 0 and state is not open; nil before Shutdown
	noPark   bool                     // guarded by mu; CloseIdleConnections was called and nothing was asked for since
	lost     OriginStats              // guarded by mu; counters of deleted groups
	private  map[variant]*privateBase // guarded by mu; made anew when the base's fields changed
}

// lifecycle is the state of a whole pool. It only moves forward.
type lifecycle uint8

const (
	running  lifecycle = iota
	draining           // Shutdown: running requests go on, new ones are refused
	closed             // Close: everything is refused
)

// lastConn is the number of the last connection dialled in this process.
var lastConn atomic.Uint64

// New returns a pool. Its errors name the field and the value.
func New(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	base := cfg.Base
	if base == nil {
		if def, ok := http.DefaultTransport.(*http.Transport); ok {
			base = def
		} else {
			base = stockTransport()
		}
	}
	t := &Transport{cfg: cfg, base: base, groups: make(map[key]*group)}
	t.lru.older, t.lru.newer = &t.lru, &t.lru
	return t, nil
}

// RoundTrip sends req on a connection of the pool, on another one if that was
// dead (see the package comment), and returns a response or an error, never
// both. It closes the request's body exactly once, and does not change req.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchange{t: t, req: req, cancel: req.Cancel} //nolint:staticcheck // http.Client.Timeout sets it
	if err := validate(req); err != nil {
		closeBody(req)
		return nil, err
	}
	x.ctx = req.Context()
	if x.attempt = attemptFrom(x.ctx); x.attempt != nil {
		x.attempt.reset()
	}
	x.hooks = hooks{t: t, of: events.From(x.ctx)}
	defer x.unwind()
	return x.run()
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
