package redisstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
	"github.com/plimsoll-http/plimsoll/events"
)

const fleetCooldown = time.Second

// TestMain runs an instance of the fleet if the environment asks for one.
func TestMain(m *testing.M) {
	if addr := os.Getenv("PLIMSOLL_FLEET_REDIS"); addr != "" {
		if err := instance(addr, os.Getenv("PLIMSOLL_FLEET_UPSTREAM")); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// instance is one process of the fleet: it calls the upstream, one call after
// the other, until its standard input ends, and says what it sees.
func instance(addr, upstream string) error {
	s, err := New(Config{Client: redis.NewClient(&redis.Options{Addr: addr})})
	if err != nil {
		return err
	}
	b, err := breaker.New(breaker.Config{Store: s, Cooldown: fleetCooldown, MaxCooldown: fleetCooldown, StoreTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	b.Notify(&events.Hooks{BreakerStoreChanged: func(_ context.Context, e events.BreakerStoreChanged) {
		fmt.Println("store", e.Available)
	}})
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	rejected := false
	for {
		wait := 5 * time.Millisecond
		permit, err := b.Admit(context.Background(), "upstream")
		var refusal *breaker.RejectedError
		switch {
		case errors.As(err, &refusal):
			rejected = true
			fmt.Println("rejected", refusal.State)
			wait = max(wait, refusal.RetryAfter)
		case err != nil:
			return err
		default:
			if rejected && !permit.Probe() {
				rejected = false
				fmt.Println("closed", time.Now().UnixMicro())
			}
			if err := call(permit, upstream); err != nil {
				return err
			}
		}
		select {
		case <-ended:
			return s.Close()
		case <-time.After(wait):
		}
	}
}

// call sends one request that says how it was admitted.
func call(permit *breaker.Permit, upstream string) error {
	req, err := http.NewRequest(http.MethodGet, upstream, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Probe", strconv.FormatBool(permit.Probe()))
	req.Header.Set("Admitted", strconv.FormatInt(time.Now().UnixMicro(), 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 500 {
		permit.Failure()
	} else {
		permit.Success()
	}
	return nil
}

// upstream counts what reaches it.
type upstream struct {
	mu       sync.Mutex
	dead     bool
	arrivals []arrival
}

type arrival struct {
	at, admitted time.Time
	probe, dead  bool
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	micros, _ := strconv.ParseInt(r.Header.Get("Admitted"), 10, 64)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.arrivals = append(u.arrivals, arrival{time.Now(), time.UnixMicro(micros), r.Header.Get("Probe") == "true", u.dead})
	if u.dead {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (u *upstream) set(dead bool) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dead = dead
	return time.Now()
}

// line is something that an instance said.
type line struct {
	instance int
	text     string
}

type fleet struct {
	t     *testing.T
	size  int
	lines chan line
	stdin []io.Closer
	cmds  []*exec.Cmd
}

func startFleet(t *testing.T, size int, redisAddr, upstreamURL string) *fleet {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, size: size, lines: make(chan line, 100_000)}
	for i := range size {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "PLIMSOLL_FLEET_REDIS="+redisAddr, "PLIMSOLL_FLEET_UPSTREAM="+upstreamURL)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.stdin, f.cmds = append(f.stdin, in), append(f.cmds, cmd)
		go func() {
			for said := bufio.NewScanner(out); said.Scan(); {
				f.lines <- line{i, said.Text()}
			}
		}()
	}
	t.Cleanup(func() {
		for i, cmd := range f.cmds {
			_ = f.stdin[i].Close()
			_ = cmd.Wait()
		}
	})
	return f
}

// await waits until every instance has said something that begins with want,
// and returns what. Nothing that begins with a forbidden word may be said
// meanwhile.
func (f *fleet) await(want string, forbidden ...string) []string {
	f.t.Helper()
	said := make([]string, f.size)
	left := f.size
	timeout := time.After(time.Minute)
	for left > 0 {
		select {
		case l := <-f.lines:
			for _, word := range append(forbidden, "failed") {
				if strings.HasPrefix(l.text, word) {
					f.t.Fatalf("instance %d said %q while the fleet was to say %q", l.instance, l.text, want)
				}
			}
			if said[l.instance] == "" && strings.HasPrefix(l.text, want) {
				said[l.instance] = l.text
				left--
			}
		case <-timeout:
			f.t.Fatalf("after a minute only %d of %d instances said %q", f.size-left, f.size, want)
		}
	}
	return said
}

// Eight processes share one Redis and one upstream: it dies, it heals, and then
// Redis dies and comes back.
func TestAFleetActsAsOneBreaker(t *testing.T) {
	srv := startServer(t)
	up := &upstream{dead: true}
	web := httptest.NewServer(up)
	defer web.Close()
	f := startFleet(t, 8, srv.addr, web.URL)
	f.await("rejected")
	var probes int
	for probes < 3 { // while the upstream is dead
		f.await("rejected open")
		up.mu.Lock()
		probes = 0
		for _, a := range up.arrivals {
			if a.probe {
				probes++
			}
		}
		up.mu.Unlock()
	}
	healed := up.set(false)
	closed := f.await("closed")

	up.mu.Lock()
	arrivals := up.arrivals
	up.mu.Unlock()
	var last time.Time
	for _, a := range arrivals {
		switch {
		case a.probe && a.dead:
			if !last.IsZero() && a.at.Sub(last) < fleetCooldown-time.Millisecond {
				t.Errorf("two probes reached the dead upstream within %v, want one per %v", a.at.Sub(last), fleetCooldown)
			}
			last = a.at
		case !last.IsZero() && a.dead && a.admitted.After(last):
			t.Error("a call that is no probe was admitted to the dead upstream after the first probe")
		}
	}
	var slowest time.Duration
	for _, text := range closed {
		micros, err := strconv.ParseInt(strings.TrimPrefix(text, "closed "), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.UnixMicro(micros).Sub(healed))
	}
	t.Logf("%d probes while dead, the fleet closed %v after the upstream healed", probes, slowest)
	// One cooldown and one flush, and whatever a busy machine takes for it.
	if slowest > fleetCooldown+flushInterval+3*time.Second {
		t.Errorf("the last instance closed %v after the upstream healed, want %v", slowest, fleetCooldown+flushInterval)
	}

	// A call that was underway when the gate closed may still be refused; from
	// here on nobody is.
	srv.kill()
	f.await("store false", "rejected")
	up.mu.Lock()
	before := len(up.arrivals)
	up.mu.Unlock()
	srv.start()
	f.await("store true", "rejected")
	up.mu.Lock()
	defer up.mu.Unlock()
	if len(up.arrivals) == before {
		t.Error("no call was made while Redis was away")
	}
}
