package pool

import (
	"context"
	"slices"

	"github.com/plimsoll-http/plimsoll/events"
)

// CloseIdleConnections closes the connections that no request uses, and gives
// up the dials that no request waits for. Connections in use at that moment
// are closed instead of parked, until the next request asks for one.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	t.noPark = true
	drop, dials := t.dropIdle()
	t.mu.Unlock()
	t.finishDrop(drop, dials)
}

// dropIdle retires all idle connections, and returns them and the dials that
// nobody waits for. Transport.mu is held.
func (t *Transport) dropIdle() (drop closing, dials []*dialing) {
	for _, g := range t.groups {
		for _, c := range slices.Backward(g.conns) { // retire deletes behind it
			if c.uses == 0 {
				c.retire(events.ConnShutdown)
				drop.add(c)
			}
		}
		for _, d := range g.dials {
			if d.w == nil && g.queue.first == nil {
				dials = append(dials, d)
				if g.shared == d {
					g.shared = nil // it is about to fail: nobody may wait for it
				}
			}
		}
		t.tidy(g)
	}
	return drop, dials
}

func (t *Transport) finishDrop(drop closing, dials []*dialing) {
	for _, d := range dials {
		d.cancel(nil)
	}
	drop.close()
	drop.emit(context.Background(), hooks{t: t}, nil)
}

// Shutdown drains the pool: new requests fail with [ErrClosed], idle
// connections close, and Shutdown waits until the requests that run, those
// that still queue included, have ended: until their response bodies are read
// or closed, streams after 101 too. If ctx ends first, it returns ctx's error
// and what runs goes on; [Transport.Close] ends it.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	t.state = max(t.state, draining)
	drop, dials := t.dropIdle()
	var done chan struct{}
	if t.inflight > 0 {
		if t.drained == nil {
			t.drained = make(chan struct{})
		}
		done = t.drained
	}
	t.mu.Unlock()
	t.finishDrop(drop, dials)
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.Close()
}

// Close ends everything: new and queueing requests fail with [ErrClosed], all
// connections are closed, and requests that run on them fail. It does not wait
// for them, and returns nil.
func (t *Transport) Close() error {
	var (
		drop  closing
		dials []*dialing
		busy  []*conn
	)
	t.mu.Lock()
	t.state = closed
	for _, g := range t.groups {
		for w := g.queue.first; w != nil; w = g.queue.first {
			w.fail(ErrClosed)
		}
		dials = append(dials, g.dials...)
		for _, c := range slices.Backward(g.conns) {
			c.retire(events.ConnShutdown)
			if c.uses == 0 {
				drop.add(c)
			} else {
				busy = append(busy, c)
			}
		}
		t.tidy(g)
	}
	if t.janitor != nil {
		t.janitor.Stop()
	}
	t.mu.Unlock()
	for _, c := range busy {
		c.close()
	}
	t.finishDrop(drop, dials)
	return nil
}
