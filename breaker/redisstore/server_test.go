package redisstore

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

// server is a redis-server of the test's own on a loopback port.
type server struct {
	t     testing.TB
	path  string
	args  []string
	addr  string
	ready string // what it says when it is
	cmd   *exec.Cmd
}

func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	path := require.Tool(t, "redis-server")
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	s := &server{t: t, path: path, addr: addr, ready: "Ready to accept connections", args: append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)}
	s.start()
	t.Cleanup(func() { s.kill() })
	return s
}

// startSentinel returns the address of a sentinel with that configuration.
func startSentinel(t testing.TB, config string) string {
	t.Helper()
	s := &server{t: t, path: require.Tool(t, "redis-server"), addr: freeAddr(t), ready: "+monitor"}
	_, port, _ := net.SplitHostPort(s.addr)
	s.args = []string{config, "--sentinel", "--port", port, "--bind", "127.0.0.1"}
	s.start()
	t.Cleanup(func() { s.kill() })
	return s.addr
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start returns when the server accepts connections.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.path, s.args...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), s.ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	s.t.Fatalf("redis-server does not start:\n%s", strings.Join(said, "\n"))
}

// kill ends the server at once.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

func (s *server) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// forget empties the server.
func (s *server) forget(c redis.UniversalClient) {
	s.t.Helper()
	if err := c.FlushAll(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// clock is a time that tests move, for a store and its server alike.
type clock struct{ ms int64 }

func newClock() *clock { return &clock{1_750_000_020_000} } // the beginning of a bucket of 30 s

func (c *clock) advance(d time.Duration) { c.ms += d.Milliseconds() }

func withClock(c *clock) option {
	return func(s *Store) { s.clock, s.pinned = func() int64 { return c.ms }, true }
}

// atOnce flushes a failure that could open the gate whenever it comes, so that
// batches follow each other as settlements do, and asks as often as the clock
// of the test stands still.
func atOnce(s *Store) { s.gap, s.pace = 0, 0 }

func open(t testing.TB, c Config, options ...option) *Store {
	t.Helper()
	s, err := newStore(c, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.closed.Store(true) })
	return s
}

// rules are the defaults with a timeout that a busy machine keeps.
func rules() breaker.Params {
	return breaker.Params{
		ConsecutiveFailures: 5, FailureRate: 500_000, MinCalls: 20, BucketWidth: 30 * time.Second, Cooldown: time.Minute,
		MaxCooldown: 10 * time.Minute, ProbeLease: 30 * time.Second, Timeout: 10 * time.Second,
	}
}
