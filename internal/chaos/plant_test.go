package chaos

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// plant breaks something on purpose, to show that it is noticed.
type plant struct {
	rig    func(*client.Config) // changes a client's configuration
	before func(*party)         // runs before the calls
	after  func(*party)         // runs after them
	clear  func()               // runs at the end, when all has been looked at
}

// plain is a round in memory with something of everything, in which nothing is
// excused.
func plain(seed uint64) *world {
	w := newWorld(seed, 40)
	w.memory, w.unit, w.patience = true, time.Second, 2*time.Minute
	w.workers, w.faulty, w.storms = 16, 40, true
	w.maxConns, w.maxIdle, w.capacity, w.sizes, w.large = 2, 2, 500, sizeOdds, false
	w.reloads, w.switches, w.listens, w.unasked, w.anything, w.noReuse = false, false, false, false, false, false
	w.breaks, w.fallback, w.timeout, w.bridged, w.streams, w.closing = true, false, false, false, 0, -1
	for n := range w.states {
		w.states[n] = newState(w, w.plan(n))
	}
	return w
}

// first returns a call of the round that is as wanted.
func (w *world) first(want func(*state) bool) *state {
	for _, s := range w.states {
		if want(s) {
			return s
		}
	}
	panic("chaos: no call of the round is as wanted")
}

// h1 is the key of the first origin.
const h1 = "http://h1.test:80"

// again has the hooks called twice, or not at all, for one event.
func again(h *events.Hooks) func(*client.Config) {
	return func(cfg *client.Config) { cfg.Hooks = events.Join(cfg.Hooks, h) }
}

func without(drop func(*events.Hooks)) func(*client.Config) {
	return func(cfg *client.Config) { drop(cfg.Hooks) }
}

// dialing changes how a client dials.
func dialing(change func(ctx context.Context, addr string, dial func() (net.Conn, error)) (net.Conn, error)) func(*client.Config) {
	return func(cfg *client.Config) {
		inner := cfg.Transport.DialContext
		cfg.Transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return change(ctx, addr, func() (net.Conn, error) { return inner(ctx, network, addr) })
		}
	}
}

// bent is a connection whose last byte of a write is another.
type bent struct{ net.Conn }

func (b bent) Write(p []byte) (int, error) {
	if !bytes.HasSuffix(p, []byte("\n")) {
		p = bytes.Clone(p)
		p[len(p)-1]++
	}
	return b.Conn.Write(p)
}

// answering adds a fault that most requests meet.
func answering(script func(*reply) fs.Script) func(*world) {
	return func(w *world) {
		w.faults = append(w.faults, fault{name: "planted", weight: 1000, request: script})
	}
}

func says(text string, wants []string) bool {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			return false
		}
	}
	return true
}

// leftover leaves a goroutine until all has been looked at.
func leftover() plant {
	var end chan struct{}
	return plant{
		after: func(*party) { end = make(chan struct{}); go func() { <-end }() },
		clear: func() { close(end) },
	}
}

// sentOnce holds for a call that was one request over HTTP/1.1 without TLS.
func sentOnce(s *state) bool {
	return s.host == 0 && s.ran && s.shape == sized && len(s.arrivals[0]) == 1 && len(s.hops) == 1 && len(s.hops[0].done) == 1 &&
		s.hops[0].done[0].Attempts+s.hops[0].done[0].Recoveries == 1 && s.err == nil
}

// twice notes the call's arrival a second time.
func (s *state) twice() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals[0] = append(s.arrivals[0], s.arrivals[0]...)
}

// send makes a request besides the plan, as one of the call's. Without closing
// its body it makes it until there is an answer.
func (s *state) send(p *party, path string, closing bool) {
	for range 50 {
		req, err := http.NewRequestWithContext(context.WithValue(context.Background(), stateKey{}, s), http.MethodGet, hosts[s.host].url+path, nil)
		if err != nil {
			panic(err)
		}
		resp, err := p.of(s.host).Transport.RoundTrip(req)
		if err != nil {
			continue
		}
		if closing {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return
	}
}
