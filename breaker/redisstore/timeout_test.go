package redisstore

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// mute accepts connections and says nothing.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestAServerThatSaysNothingCostsItsTimeoutOnce(t *testing.T) {
	for _, inline := range []bool{false, true} {
		for _, mode := range []Mode{Strict, Batched} {
			client := redis.NewClient(&redis.Options{Addr: mute(t), ContextTimeoutEnabled: inline, DisableIdentity: true, Protocol: 2})
			t.Cleanup(func() { client.Close() })
			w := watchWire(client)
			s := open(t, Config{Client: client, Mode: mode})
			if s.inline != inline {
				t.Errorf("inline is %t", s.inline)
			}
			p := rules()
			p.Timeout = 20 * time.Millisecond
			for i := range 5 {
				if r := settle(t, s, p, "k", breaker.Failure); (r.State == breaker.Open) != (i == 4) {
					t.Errorf("failure %d gave %+v", i+1, r)
				}
			}
			if ops := w.take(); len(ops) != 1 {
				t.Errorf("%v, client with deadlines %t: %v were sent to a mute server, want one", mode, inline, ops)
			}
			if err := s.Flush(t.Context()); !errors.Is(err, errLost) {
				t.Errorf("Flush returned %v", err)
			}
		}
	}
}

// The answer comes after its caller has gone on without it.
func TestALeaseThatWasGrantedTooLateIsGivenBack(t *testing.T) {
	srv := startServer(t)
	client := srv.client()
	w := watchWire(client)
	s := open(t, Config{Client: client, Mode: Strict})
	p := rules()
	p.Cooldown, p.ProbeLease = time.Millisecond, time.Hour
	for range 5 {
		settle(t, s, p, "k", breaker.Failure)
	}
	<-time.After(2 * p.Cooldown)
	for range 5 {
		w.await(t, "settle")
	}
	operator := srv.client()
	if err := operator.Do(t.Context(), "client", "pause", 60_000, "write").Err(); err != nil {
		t.Fatal(err)
	}
	hurried := p
	hurried.Timeout = 20 * time.Millisecond
	if _, err := s.Admit(t.Context(), "k", hurried); err != nil {
		t.Errorf("the local gate said %v, want its probe", err)
	}
	if err := operator.Do(t.Context(), "client", "unpause").Err(); err != nil {
		t.Fatal(err)
	}
	w.await(t, "admit")
	w.await(t, "settle")
	other := open(t, Config{Client: srv.client(), Mode: Strict})
	g, err := other.Admit(t.Context(), "k", p)
	if err != nil || g.Lease == 0 {
		t.Errorf("another process gets %+v, %v; want the lease, which nobody holds", g, err)
	}
}
