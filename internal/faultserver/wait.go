package faultserver

import (
	"context"
	"fmt"
)

// WaitOpen waits until exactly n connections are open (see Stats.Open).
func (s *Server) WaitOpen(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d open connections", n), func(st Stats) bool { return st.Open == n })
}

// WaitIdle waits until exactly n connections are parked (see KillIdle).
func (s *Server) WaitIdle(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d idle connections", n), func(st Stats) bool { return st.Idle == n })
}

// WaitOpened waits until at least n connections have been accepted.
func (s *Server) WaitOpened(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d accepted connections", n), func(st Stats) bool { return st.Opened >= n })
}

// WaitRequests waits until at least n requests have arrived.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d requests", n), func(st Stats) bool { return st.Requests >= n })
}

// WaitProcessed waits until at least n requests have been processed.
func (s *Server) WaitProcessed(ctx context.Context, n int) error {
	return s.wait(ctx, fmt.Sprintf("%d processed requests", n), func(st Stats) bool { return st.Processed >= n })
}

// WaitRequest waits until the condition holds for some request and returns it.
func (s *Server) WaitRequest(ctx context.Context, holds func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		var all []Request
		for _, r := range s.records {
			all = append(all, r.clone())
		}
		changed := s.changed.wait()
		s.mu.Unlock()
		for _, r := range all {
			if holds(r) {
				return r, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("faultserver: waiting for a request among %d: %w", len(all), ctx.Err())
		}
	}
}

func (s *Server) wait(ctx context.Context, what string, holds func(Stats) bool) error {
	for {
		s.mu.Lock()
		st := s.stats()
		changed := s.changed.wait()
		s.mu.Unlock()
		if holds(st) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("faultserver: waiting for %s, there are %+v: %w", what, st, ctx.Err())
		}
	}
}
