package chaos

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// round runs a world to its end; what is wrong is noted in it. Without a party
// it makes one of its own.
func round(t *testing.T, w *world, p *party) {
	t.Helper()
	defer w.tellPanic()
	if !w.soaked {
		t.Logf("seed %d: %v", w.seed, w)
	}
	if !w.memory {
		w.live(t, p)
		return
	}
	synctest.Test(t, func(t *testing.T) { w.live(t, nil) })
}

// tellPanic, deferred, says with which seed a panic came.
func (w *world) tellPanic() {
	if v := recover(); v != nil {
		panic(fmt.Sprintf("chaos: seed %d: %v\nreplay: %s", w.seed, v, w.replay()))
	}
}

// live is the round: servers, clients, callers, and then what is left.
func (w *world) live(t *testing.T, p *party) {
	before := w.goroutines()
	fleet, err := newFleet(w)
	if err != nil {
		t.Fatal(err)
	}
	w.fleet = fleet
	own := p == nil
	if own {
		if p, err = newParty(w); err != nil {
			t.Fatal(err)
		}
	}
	p.world.Store(w)
	if !w.memory {
		watch := time.AfterFunc(3*time.Minute+time.Duration(w.calls)*50*time.Millisecond, func() {
			panic(fmt.Sprintf("chaos: seed %d hangs; replay: %s\n%s", w.seed, w.replay(), stacks()))
		})
		defer watch.Stop()
	}
	if w.plant.before != nil {
		w.plant.before(p)
	}
	var callers sync.WaitGroup
	for range w.workers {
		callers.Go(func() {
			for {
				n := int(w.next.Add(1)) - 1
				if n >= len(w.states) {
					return
				}
				p.upset(w.states[n])
				w.states[n].attempt(p)
				if d := w.states[n].refused(); d > 0 {
					_ = sleep(context.Background(), d) // as callers do, else a round is little else
				}
			}
		})
	}
	callers.Wait()
	if w.plant.after != nil {
		w.plant.after(p)
	}
	w.settle("requests", p.rest)
	p.checkBalance(w)
	if own {
		w.shutdown(p)
	} else {
		p.clients[0].SetRetries(true)
	}
	for _, c := range p.clients {
		c.CloseIdleConnections()
	}
	w.settle("sockets", func() string {
		p.ledger.mu.Lock()
		defer p.ledger.mu.Unlock()
		a, b, c := p.open(), fleet.sockets(), len(p.ledger.conns)
		if a+c > 0 || b > 0 && !w.large {
			return fmt.Sprintf("%d sockets of the client, %d of the servers, %d by events", a, b, c)
		}
		return ""
	})
	w.checkServers(p)
	fleet.close()
	w.judge()
	w.settle("goroutines", func() string {
		if n := w.goroutines(); n > before {
			return fmt.Sprintf("%d, %d at the start", n, before)
		}
		return ""
	})
	if w.plant.clear != nil {
		w.plant.clear()
	}
}

// goroutines counts the round's goroutines: in memory those of its bubble, else
// all of the process.
func (w *world) goroutines() int {
	if !w.memory {
		return runtime.NumGoroutine()
	}
	return bytes.Count(stacks(), []byte(", synctest bubble "))
}

func stacks() []byte {
	b := make([]byte, 4<<20)
	return b[:runtime.Stack(b, true)]
}

// attempt is run, with a planned panic caught.
func (s *state) attempt(p *party) {
	defer func() {
		if v := recover(); v != nil && v != any(errPlanned) {
			panic(fmt.Sprintf("chaos: seed %d: %v\nreplay: %s", s.w.seed, v, s.w.replay()))
		}
	}()
	s.run(p)
}

// shutdown ends the round's clients in order: nothing runs, so that nothing is
// waited for.
func (w *world) shutdown(p *party) {
	if p.closed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	for i, c := range p.clients {
		if err := c.Shutdown(ctx); err != nil {
			w.breach("Shutdown of client %d: %v", i+1, err)
		}
	}
}

// checkServers holds the servers' own counts against the limit, where one
// generation and one pool is all there was.
func (w *world) checkServers(p *party) {
	if w.maxConns == 0 || w.reloads || w.listens || w.large {
		return // a deaf server that is sent more than its socket holds never sees the close
	}
	for i, s := range w.fleet.servers {
		stats := s.Stats()
		if stats.MaxOpen > w.maxConns {
			w.breach("%s had %d connections, MaxConnsPerHost is %d", hosts[i].name, stats.MaxOpen, w.maxConns)
		}
	}
}

// settle waits until left returns "", and notes it as a breach if that does not
// come.
func (w *world) settle(what string, left func() string) {
	step := 5 * time.Millisecond
	if w.memory {
		step = time.Second
		synctest.Wait()
	}
	// A timer of http.Client.Timeout outlives a call that panicked.
	for end := time.Now().Add(w.patience + 10*time.Second); ; {
		text := left()
		if text == "" {
			return
		}
		if !time.Now().Before(end) {
			w.stacks = string(stacks())
			w.breach("%s are left: %s", what, text)
			return
		}
		_ = sleep(context.Background(), step)
	}
}
