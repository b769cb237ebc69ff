package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/internal/require"
)

// writer can be read while it is written to.
type writer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// eventually asks until the answer is yes; the test's own deadline ends it.
func eventually(t *testing.T, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}

func TestFlagsThatMakeNoSenseAreNamed(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"-duration", "3s"}, "-duration is 3s"},
		{[]string{"-duration", "-1m"}, "-duration"},
		{[]string{"-history", "2h"}, "-history is 2h"},
		{[]string{"-listen", "0.0.0.0:0"}, "not loopback"},
		{[]string{"-listen", "8484"}, "host:port"},
		{[]string{"-nonsense"}, "nonsense"},
		{[]string{"more"}, `"more"`},
		{[]string{"-duration", "1m", "-upstream", "127.0.0.1:1"}, "-upstream"},
		{[]string{"upstream", "-every", "1ms"}, "-every is 1ms"},
		{[]string{"health"}, "give one URL"},
	} {
		var stdout, stderr writer
		if status := run(t.Context(), row.args, &stdout, &stderr); status != exitUsage || !strings.Contains(stderr.String(), row.want) {
			t.Errorf("%q: status %d, %s", row.args, status, stderr.String())
		}
	}
	var stdout, stderr writer
	if status := run(t.Context(), []string{"-h"}, &stdout, &stderr); status != exitOK || !strings.Contains(stderr.String(), "-otlp-endpoint HOST:PORT") {
		t.Errorf("-h: status %d, %s", status, stderr.String())
	}
}

// running starts the program with a page and returns its URL.
func running(t *testing.T, args ...string) string {
	t.Helper()
	ctx, interrupt := context.WithCancel(context.Background())
	var stdout, stderr writer
	status := make(chan int, 1)
	go func() { status <- run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), &stdout, &stderr) }()
	t.Cleanup(func() {
		interrupt()
		if s := <-status; s != exitOK || stderr.String() != "" {
			t.Errorf("status %d, %s", s, stderr.String())
		}
	})
	var url string
	eventually(t, func() bool {
		select {
		case s := <-status:
			status <- s
			t.Fatalf("status %d: %s", s, stderr.String())
		default:
		}
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(stdout.String())
		return url != ""
	})
	eventually(t, func() bool { return strings.Contains(get(t, url+"/api/state"), `"ready":true`) })
	return url
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestThePageIsServedUntilAnInterrupt(t *testing.T) {
	url := running(t, "-history", "5s")
	eventually(t, func() bool {
		return strings.Contains(get(t, url+"/api/v1/query?query=min(plimsoll_retry_budget_tokens)"), `"500"`)
	})
}

// The legacy act needs half a minute to drain the budget: a story that is too
// short to show it must not pass.
func TestAHeadlessStoryThatIsTooShortFails(t *testing.T) {
	t.Parallel()
	var stdout, stderr writer
	status := run(t.Context(), []string{"-headless", "-duration", "20s"}, &stdout, &stderr)
	told := regexp.MustCompile("give it more time|before both accountings were seen") // the second on a machine that is very busy
	if status != exitFailed || !told.MatchString(stderr.String()) {
		t.Errorf("status %d, %s\n%s", status, stderr.String(), stdout.String())
	}
	for _, want := range []string{"-- legacy:", "-- settled:", "no failure reached a caller"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, stdout.String())
		}
	}
}

func TestWithADurationThePageEndsWithTheStory(t *testing.T) {
	t.Parallel()
	var stdout, stderr writer
	status := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-history", "0", "-duration", "20s"}, &stdout, &stderr)
	if status != exitOK || stderr.String() != "" {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	for _, want := range []string{"legacy: ", "settled: ", "dead: ", "healthy again: "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, stdout.String())
		}
	}
}

func TestTheBreakerIsSharedThroughRedis(t *testing.T) {
	path := require.Tool(t, "redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	server := exec.Command(path, "--port", addr.String()[strings.LastIndex(addr.String(), ":")+1:], "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended
		_ = server.Wait()         // killed
	})
	c := redis.NewClient(&redis.Options{Addr: addr.String()})
	t.Cleanup(func() { c.Close() })
	eventually(t, func() bool { return c.Ping(t.Context()).Err() == nil })
	running(t, "-history", "0", "-redis", addr.String())
	eventually(t, func() bool {
		keys, err := c.Keys(t.Context(), "plimsoll:demo:*").Result()
		return err == nil && len(keys) >= 2 && strings.Contains(strings.Join(keys, " "), "orders.shop")
	})
}

func TestARedisThatIsNotThereIsAnError(t *testing.T) {
	var stdout, stderr writer
	status := run(t.Context(), []string{"-redis", "127.0.0.1:1", "-listen", "127.0.0.1:0"}, &stdout, &stderr)
	if status != exitFailed || !strings.HasPrefix(stderr.String(), "otel-collector: -redis 127.0.0.1:1") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

func TestAnOrdersServiceOutsideIsCalledAndWatched(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout, stderr writer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"upstream", "-listen", "127.0.0.1:0", "-every", "10m"}, &stdout, &stderr)
	}()
	var addr string
	eventually(t, func() bool {
		addr = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(stdout.String())
		return addr != ""
	})
	url := running(t, "-history", "0", "-upstream", addr)
	eventually(t, func() bool {
		return strings.Contains(get(t, url+"/api/v1/query?query=plimsoll_retry_budget_tokens"), "orders.shop")
	})
	if body := get(t, url+"/api/state"); !strings.Contains(body, `"controls":false`) {
		t.Error(body)
	}
	var told, problems writer
	if status := run(t.Context(), []string{"health", "http://" + addr, "tcp://" + addr}, &told, &problems); status != exitOK {
		t.Errorf("health: status %d, %s", status, problems.String())
	}
	t.Cleanup(func() {
		interrupt()
		if status := <-ended; status != exitOK {
			t.Errorf("upstream: status %d, %s", status, stderr.String())
		}
	})
}

func TestHealthFailsWhereTheAnswerIsNotGood(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, url := range []string{s.URL, "tcp://127.0.0.1:1", "http://127.0.0.1:1"} {
		var stdout, stderr writer
		if status := run(t.Context(), []string{"health", url}, &stdout, &stderr); status != exitFailed || !strings.Contains(stderr.String(), "health: ") {
			t.Errorf("%s: status %d, %s", url, status, stderr.String())
		}
	}
}
