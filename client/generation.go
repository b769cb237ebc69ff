package client

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll-http/plimsoll/pool"
)

// generation is one configuration with its transports. A call takes one and
// stays on it; Reload makes a new one.
type generation struct {
	number  uint64
	base    http.RoundTripper // sends attempts: the pool, or Config.Base
	streams http.RoundTripper // sends streams: the same without a header timeout
	pools   []*pool.Transport // what base and streams are made of; empty with Config.Base
	targets *registry

	retired atomic.Bool   // no new call may enter
	left    chan struct{} // capacity 1; signalled when a call leaves a retired generation

	end    sync.Once
	closed chan struct{} // closed by close
}

func newGeneration(number uint64, cfg *Config, template *http.Transport) (*generation, error) {
	g := &generation{number: number, targets: newRegistry(cfg.Budget), left: make(chan struct{}, 1), closed: make(chan struct{})}
	if cfg.Base != nil {
		g.base, g.streams = cfg.Base, cfg.Base
		return g, nil
	}
	pc := cfg.Pool
	pc.Base, pc.Hooks, pc.OnPanic = template, cfg.Hooks, cfg.OnPanic
	calls, err := pool.New(pc)
	if err != nil {
		return nil, err
	}
	pc.Base = template.Clone()
	pc.Base.ResponseHeaderTimeout = 0 // StreamConfig.HeaderTimeout bounds it
	streams, err := pool.New(pc)
	if err != nil {
		return nil, err
	}
	g.base, g.streams, g.pools = calls, streams, []*pool.Transport{calls, streams}
	return g, nil
}

// leave ends a call on tg.
func (g *generation) leave(tg *target) {
	tg.active.Add(-1)
	if g.retired.Load() {
		g.signal()
	}
}

// signal wakes one goroutine that drains.
func (g *generation) signal() {
	select {
	case g.left <- struct{}{}:
	default:
	}
}

// drain waits until no call runs. The generation must be retired. Several
// goroutines may wait: who sees the last call leave tells the next.
func (g *generation) drain(ctx context.Context) error {
	for g.targets.active() > 0 {
		select {
		case <-g.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	g.signal()
	return nil
}

// closeIdle closes the idle connections, or hands the wish to a Base that
// knows it.
func (g *generation) closeIdle() {
	if len(g.pools) == 0 {
		if c, ok := g.base.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
	for _, p := range g.pools {
		p.CloseIdleConnections()
	}
}

// close closes everything at once and ends the waits of calls.
func (g *generation) close() {
	g.end.Do(func() { close(g.closed) })
	for _, p := range g.pools {
		p.Close()
	}
}
