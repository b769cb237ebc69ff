package faultserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOpenConnectionsAreNeverOvercounted(t *testing.T) {
	for _, mem := range []bool{false, true} {
		s := Start(t, Config{Memory: mem})
		for range 300 {
			c, err := s.DialContext(waiting(t), "tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		if err := s.WaitOpened(waiting(t), 300); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.MaxOpen > 1 || st.Open != 0 || st.Opened != 300 {
			t.Errorf("in memory %v: one connection after the other gives %+v", mem, st)
		}
		if k := s.Sockets(); k.MaxOpen() != 1 || k.Open() != 0 || k.Opened() != 300 {
			t.Errorf("in memory %v: the client's sockets: most %d, open %d, opened %d", mem, k.MaxOpen(), k.Open(), k.Opened())
		}
	}
}

// The client's FIN waits behind bytes that the server does not take, here for
// ever.
func TestAConnectionIsClosedWhenItsClientHasClosedThoughFinIsHeldBack(t *testing.T) {
	s := Start(t, Config{})
	s.NextConn(Do(BlackHole{}))
	c, err := s.DialContext(waiting(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitOpen(waiting(t), 1); err != nil {
		t.Fatal(err)
	}
	if s.BlackHole(); !s.Conns()[0].BlackHole {
		t.Fatal("the server still reads")
	}
	for piece := make([]byte, 1<<20); ; {
		c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if n, _ := c.Write(piece); n == 0 {
			break
		}
	}
	if st := s.Stats(); st.Open != 1 {
		t.Errorf("before the close: %+v", st)
	}
	c.Close()
	if st := s.Stats(); st.Open != 0 || st.MaxOpen != 1 {
		t.Errorf("after the close: %+v", st)
	}
	c, err = s.DialContext(waiting(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := s.WaitOpened(waiting(t), 2); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Open != 1 || st.MaxOpen != 1 {
		t.Errorf("beside the next one: %+v", st)
	}
}

func TestOpenConnectionsAreCountedAtTheirMost(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		s := Start(t, config)
		const most = 5
		slots := make(chan struct{}, most)
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				c := unshaken(t, s)
				defer c.sock.Close()
				if _, err := io.WriteString(c.app, firstRequest(config.Protocol)); err != nil {
					t.Error(err)
				}
				c.app.Read(make([]byte, 1))
			})
		}
		wg.Wait()
		if st := s.Stats(); st.MaxOpen > most || st.Opened != 60 {
			t.Errorf("at most %d at a time gave %+v", most, st)
		}
		if got := s.Sockets().MaxOpen(); got > most {
			t.Errorf("the client had %d sockets", got)
		}
		if err := s.WaitOpen(waiting(t), 0); err != nil {
			t.Error(err)
		}

		s = Start(t, config)
		for range most {
			park(t, s)
		}
		if st := s.Stats(); st.MaxOpen != most || st.Open != most || st.Idle != most {
			t.Errorf("%d parked connections give %+v", most, st)
		}
		if got := s.Sockets().MaxOpen(); got != most {
			t.Errorf("the client had %d sockets", got)
		}
		s.KillIdle(RST)
		if st := s.Stats(); st.Open != 0 || st.MaxOpen != most {
			t.Errorf("after resets: %+v", st)
		}
	})
}

func TestWaitsEndWithTheirContextAndSayWhatIsMissing(t *testing.T) {
	s := Start(t, Config{Memory: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, noRequest := s.WaitRequest(ctx, func(Request) bool { return true })
	for want, err := range map[string]error{
		"waiting for 1 open connections":     s.WaitOpen(ctx, 1),
		"waiting for 2 idle connections":     s.WaitIdle(ctx, 2),
		"waiting for 3 accepted connections": s.WaitOpened(ctx, 3),
		"waiting for 4 requests":             s.WaitRequests(ctx, 4),
		"waiting for 5 processed requests":   s.WaitProcessed(ctx, 5),
		"waiting for a request among 0":      noRequest,
	} {
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "faultserver: "+want) {
			t.Errorf("got %v, want %q and the context's error", err, want)
		}
	}
	for _, err := range []error{
		s.WaitOpen(ctx, 0), s.WaitIdle(ctx, 0), s.WaitOpened(ctx, 0), s.WaitRequests(ctx, 0), s.WaitProcessed(ctx, 0),
	} {
		if err != nil {
			t.Errorf("a condition that holds gave %v", err)
		}
	}
}

// ours returns the stacks of goroutines that a server has started.
func ours() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		for _, f := range []string{"faultserver.(*Server).accept", "faultserver.(*wire).pump", "faultserver.(*conn)", "faultserver.(*h2stream)"} {
			if strings.Contains(g, f) && !strings.Contains(g, "testing.tRunner") {
				found = append(found, g)
				break
			}
		}
	}
	return found
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		release := make(chan struct{})
		config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			<-release
		})
		s, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		var clients []*rawClient
		for _, sc := range []Script{
			Do(Hang{}), Do(Delay{1 << 40}), Do(Wait{}), Do(BlackHole{}), Do(ReadBody{}), Do(Kill{FIN}), Do(Kill{RST}),
			Do(Header{}, Body{Size: 20 << 20}), Do(Handle{}), Respond(200, ""),
		} {
			s.Next(sc)
			c := unshaken(t, s)
			c.send(firstRequest(config.Protocol))
			clients = append(clients, c)
			if err := s.WaitRequests(waiting(t), len(clients)); err != nil {
				t.Fatal(err)
			}
		}
		s.NextConn(Do(Wait{}), Do(BlackHole{}))
		clients = append(clients, unshaken(t, s), unshaken(t, s))
		if err := s.WaitOpened(waiting(t), len(clients)); err != nil {
			t.Fatal(err)
		}
		if len(ours()) < len(clients) {
			t.Fatalf("the check sees only %d goroutines while the server runs", len(ours()))
		}
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		close(release) // Close waits for handlers
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if left := ours(); len(left) > 0 {
			t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
		if err := s.Close(); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		if _, err := s.DialContext(waiting(t), "tcp", s.Addr()); err == nil {
			t.Error("a closed server accepts")
		}
	})
}
