package pool

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
)

// Transport is the pool. It is safe for concurrent use.
type Transport struct {
	cfg    Config
	inner  *http.Transport
	closed atomic.Bool
	active sync.WaitGroup
}

// New returns a pool.
func New(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	base := cfg.Base
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	return &Transport{cfg: cfg, inner: base.Clone()}, nil
}

// RoundTrip sends req.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.closed.Load() {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, ErrClosed
	}
	t.active.Add(1)
	defer t.active.Done()
	if a := attemptFrom(req.Context()); a != nil {
		a.reset()
	}
	return t.inner.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections.
func (t *Transport) CloseIdleConnections() { t.inner.CloseIdleConnections() }

// Stats returns a snapshot.
func (t *Transport) Stats() Stats { return Stats{Origins: map[string]OriginStats{}} }

// Shutdown drains the pool.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.closed.Store(true)
	t.inner.CloseIdleConnections()
	done := make(chan struct{})
	go func() { t.active.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the pool.
func (t *Transport) Close() error {
	t.closed.Store(true)
	t.inner.CloseIdleConnections()
	return nil
}
