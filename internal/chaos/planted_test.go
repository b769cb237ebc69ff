package chaos

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
	"github.com/plimsoll-http/plimsoll/client"
	"github.com/plimsoll-http/plimsoll/events"
	fs "github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// Each row breaks one promise of the model on purpose: were the model blind
// there, the row would fail.
func TestEachBrokenPromiseIsNoticed(t *testing.T) {
	for _, row := range []struct {
		name  string
		set   func(*world)
		plant plant
		wants []string // what the breaches must say
	}{
		{name: "nothing"},
		{
			name:  "requests that are not idempotent are sent again",
			plant: plant{rig: func(cfg *client.Config) { cfg.Retry.RetryNonIdempotent = true }},
			wants: []string{"is not idempotent and arrived 2 times", "is not idempotent and was begun on 2 sockets"},
		},
		{
			name:  "a request arrives more often than it is sent",
			plant: plant{after: func(p *party) { p.world.Load().first(sentOnce).twice() }},
			wants: []string{"1 attempts and recoveries, 2 arrivals"},
		},
		{
			name:  "more sockets than MaxConnsPerHost",
			plant: plant{rig: func(cfg *client.Config) { cfg.Transport.MaxConnsPerHost++ }},
			wants: []string{"3 sockets to h1.test", "h1.test had 3 connections, MaxConnsPerHost is 2"},
		},
		{
			name: "the answer to another request",
			set: answering(func(*reply) fs.Script {
				return fs.RespondWith(200, http.Header{"X-Id": {"nobody/0"}, "X-Body": {"none"}}, "")
			}),
			wants: []string{`got the answer to "nobody/0"`},
		},
		{
			name: "half an answer that looks whole",
			set: answering(func(r *reply) fs.Script {
				half := r.half()
				return fs.Do(fs.ReadBody{}, fs.Header{Header: r.with("Content-Length", strconv.Itoa(len(half)))}, fs.Body{Data: half})
			}),
			wants: []string{"and they are not the"},
		},
		{
			name: "a request body that arrives as another",
			plant: plant{rig: dialing(func(_ context.Context, addr string, dial func() (net.Conn, error)) (net.Conn, error) {
				c, err := dial()
				if err != nil || !strings.HasPrefix(addr, "h1.test") {
					return c, err
				}
				return bent{c}, nil
			})},
			wants: []string{"body bytes arrived of"},
		},
		{
			name: "a request that nobody sent",
			plant: plant{after: func(p *party) {
				p.world.Load().first(sentOnce).send(p, "/nobody", true)
			}},
			wants: []string{`got a request for "/nobody", which nobody sent`},
		},
		{
			name: "a request body is never closed",
			plant: plant{after: func(p *party) {
				p.world.Load().first(sentOnce).track(http.NoBody)
			}},
			wants: []string{"was closed 0 times"},
		},
		{
			name: "a request body is closed twice",
			plant: plant{after: func(p *party) {
				p.world.Load().first(func(s *state) bool { return len(s.bodies) > 0 && s.shape != redirected }).bodies[0].Close()
			}},
			wants: []string{"was closed 2 times"},
		},
		{
			name: "a response body is never closed",
			plant: plant{after: func(p *party) {
				s := p.world.Load().first(sentOnce)
				s.w.faulty, s.storm = 0, false
				s.send(p, pathOf(s.n, 0), false)
			}},
			wants: []string{"requests are left: client 1 holds something", "Shutdown of client 1"},
		},
		{
			name:  "CallDone twice",
			plant: plant{rig: func(cfg *client.Config) { again(&events.Hooks{CallDone: cfg.Hooks.CallDone})(cfg) }},
			wants: []string{"1 CallStarted, 2 CallDone"},
		},
		{
			name:  "no CallDone",
			plant: plant{rig: without(func(h *events.Hooks) { h.CallDone = nil })},
			wants: []string{"1 CallStarted, 0 CallDone"},
		},
		{
			name:  "no CallStarted",
			plant: plant{rig: without(func(h *events.Hooks) { h.CallStarted = nil })},
			wants: []string{"0 CallStarted, 1 CallDone"},
		},
		{
			name:  "no AttemptDone",
			plant: plant{rig: without(func(h *events.Hooks) { h.AttemptDone = nil })},
			wants: []string{"1 AttemptStarted, 0 AttemptDone"},
		},
		{
			name:  "no RetryArmed",
			plant: plant{rig: without(func(h *events.Hooks) { h.RetryArmed = nil })},
			wants: []string{"2 attempts, 0 RetryArmed"},
		},
		{
			name:  "no RetrySkipped",
			plant: plant{rig: without(func(h *events.Hooks) { h.RetrySkipped = nil })},
			wants: []string{`skips [], CallDone says "method"`},
		},
		{
			name:  "no BudgetSettled",
			plant: plant{rig: without(func(h *events.Hooks) { h.BudgetSettled = nil })},
			wants: []string{"10 tokens reserved, 0 settled"},
		},
		{
			name:  "no ConnClosed",
			plant: plant{rig: without(func(h *events.Hooks) { h.ConnClosed = nil })},
			wants: []string{"sockets are left: 0 sockets of the client, 0 of the servers, "},
		},
		{
			name:  "ConnOpened twice",
			plant: plant{rig: func(cfg *client.Config) { again(&events.Hooks{ConnOpened: cfg.Hooks.ConnOpened})(cfg) }},
			wants: []string{"was opened twice"},
		},
		{
			name: "another outcome than the caller's",
			plant: plant{rig: func(cfg *client.Config) {
				done := cfg.Hooks.CallDone
				cfg.Hooks.CallDone = func(ctx context.Context, e events.CallDone) {
					e.Outcome = events.OutcomeRecovered
					done(ctx, e)
				}
			}},
			wants: []string{"outcome recovered, want one of [escaped"},
		},
		{
			name: "a token is never settled",
			plant: plant{after: func(p *party) {
				_, _ = p.budget.Reserve(h1, budget.Transient)
			}},
			wants: []string{h1 + ": 10 tokens are still reserved"},
		},
		{
			name: "tokens are kept without an event",
			plant: plant{after: func(p *party) {
				r, _ := p.budget.Reserve(h1, budget.Transient)
				r.Settle(budget.Charge)
			}},
			wants: []string{h1 + ": level "},
		},
		{
			name: "a probe is never settled",
			plant: plant{after: func(p *party) {
				for range 100 {
					if permit, err := p.breaker.Admit(context.Background(), "planted"); err == nil {
						permit.Failure()
					}
				}
				_ = sleep(context.Background(), 4*p.world.Load().unit)
				_, _ = p.breaker.Admit(context.Background(), "planted")
			}},
			wants: []string{"planted: a probe is still held"},
		},
		{
			name: "calls are canceled, and nobody did",
			plant: plant{rig: dialing(func(context.Context, string, func() (net.Conn, error)) (net.Conn, error) {
				return nil, context.Canceled
			})},
			wants: []string{"canceled, and nobody canceled"},
		},
		{
			name:  "a client is closed, and nobody did",
			plant: plant{before: func(p *party) { p.clients[1].Close() }},
			wants: []string{"and nobody closed the client"},
		},
		{
			name:  "a panic does not reach its caller",
			plant: plant{after: func(p *party) { p.world.Load().first(sentOnce).panicking.Store(true) }},
			wants: []string{"a callback panicked, and its caller did not see it"},
		},
		{
			name: "a call comes back late",
			plant: plant{rig: again(&events.Hooks{AttemptDone: func(context.Context, events.AttemptDone) {
				_ = sleep(context.Background(), time.Hour)
			}})},
			wants: []string{"after its end"},
		},
		{
			name: "an error shows a credential",
			plant: plant{rig: dialing(func(context.Context, string, func() (net.Conn, error)) (net.Conn, error) {
				return nil, errors.New("the password is " + secret)
			})},
			wants: []string{"an error shows a credential"},
		},
		{
			name:  "an event shows a credential",
			plant: plant{rig: func(cfg *client.Config) { cfg.Name = secret }},
			wants: []string{"an event shows a credential"},
		},
		{
			name: "a credential is redirected",
			plant: plant{before: func(p *party) {
				p.clients[0].CheckRedirect = func(req *http.Request, via []*http.Request) error {
					req.Header.Set("Authorization", via[0].Header.Get("Authorization"))
					return nil
				}
			}},
			wants: []string{"a credential was redirected to another origin"},
		},
		{
			name: "a socket is left",
			plant: plant{after: func(p *party) {
				ctx := context.WithValue(context.Background(), stateKey{}, p.world.Load().states[0])
				for range 10 { // some dials fail as planned
					_, _ = p.dial(ctx, 0, "h1.test:80")
				}
			}},
			wants: []string{"sockets are left: "},
		},
		{
			name:  "a goroutine is left",
			plant: leftover(),
			wants: []string{"goroutines are left: "},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := ""
			for seed := range uint64(10) { // a round is small, and need not meet what it takes
				w := plain(1 + seed)
				if row.set != nil {
					row.set(w)
				}
				w.plant = row.plant
				round(t, w, nil)
				text += strings.Join(w.breaches, "\n")
				if says(text, row.wants) {
					break
				}
			}
			if !says(text, row.wants) || row.wants == nil && text != "" {
				t.Errorf("want breaches that say %q, have:\n%.5000s", row.wants, text)
			}
		})
	}
}
