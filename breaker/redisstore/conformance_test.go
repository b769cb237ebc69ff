package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/breaker/breakertest"
)

func TestStoresConformInEveryMode(t *testing.T) {
	srv := startServer(t)
	client := srv.client()
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			breakertest.Run(t, func(t *testing.T) breakertest.Harness {
				srv.forget(client)
				c := newClock()
				s := open(t, Config{Client: client, Mode: mode}, withClock(c), atOnce)
				return breakertest.Harness{
					Store: s, Advance: c.advance, Params: rules(),
					Settled: func() {
						if err := s.Flush(context.Background()); err != nil {
							t.Error(err)
						}
					},
				}
			})
		})
	}
}

// The server's clock and the machine's decide here. Nothing is waited for but
// what the store itself said.
func TestStoresConformOnTheServersClock(t *testing.T) {
	t.Parallel()
	client := startServer(t).client()
	for _, mode := range []Mode{Strict, Batched} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			breakertest.Run(t, func(t *testing.T) breakertest.Harness {
				s := open(t, Config{Client: client, Mode: mode, Prefix: t.Name()}, atOnce)
				p := rules()
				p.BucketWidth, p.Cooldown, p.ProbeLease = time.Hour, 250*time.Millisecond, time.Minute
				return breakertest.Harness{
					Store: s, Params: p, Real: true,
					Advance: func(d time.Duration) { <-time.After(d) },
					Settled: func() {
						if err := s.Flush(context.Background()); err != nil {
							t.Error(err)
						}
					},
				}
			})
		})
	}
}

var _ breaker.Observable = (*Store)(nil)
